"""JSON for programs: the run, what it came to, its attempts and the diff, as `report` in output.schema.json."""

from __future__ import annotations

from agenteval_cli.reports.escaping import ascii_json, escaped_in_json
from agenteval_cli.reports.interface import Material


def render(material: Material) -> str:
    """One document."""
    compared = material.compared
    gate = {"rule": compared.rule, "failed": compared.failed} if compared else None
    facts = {
        "format": 1,
        "run": material.run.record,
        "summary": material.summary,
        "attempts": material.run.attempts,
        "diff": compared.diff if compared else None,
        "gate": gate,
    }
    # In JSON's own escapes is what acts on a terminal or a log, what is no text, and what a stream may not carry.
    return escaped_in_json(ascii_json(facts, indent=2)) + "\n"
