"""forbidden: none of these calls came; with arguments, only the call that has them offends."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, NO_EVIDENCE, OK, Finding
from agenteval_cli.trajectory.evidence import Evidence
from agenteval_cli.trajectory.matching import fits, may_fit, named, step, untold


def forbidden(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first offending step of each forbidden call is named."""
    calls = evidence.calls
    for index, pattern in enumerate(constraints.forbidden or ()):
        offence = next((at for at, call in enumerate(calls) if fits(pattern, call)), None)
        unclear = next((at for at, call in enumerate(calls) if may_fit(pattern, call)), None)
        if offence is None and unclear is not None:
            yield (
                f"forbidden[{index}]",
                Finding(NO_EVIDENCE, untold(unclear, calls[unclear]), f"never {named(pattern)}"),
            )
        elif offence is None:
            yield f"forbidden[{index}]", OK
        else:
            words = f"{step(offence, calls[offence])} is forbidden"
            yield f"forbidden[{index}]", Finding(FAILED, words, f"never {named(pattern)}", calls[offence].name)
