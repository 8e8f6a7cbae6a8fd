"""A case as the tool understands it, as YAML: variables filled in, shared tools in their place, its past below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agenteval_cli import yaml_writer
from agenteval_cli.cli.console import coloured, safe
from agenteval_cli.cli.values_view import Frame
from agenteval_cli.escape import for_terminal
from agenteval_cli.git import LogEntry
from agenteval_cli.repository import LoadedCase

_MOST_LINES = 30
_MOST_CHARACTERS = 1000


def lines_of_case(
    loaded: LoadedCase, fixtures: Sequence[str], history: Sequence[LogEntry], frame: Frame
) -> Iterator[str]:
    """YAML that reads back as the case, where nothing is cut; what is not of the case stands in comments."""
    case = loaded.case
    yield _comment(safe(case.file))
    if case.data.get("variables"):
        yield _comment("variables are filled in")
    if fixtures:
        yield _comment(f"tools of {', '.join(map(safe, fixtures))} are in their place")
    for key, value in case.data.items():
        yield from _cut(yaml_writer.lines_for(key, value), frame)
    yield _comment("digests")
    for name in ("input", "grade", "file"):
        yield _comment(f"  {name} {getattr(loaded.digests, name)}")
    if history:
        yield _comment("history")
    for entry in history:
        yield _comment(f"  {entry.commit} {entry.day} {safe(entry.subject)}")


def _cut(lines: Sequence[str], frame: Frame) -> Iterator[str]:
    """The lines of one key, its name in bold, and a word where there are more."""
    shown = lines if frame.full else lines[:_MOST_LINES]
    for index, line in enumerate(shown):
        text = line if frame.full else line[:_MOST_CHARACTERS]
        name, colon, rest = for_terminal(text).partition(":")
        yield f"{coloured(name, 'bold')}{colon}{rest}" if index == 0 else for_terminal(text)
        if len(text) < len(line):
            yield _comment(f"… {len(line) - len(text):,} more characters; --full shows all")
    if len(shown) < len(lines):
        yield _comment(f"… {len(lines) - len(shown):,} more lines; --full shows all")


def _comment(text: str) -> str:
    return coloured(f"# {text}", "dim")
