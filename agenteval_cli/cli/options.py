"""Options that commands share, declared once."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from agenteval_cli.errors import UsageError


class Tier(StrEnum):
    """The tiers, as the command line offers them."""

    SMOKE = "smoke"
    REGRESSION = "regression"
    REPRESENTATIVE = "representative"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Directory = Annotated[str, typer.Option("-C", metavar="DIR", help="Work as if started in DIR.", show_default=False)]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Say more.")]
Tiers = Annotated[list[Tier] | None, typer.Option("--tier", help="Only cases of this tier; may be repeated.")]


def entered(directory: str) -> Path:
    """The folder the command works in, made the current one. Raises UsageError where there is none."""
    try:
        os.chdir(directory)
        return Path.cwd()
    except OSError as error:
        raise UsageError(f"-C {directory}: {error.strerror}") from error
