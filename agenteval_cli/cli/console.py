"""What commands print: results to stdout, talk to stderr, colour on a terminal only, foreign text escaped."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from agenteval_cli.escape import for_log, for_terminal, on_one_line

_CODES = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def print_json(value: Any) -> None:
    """One JSON document on stdout, indented, ending in a line break."""
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # a file name that is not UTF-8: its bytes become \udc.. escapes
        import json

        text = json.dumps(msgspec.to_builtins(value), indent=2)
    document(re.sub(r"#(?=\[)", r"\\u0023", _as_safe_json(text)))  # `##[` is a command to a log


def _as_safe_json(text: str) -> str:
    """The same JSON with what acts on a terminal, and what the stream's encoding may lack, as JSON's own escapes."""
    import json

    everything = not sys.stdout.encoding.lower().startswith("utf")
    if not everything and for_terminal(text) == text:
        return text
    return re.sub(
        r"[\x7f-\U0010ffff]",
        lambda found: json.dumps(found[0])[1:-1] if everything or for_terminal(found[0]) != found[0] else found[0],
        text,
    )


def result(text: str = "") -> None:
    """A line of the result, or several, of which a log takes none for a command."""
    document(for_log(text))


def document(text: str) -> None:
    """A whole document, or a command to a log, as it is; what the stream has no sign for is shown as \\u2192."""
    encoding = sys.stdout.encoding
    try:
        sys.stdout.write(text + "\n")
    except UnicodeEncodeError:
        document(text.encode(encoding, "backslashreplace").decode(encoding))
    except BrokenPipeError:
        silence(sys.stdout)


def flush() -> None:
    """What was printed goes out now. Where its reader has gone the rest is lost, and the exit code is what it is."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)


def say(text: str) -> None:
    """A line of talk, after what was printed before it. Where nobody listens it is lost, and nothing else is."""
    flush()
    try:
        sys.stderr.write(for_log(text) + "\n")
    except BrokenPipeError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Let a stream whose reader has gone lead nowhere, or Python fails when it flushes it at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def safe(text: str) -> str:
    """Foreign text for one line of the terminal."""
    return on_one_line(text)


def indented(text: str, by: str = "    ") -> str:
    """Foreign text of several lines, escaped and moved to the right."""
    return "\n".join(f"{by}{line}" for line in for_terminal(text).splitlines())


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """The text in a colour, where the stream is a terminal that wants it."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if wants_colour(stream or sys.stdout) else text


def wants_colour(stream: TextIO) -> bool:
    """Colour on terminals only, and never against NO_COLOR (no-color.org) or TERM=dumb."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def can_redraw(stream: TextIO) -> bool:
    """Whether lines can be written over: on a terminal that knows how to, where nobody keeps what it shows as a log."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return stream.isatty() and os.environ.get("TERM") not in (None, "", "dumb") and not in_ci


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and rows of the terminal; 80 and 24 where it does not say, and where there is none."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 80, 24
    return columns or 80, rows or 24


def width_of_results() -> int | None:
    """Columns of the terminal that results go to; None where they go elsewhere and lines may be of any length."""
    return size_of(sys.stdout)[0] if sys.stdout.isatty() else None


def table(rows: Iterable[Sequence[str]], *, header: Sequence[str] = ()) -> None:
    """Columns as wide as their widest cell, in terminal cells; foreign text must be `safe` already."""
    from rich.cells import cell_len

    lines = [list(header), *map(list, rows)] if header else list(map(list, rows))
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for index, line in enumerate(lines):
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        text = "  ".join(padded).rstrip()
        result(coloured(text, "dim") if header and index == 0 else text)
