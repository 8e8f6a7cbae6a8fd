"""Reports: siblings behind one interface, each loaded when it is asked for. The console's own is in cli."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import cast

from agenteval_cli.reports.interface import Material

REPORTS: Mapping[str, str] = MappingProxyType(
    {
        "markdown": "markdown",
        "github": "github",
        "junit": "junit",
        "json": "json_report",
        "csv": "csv_report",
        "html": "html_report",
    }
)
Render = Callable[[Material], str]

__all__ = ["REPORTS", "Material", "Render", "render_of"]


def render_of(name: str) -> Render:
    """The function that makes the text of that format. Raises KeyError where there is no such format."""
    return cast("Render", import_module(f"agenteval_cli.reports.{REPORTS[name]}").render)
