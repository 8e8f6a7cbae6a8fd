"""JSON for programs: the run, what it came to, its attempts and the diff, as `report` in output.schema.json."""

from __future__ import annotations

import json

import msgspec

from agenteval_cli.reports.escaping import escaped_in_json
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
    # What acts on a terminal or a log is in JSON's own escapes, and so is what is no text, as in file names.
    return escaped_in_json(json.dumps(msgspec.to_builtins(facts), indent=2)) + "\n"
