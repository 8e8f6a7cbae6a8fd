"""Foreign text made safe for the place where it is shown. One function for each place."""

from __future__ import annotations

import re

# Controls but tab and line feed, C1, bidirectional overrides and marks, line separators, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)

# What GitHub takes for a command in a log: `::` at the begin of a line, `##[` anywhere.
_COMMAND = re.compile(r"^([^\S\n]*):(?=:)|#(?=\[)", re.MULTILINE)


def for_terminal(text: str) -> str:
    """Text whose control characters are shown, as \\x1b, instead of acting on the terminal."""
    return _UNSAFE.sub(_visible, text)


def for_log(text: str) -> str:
    """Printed lines of which GitHub's log takes none for a command: what would begin one is shown, as \\x3a."""
    return _COMMAND.sub(lambda found: "\\x23" if found[1] is None else f"{found[1]}\\x3a", text)


def is_text(name: str) -> bool:
    """Whether a file name is UTF-8, which is all that JSON can carry."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(name: str) -> str:
    """A file name with bytes that are not UTF-8 shown as \\xe9."""
    return name if is_text(name) else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def on_one_line(text: str) -> str:
    """The same on one line: line breaks and tabs are shown too."""
    return for_terminal(text).replace("\n", "\\n").replace("\t", "\\t")


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def for_github_data(text: str) -> str:
    """Text after `::` of a workflow command, which ends at a line break (GitHub's own three escapes)."""
    return for_terminal(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def for_github_property(text: str) -> str:
    """Text between the commas and colons of a workflow command."""
    return for_github_data(text).replace(":", "%3A").replace(",", "%2C")
