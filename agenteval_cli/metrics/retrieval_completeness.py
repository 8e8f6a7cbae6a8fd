"""retrieval_completeness: how many of the documents that were needed were retrieved"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from agenteval_cli.material import Material
from agenteval_cli.metrics.interface import Means, Measured, Metric, NotMeasurableError


def measure(material: Material, _means: Means, _options: Mapping[str, Any]) -> Measured:
    needed, got = material.context or (), material.retrieval_context or ()
    if not needed:
        raise NotMeasurableError("the case names no documents")
    there = {_plain(document) for document in got}
    missing = [document for document in needed if _plain(document) not in there]
    found = len(needed) - len(missing)
    first = f"; missing: {missing[0][:120]!r}" if missing else ""
    return Measured(found / len(needed), f"{found} of {len(needed)} needed documents were retrieved{first}")


def _plain(document: str) -> str:
    """Composed Unicode, and any white space as one space: how a document is stored is not what it says."""
    return " ".join(unicodedata.normalize("NFC", document).split())


METRIC = Metric(
    name="retrieval_completeness",
    summary="documents of the case that were retrieved, compared as texts / documents of the case",
    source="recall of the known documents, as in information retrieval",
    case_needs=("context",),
    needs=("retrieval_context",),
    threshold=0.8,
    by="",
    measure=measure,
)
