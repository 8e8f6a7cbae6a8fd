"""agenteval: test cases for AI agents, kept in git, run with care, compared honestly."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agenteval_cli.test_case import TestCase

__version__ = "0.1.0"
__all__ = ["TestCase", "__version__"]


if not TYPE_CHECKING:  # pragma: no branch  # a type checker reads the import above, and tells what is not there

    def __getattr__(name: str) -> object:
        """`TestCase` is loaded when it is asked for, so that the command line starts without it."""
        if name == "TestCase":
            from agenteval_cli.test_case import TestCase

            return TestCase
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
