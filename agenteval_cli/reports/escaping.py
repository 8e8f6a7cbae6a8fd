"""Foreign text made safe for reports. One function for each place; each shows what it takes away from the text."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import msgspec

from agenteval_cli.escape import for_terminal

_NOT_XML = re.compile("[\ufffe\uffff]")
# All that Markdown, GitHub's mentions, references and links, and its log's commands (`::`, `##[`) could make of it.
_MARKDOWN = re.compile(r"[&<>`*_\[\]|\\~#@:$!{}]|(?<=www)\.")
# What GitHub takes for a command in a log: `::` at the begin of a line, `##[` anywhere.
_COMMAND = re.compile(r"^([^\S\n]*)(:)(?=:)|(#)(?=\[)", re.MULTILINE)
_NOT_IN_A_SCRIPT = re.compile("#(?=\\[)|[<>&\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_FORMULA = re.compile("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def for_html(text: str) -> str:
    """Text for an element or an attribute in quotes."""
    return _without_commands(html.escape(for_terminal(text)))


def for_xml(text: str) -> str:
    """Text that XML 1.0 can carry once its library has escaped it: what it cannot is shown as \\x12."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", for_terminal(text))


def xml_for_a_log(document: str) -> str:
    """XML that says the same, of which no log takes a line for a command."""
    return _without_commands(document)


def _without_commands(markup: str) -> str:
    """Markup with a reference in place of the character that would begin a command."""
    return _COMMAND.sub(lambda found: f"{found[1] or ''}&#{ord(found[2] or found[3])};", markup)


def for_markdown(text: str) -> str:
    """Text for within an HTML element of a Markdown document, where line breaks are its own."""
    return _MARKDOWN.sub(lambda found: f"&#{ord(found[0])};", for_terminal(text))


def ascii_json(value: Any, *, indent: int = 0) -> str:
    """JSON in which everything but ASCII is in JSON's own escapes, a lone surrogate too."""
    try:
        raw = msgspec.json.encode(value)
    except UnicodeEncodeError:  # msgspec writes UTF-8, which cannot carry one
        return json.dumps(msgspec.to_builtins(value), indent=indent or None)
    text = (msgspec.json.format(raw, indent=indent) if indent else raw).decode()
    return text if text.isascii() else _NOT_ASCII.sub(lambda found: json.dumps(found[0])[1:-1], text)


def escaped_in_json(document: str) -> str:
    """JSON that says the same, for a script element of a page and for a log."""
    return _NOT_IN_A_SCRIPT.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


def for_csv(text: str) -> str:
    """Text of a cell that no spreadsheet takes for a formula."""
    shown = _COMMAND.sub(lambda found: f"{found[1] or ''}'{found[2] or found[3]}", for_terminal(text))
    starts = _FORMULA.match(shown.lstrip(" \n") or shown)
    return f"'{shown}" if starts and not _NUMBER.fullmatch(shown) else shown
