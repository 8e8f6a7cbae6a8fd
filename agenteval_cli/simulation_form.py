"""A simulation case as a service's API has it: its fields checked, placed in a case, and a case projected to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from agenteval_cli.compare import ABSENT, same
from agenteval_cli.json_values import json_value, kind_of
from agenteval_cli.kept_metadata import SIMULATION_KEYS, kept_in, lost, put_at
from agenteval_cli.record_form import fitting_metadata, mapping_of, own_metadata

Data = dict[str, Any]

SOURCE = "simulation"
MOST_ATTEMPTS = 1000
_TEXTS = ("testCaseId", "workspaceId", "label", "agentId", "llmModel", "userPrompt")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,79}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


# ---- what is a simulation case


def checked_simulation(value: Any) -> Data:
    """A simulation case, copied. Raises TypeError and ValueError as case_from_simulation says."""
    if not isinstance(value, Mapping):
        raise TypeError(f"a simulation case is a mapping, not {kind_of(value)}")
    form = {key: json_value(item, key) for key, item in mapping_of(value, "", SIMULATION_KEYS).items()}
    if form.get("userPrompt") in (None, ""):
        raise ValueError("userPrompt is missing or empty; it says who the simulated user is and what it wants")
    _check_values(form)
    return form


def _check_values(form: Data) -> None:
    for key in _TEXTS:
        _want(form.get(key), key, str, "a text")
    _want(form.get("metadata"), "metadata", dict, "a mapping")
    if form.get("agent") is not None:
        for key, item in mapping_of(form["agent"], "agent.", ("name", "agentId", "status")).items():
            _want(item, f"agent.{key}", str, "a text")
    form.update({"attempt": _count(form["attempt"])} if form.get("attempt") is not None else {})
    criteria = form.get("successCriteria")
    _want(criteria, "successCriteria", str | list, "a text or a list of texts")
    for place, item in _items([] if isinstance(criteria, str) else criteria, "successCriteria"):
        _want(item, place, str, "a text", null=False)
    for place, item in _items(form.get("mockData"), "mockData"):
        _check_variable(item, place)
    for place, item in _items(form.get("mockToolData"), "mockToolData"):
        if not isinstance(item, str):
            _check_tool(item, place)


def _items(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    _want(value, key, list, "a list")
    yield from ((f"{key}[{index}]", item) for index, item in enumerate(value or ()))


def _check_variable(item: Any, place: str) -> None:
    mapping_of(item, f"{place}.", ("variableName", "value"))
    _want(item.get("variableName"), f"{place}.variableName", str, "a text", null=False)
    _want(item.get("value"), f"{place}.value", str | int | float | bool, "a text, a number, true or false")


def _check_tool(item: Any, place: str) -> None:
    mapping_of(item, f"{place}.", ("toolAlias", "mockToolDataId", "name", "statusCode"))
    for key in ("toolAlias", "mockToolDataId", "name"):
        _want(item.get(key), f"{place}.{key}", str, "a text")
    status = item.get("statusCode")
    _want(status, f"{place}.statusCode", int, "a whole number")
    if isinstance(status, bool):
        raise TypeError(f"{place}.statusCode is a bool; give a whole number")
    if status is not None and not 100 <= status <= 599:
        raise ValueError(f"{place}.statusCode: {_shown(status)} is no status of HTTP, 100 to 599")


def _want(value: Any, place: str, kind: Any, words: str, *, null: bool = True) -> None:
    if not isinstance(value, kind) and not (null and value is None):
        raise TypeError(f"{place} is {kind_of(value)}; give {words}")


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        raise TypeError(f"attempt is {kind_of(value)}; give a whole number from 1 to {MOST_ATTEMPTS}")
    if not 1 <= value <= MOST_ATTEMPTS:
        raise ValueError(f"attempt: {_shown(value)} is not from 1 to {MOST_ATTEMPTS}")
    return int(value)


def _shown(number: float) -> str:
    return str(number) if abs(number) < 10**12 else "a number of that size"


# ---- from a simulation case to a case


def placed_simulation(form: Data, fixtures: Collection[str] = ()) -> Data:
    """What of a simulation case has a place of its own in a case; `fixtures` are the IDs that tools may be used by."""
    data: Data = {"simulation": {"user_prompt": form["userPrompt"]}}
    if _ID.fullmatch(form.get("testCaseId") or ""):
        data["id"] = form["testCaseId"]
    if form.get("label"):
        data["title"] = form["label"]
    if form.get("attempt") is not None:
        data["attempts"] = form["attempt"]
    said = form.get("successCriteria") or []
    if criteria := _placed_items("successCriteria", [said] if isinstance(said, str) else said):
        data["simulation"]["criteria"] = criteria
    if variables := _placed_items("mockData", form.get("mockData") or ()):
        data["variables"] = variables
    if tools := _placed_items("mockToolData", form.get("mockToolData") or (), fixtures):
        data["tools"] = tools
    if metadata := fitting_metadata(form):
        data["metadata"] = metadata
    return data


def _placed_items(key: str, items: Any, fixtures: Collection[str] = ()) -> list[Data]:
    """The items with a place. A variable, tool or fixture is there once: what is told of it first counts."""
    placed = [found for item in items if (found := _placed_item(key, item, fixtures)) is not None]
    names = [(item.get("use"), item.get("name")) for item in placed] if key != "successCriteria" else []
    return [item for at, item in enumerate(placed) if not names or names.index(names[at]) == at]


def _placed_item(key: str, item: Any, fixtures: Collection[str] = ()) -> Data | None:
    """One criterion, variable or tool of a case; None where a case has no place for it."""
    if key == "successCriteria":
        return {"text": item, "gate": True} if item else None
    if key == "mockData":
        fits = _VARIABLE.fullmatch(item["variableName"]) and item.get("value") is not None
        return {"name": item["variableName"], "value": item["value"]} if fits else None
    fixture = item if isinstance(item, str) else item.get("mockToolDataId")
    if fixture in fixtures:
        return {"use": fixture}
    return _placed_tool(item) if isinstance(item, dict) and item.get("toolAlias") else None


def _placed_tool(item: Data) -> Data:
    """The tool of recorded data that is not here: of an error its status is known, of a result nothing."""
    status = item.get("statusCode") or 0
    if status < 400:
        return {"name": item["toolAlias"]}
    message = {} if item.get("name") is None else {"message": item["name"]}
    return {"name": item["toolAlias"], "responses": [{"error": {"status": status, **message}}]}


# ---- from a case to a simulation case


def projected_simulation(data: Data) -> Data:
    """The simulation case of a case, as far as it has a place for it."""
    simulation = data["simulation"]
    form: Data = {"userPrompt": simulation["user_prompt"]}
    if "id" in data and not _was_made(data):
        form["testCaseId"] = data["id"]
    names = {"title": "label", "attempts": "attempt"}
    form |= {there: data[here] for here, there in names.items() if here in data}
    given = simulation.get("criteria", ())
    criteria = [text for item in ([given] if isinstance(given, str) else given) if (text := _projected_criterion(item))]
    if criteria:
        form["successCriteria"] = criteria[0] if len(criteria) == 1 else criteria
    if data.get("variables"):
        form["mockData"] = [{"variableName": item["name"], "value": item["value"]} for item in data["variables"]]
    if data.get("tools"):
        form["mockToolData"] = [_projected_tool(tool) for tool in data["tools"]]
    if metadata := own_metadata(data):
        form["metadata"] = metadata
    return form


def _was_made(data: Data) -> bool:
    """Whether the case was made of a form, so that its ID may be one that the form never had."""
    return bool(data.get("provenance", {}).get("source") == SOURCE)


def _projected_criterion(item: Any) -> str | None:
    return item if isinstance(item, str) else item.get("text")


def _projected_tool(tool: Data) -> Any:
    if "use" in tool:
        return tool["use"]
    match tool.get("responses"):
        case [{"error": {"status": int() as status, **more}}] if 400 <= status <= 599:
            named = {"name": more["message"]} if "message" in more else {}
            return {"toolAlias": tool["name"], **named, "statusCode": status}
    return {"toolAlias": tool["name"]}


# ---- what has no place, kept in a case and put back


def lost_of_simulation(form: Data, projected: Data) -> Iterator[tuple[str, Any]]:
    """By JSON pointer, what of the form the projected one lacks or has otherwise; lists as a whole."""
    for key, value in form.items():
        again = projected.get(key, ABSENT)
        if key == "metadata":
            yield from lost(value, again, "/metadata")
        elif not same(value, again):
            yield f"/{key}", value


def put_back_simulation(form: Data, data: Data) -> None:
    """Put what a case keeps back into its form, unless the case was edited there and says something else now."""
    fixtures = {tool["use"] for tool in data.get("tools", ()) if "use" in tool}
    for pointer, value in sorted(kept_in(data).items()):
        key = pointer[1:]
        if key not in SIMULATION_KEYS:
            put_at(form, pointer, value)
        elif _is_a_value(key, value):
            _put_back(form, key, value, fixtures)


def _is_a_value(key: str, value: Any) -> bool:
    """Whether the field may have this value; metadata can be edited."""
    try:
        checked_simulation({"userPrompt": "-", key: value})
    except (TypeError, ValueError):
        return False
    return True


def _put_back(form: Data, key: str, value: Any, fixtures: Collection[str]) -> None:
    before, after = (placed_simulation(each, fixtures) for each in (form, {**form, key: value}))
    if key == "testCaseId" or same(before, after):
        form[key] = value
    elif isinstance(value, list) and key in form:
        now = form[key] if isinstance(form[key], list) else [form[key]]
        form[key] = _rejoined(key, value, now, fixtures)


def _rejoined(key: str, kept: list[Any], now: list[Any], fixtures: Collection[str]) -> list[Any]:
    """The items that a case has now, each with what was kept of it, and at the end those without a place in a case."""
    left = [(item, _said_again(key, item, fixtures)) for item in kept]  # each with what a case says of it
    joined = []
    for item in now:
        at = next((at for at, (_, said) in enumerate(left) if said is not None and _name(said) == _name(item)), None)
        joined.append(item if at is None else _merged(*left.pop(at), item))
    names = {_name(item) for item in now}
    return joined + [old for old, said in left if said is None or _name(said) in names]


def _said_again(key: str, item: Any, fixtures: Collection[str]) -> Any:
    """What is left of an item on its way to a case and back; None where a case has no place for it."""
    placed = _placed_item(key, item, fixtures)
    if placed is None or key == "successCriteria":
        return None if placed is None else item
    return item if key == "mockData" else _projected_tool(placed)


def _name(item: Any) -> Any:
    return item if isinstance(item, str) else item.get("variableName", item.get("toolAlias"))


def _merged(old: Any, said: Any, now: Any) -> Any:
    if isinstance(old, dict) and isinstance(now, dict):
        return {**{key: value for key, value in old.items() if key not in said}, **now}
    return old if same(said, now) else now
