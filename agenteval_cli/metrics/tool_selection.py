"""tool_selection: whether the tools called are those expected, whatever their order and arguments"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError


def measure(material: Material, _means: Means, _options: Mapping[str, Any]) -> Measured:
    wanted = Counter(pattern.tool for pattern in material.expected_calls or ())
    called = Counter(call.name for call in material.tool_calls or ())
    if not wanted and not called:
        raise NotMeasurableError("no call is expected and none was made")
    both = (wanted & called).total()
    missing, extra = wanted - called, called - wanted
    words = [f"missing {', '.join(sorted(missing))}"] if missing else []
    words += [f"not expected {', '.join(sorted(extra))}"] if extra else []
    score = 2 * both / (wanted.total() + called.total())
    return Measured(score, "; ".join([f"{both} of {wanted.total()} expected calls among {called.total()}", *words]))


METRIC = Metric(
    name="tool_selection",
    summary="F1 of expected and made calls by name, each call counted once",
    source="F1 over multisets; DeepEval's tool correctness and most peers compare sets, which forgives calling twice",
    case_needs=("trajectory",),
    needs=("tool_calls", "expected_calls"),
    by="",
    part="trajectory",
    threshold=0.8,
    measure=measure,
)
