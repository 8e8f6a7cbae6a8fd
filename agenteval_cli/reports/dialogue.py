"""A conversation of several turns as plain HTML, with the verdicts of each turn beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from agenteval_cli.reports.escaping import for_html
from agenteval_cli.reports.page_data import Told

_SIGNS = {"passed": "✓", "failed": "✗"}


def dialogue(told: Told) -> Iterator[str]:
    """An element per event, in the classes that the page's script gives them."""
    yield '<div class="talk">'
    for event in told.events:
        yield _call(event) if event["kind"] == "call" else _said(event)
    yield "</div>\n"


def _said(event: dict[str, Any]) -> str:
    checks = event.get("checks", ())
    body = f"<b>{for_html(event.get('who', ''))}</b><pre>{for_html(event['text'])}</pre>"
    if not checks:
        return f'<div class="turn {event["kind"]}">{body}</div>\n'
    return f'<div class="turn {event["kind"]} judged"><div>{body}</div>{_margin(checks)}</div>\n'


def _call(event: dict[str, Any]) -> str:
    returned = event["result"] if event["status"] != "unknown" else "neither result nor error was reported"
    arguments = f"<p>arguments</p><pre>{for_html(event['arguments'])}</pre>" if event["arguments"] else ""
    return (
        f'<details class="turn call {event["status"]}"><summary><b>{for_html(event["who"])}</b> {event["status"]}'
        f"</summary>{arguments}<p>{event['status']}</p><pre>{for_html(returned)}</pre></details>\n"
    )


def _margin(checks: Sequence[dict[str, Any]]) -> str:
    """Each with a sign that needs no colour; what was expected where it did not hold."""
    items = ""
    for check in checks:
        sign, result = _SIGNS.get(check["result"], "?"), for_html(check["result"])
        words = for_html(f"{check['name']}{' (warning)' if check['warning'] else ''}")
        words += f"<br><small>{for_html(check['message'])}</small>" if check["message"] else ""
        if check["result"] != "passed" and check["expected"] is not None:
            words += f"<br><small>expected</small><pre>{for_html(check['expected'])}</pre>"
        items += f'<li><b class="{result}" role="img" aria-label="{result}">{sign}</b> {words}</li>'
    return f'<ul class="margin">{items}</ul>'
