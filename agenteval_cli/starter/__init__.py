"""What `agenteval init` lays out: a small agent and three cases that run at once."""

from __future__ import annotations

from pathlib import Path

FILES = (
    "agenteval.yaml",
    "agent.py",
    "cases/greets-the-customer.yaml",
    "cases/opening-hours-are-looked-up.yaml",
    "cases/unknown-city-is-admitted.yaml",
)


def content(name: str) -> str:
    """The text of one of FILES."""
    return (Path(__file__).parent / name).read_text(encoding="utf-8")
