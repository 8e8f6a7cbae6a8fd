"""Pieces of Markdown that foreign text cannot break out of, and how they are fitted into a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agenteval_cli.reports.escaping import for_markdown
from agenteval_cli.reports.words import cut


def code(text: str, limit: int = 200) -> str:
    """Foreign text on one line, as code. Backticks could be closed by what is inside them; an element cannot."""
    return f"<code>{for_markdown(cut(' '.join(text.split()), limit))}</code>"


def block(text: str, limit: int = 1500) -> str:
    """Foreign text of several lines."""
    return f"<pre>{for_markdown(cut(text, limit))}</pre>".replace("\n", "&#10;")


def row(cells: Iterable[str]) -> str:
    """A row of a table, of cells that are Markdown already."""
    return f"| {' | '.join(cells)} |\n"


def head(titles: Sequence[str]) -> str:
    """The head of a table; a title that ends in `:` is that of a column of numbers."""
    names = [title.removesuffix(":") for title in titles]
    return row(names) + row("---:" if title.endswith(":") else "---" for title in titles)


def folded(summary: str, body: str) -> str:
    """What is shown once somebody asks for it."""
    return f"<details><summary>{summary}</summary>\n\n{body.rstrip()}\n\n</details>\n\n"


def fitted(parts: Iterable[str], room: int) -> Iterator[str]:
    """The parts, in their order, as long as they fit."""
    for part in parts:
        room -= len(part)
        if room < 0:
            return
        yield part
