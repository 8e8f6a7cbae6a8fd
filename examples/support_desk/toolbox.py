"""Calls tools and keeps the record of it: the calls, and the reasoning around them."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support_desk.offices import Office
from support_desk.protocol import Json
from support_desk.tools import ToolError

# To look again harms nobody; what changes the shop is not done twice for want of an answer.
LOOKUPS = ("get_order", "get_policy", "search_products", "check_stock")


@dataclass(frozen=True, slots=True)
class Done:
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    reason: str


@dataclass(frozen=True, slots=True)
class Toolbox:
    office: Office
    offered: frozenset[str] | None
    calls: list[Json] = field(default_factory=list)
    reasoning: list[Json] = field(default_factory=list)

    def note(self, kind: str, content: str, call_id: str | None = None) -> None:
        step = {"type": kind, "content": content}
        self.reasoning.append(step if call_id is None else step | {"tool_call": call_id})

    def call(self, name: str, **arguments: str | None) -> Done | Failed:
        if self.offered is not None and name not in self.offered:
            self.note("THOUGHT", f"{name} is not among my tools")
            return Failed("not_offered")
        given = {key: value for key, value in arguments.items() if value is not None}
        outcome = self._run(name, given)
        if name in LOOKUPS and outcome == Failed("no_answer"):
            self.note("THOUGHT", "no answer; I look once more")
            return self._run(name, given)
        return outcome

    def _run(self, name: str, arguments: Mapping[str, str]) -> Done | Failed:
        call_id = f"call-{len(self.calls) + 1}"
        self.note("ACTION", f"call {name}", call_id)
        started = time.perf_counter()
        outcome: Done | Failed
        try:
            outcome = Done(self.office.use(name, arguments))
            result, error, seen = outcome.value, None, f"{name} answered"
        except ToolError as refused:
            outcome = Failed(refused.reason)
            result, error, seen = None, {"message": str(refused)}, str(refused)
        self.calls.append(
            {
                "id": call_id,
                "name": name,
                "arguments": dict(arguments),
                "result": result,
                "error": error,
                "duration_ms": round((time.perf_counter() - started) * 1000, 3),
            }
        )
        self.note("OBSERVATION", seen, call_id)
        return outcome
