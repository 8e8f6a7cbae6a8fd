"""The ledger of retired IDs, cases/retired.yaml: what no case may ever be called again."""

from __future__ import annotations

import msgspec

from agenteval_cli import schemas, yaml_reader
from agenteval_cli.problems import Problem
from agenteval_cli.yaml_reader import Document

FILE_NAME = "retired.yaml"


class Ledger(msgspec.Struct, frozen=True):
    """Retired IDs, as they were written, with the reason of each; and the document that says so."""

    reasons: dict[str, str] = {}
    document: Document | None = None

    def reason(self, case_id: str) -> str | None:
        """Why the ID was retired, ignoring case; None where it was not."""
        folded = case_id.casefold()
        return next((reason for known, reason in self.reasons.items() if known.casefold() == folded), None)


def ledger_from(file: str, raw: bytes) -> tuple[Ledger, list[Problem]]:
    """The ledger in `raw`, and what is wrong with it; a broken ledger retires nothing and is an error."""
    reading = yaml_reader.read(file, raw)
    problems = list(reading.problems)
    if reading.document is None:
        return Ledger(), problems
    problems += schemas.problems_in(reading.document, "retired")
    if any(problem.severity == "error" for problem in problems):
        return Ledger(), problems
    reasons: dict[str, str] = {}
    for index, entry in enumerate(reading.document.data["retired"]):
        if entry["id"].casefold() in {known.casefold() for known in reasons}:
            words = f"'{entry['id']}' is retired already"
            problems.append(reading.document.problem(("retired", index, "id"), "duplicate-id", words))
        reasons[entry["id"]] = entry["reason"]
    return Ledger(reasons, reading.document), problems
