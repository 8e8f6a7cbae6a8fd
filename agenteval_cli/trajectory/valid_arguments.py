"""valid_arguments: what a tool was given satisfies the schema of its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from agenteval_cli.case_schemas import first_fault
from agenteval_cli.constraints import Trajectory
from agenteval_cli.finding import FAILED, OK, Finding
from agenteval_cli.trajectory.evidence import Evidence, NoEvidenceError
from agenteval_cli.trajectory.matching import step


def valid_arguments(constraints: Trajectory, evidence: Evidence) -> Iterator[tuple[str, Finding]]:
    """The first call that the schema does not accept is named. Tools without one take anything."""
    if constraints.valid_arguments is False:
        return
    schemas = {name: schema for name, schema in (constraints.inventory or {}).items() if schema is not None}
    if not schemas:
        raise NoEvidenceError("no tool of the case has parameters to hold arguments against")
    unknown = None
    for index, call in enumerate(evidence.calls):
        if call.name not in schemas:
            continue
        if call.arguments is None:
            unknown = unknown or f"nothing tells the arguments of step {index + 1}, {call.name}"
            continue
        fault = first_fault(schemas[call.name], call.arguments)
        if fault:
            words = f"{step(index, call)} has arguments that the tool does not take: {fault}"
            yield "valid_arguments", Finding(FAILED, words, schemas[call.name], call.arguments)
            return
    if unknown is not None:
        raise NoEvidenceError(unknown)
    yield "valid_arguments", OK
