"""Recorded tools that cases share, and the inventory of a case with them filled in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli.problems import did_you_mean

Tool = dict[str, Any]
Fault = tuple[tuple[str | int, ...], str]


class Fixture(msgspec.Struct, frozen=True):
    """One file of fixtures/: tools with their recorded responses, under an ID that cases use."""

    id: str
    file: str
    tools: tuple[Tool, ...]


def fixture_from(file: str, data: Mapping[str, Any]) -> Fixture:
    """The fixture of a document that satisfies the schema."""
    return Fixture(data["id"], file, tuple(data["tools"]))


def with_tools(data: dict[str, Any], fixtures: Mapping[str, Fixture]) -> dict[str, Any]:
    """The case's data with every `use` replaced by the tools it stands for.

    `{use: shop}` stands for all tools of the fixture but those that the case names itself; with a `name` for that one,
    its other keys overriding.
    """
    return {**data, "tools": inventory(data, fixtures)} if "tools" in data else data


def inventory(data: Mapping[str, Any], fixtures: Mapping[str, Fixture]) -> list[Tool]:
    """The case's tools, those of its fixtures included. A whole fixture that is named twice is there once."""
    listed = data.get("tools", ())
    tools = [tool for at, tool in enumerate(listed) if set(tool) != {"use"} or tool not in listed[:at]]
    named = {tool["name"] for tool in tools if "name" in tool}
    return [
        found for tool in tools for found in _stands_for(tool, fixtures) if "name" in tool or found["name"] not in named
    ]


def _stands_for(tool: Tool, fixtures: Mapping[str, Fixture]) -> Iterator[Tool]:
    if "use" not in tool:
        yield tool
        return
    own = {key: value for key, value in tool.items() if key != "use"}
    fixture = fixtures.get(tool["use"])
    for shared in fixture.tools if fixture else ():
        if own.get("name", shared["name"]) == shared["name"]:
            yield {**shared, **own}


def faults(data: Mapping[str, Any], fixtures: Mapping[str, Fixture]) -> Iterator[Fault]:
    """Fixtures and tools of theirs that are not there, and overrides that name no tool."""
    for index, tool in enumerate(data.get("tools", ())):
        if "use" not in tool:
            continue
        fixture = fixtures.get(tool["use"])
        if fixture is None:
            yield ("tools", index, "use"), f"no fixture '{tool['use']}'{did_you_mean(tool['use'], fixtures)}"
            continue
        names = [shared["name"] for shared in fixture.tools]
        if "name" in tool and tool["name"] not in names:
            near = did_you_mean(tool["name"], names)
            yield ("tools", index, "name"), f"the fixture '{fixture.id}' has no tool '{tool['name']}'{near}"
        elif "name" not in tool and set(tool) != {"use"}:
            yield ("tools", index), f"say with `name` which tool of '{fixture.id}' the other keys are for"
