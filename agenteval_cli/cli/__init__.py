"""The command line: one module per command, loaded only when it is asked for."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agenteval_cli import __version__
from agenteval_cli.errors import AgentevalError, ExitCode, InvalidFilesError, UsageError

COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "init": "Start a repository of cases that runs at once.",
        "validate": "Check case files and the configuration.",
        "list": "List the cases.",
        "show": "Show one case, or its attempts in a run.",
        "fmt": "Put case files into canonical form.",
        "new": "Make a case.",
        "retire": "Retire a case: its ID is never used again.",
        "quarantine": "Have cases run without gating, for a time.",
        "import": "Make cases of what other tools keep.",
        "export": "Print cases, or a run, in a form that other tools know.",
        "schema": "Print a JSON Schema, or set up editors.",
        "run": "Run cases through an agent and keep every attempt.",
        "grade": "Grade answers that are there already, without an agent.",
        "runs": "List the runs that are kept, or merge shards.",
        "diff": "Compare two runs case by case.",
        "report": "Report on a run or a diff: HTML, JUnit, Markdown and more.",
        "baseline": "Accept what a run came to, and compare with it.",
        "history": "Show how a case did from run to run, and where it broke.",
        "bisect": "Find the commit that broke a case.",
        "review": "Tell what the runs suggest to look at, or label attempts.",
        "calibrate": "Hold a judge against the labels of people.",
        "tools": "Serve the recorded tools of a case by hand.",
    }
)

_CONTEXT = {"help_option_names": ["-h", "--help"]}


class _Commands(TyperGroup):
    """Builds a command when it is named, so that none pays for another's imports."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # the base class's signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # the same
        if cmd_name not in COMMANDS:
            from agenteval_cli.problems import did_you_mean

            near = did_you_mean(cmd_name, COMMANDS) or "; see `agenteval --help`"
            raise UsageError(f"no command '{cmd_name}'{near}")
        module = import_module(f"agenteval_cli.cli.{cmd_name}_command")
        if hasattr(module, "app"):  # a group of commands
            group = typer.main.get_command(module.app)
            group.short_help = COMMANDS[cmd_name]
            return group
        app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=_CONTEXT)
        app.command(cmd_name, short_help=COMMANDS[cmd_name])(module.command)
        return typer.main.get_command(app)


_app = typer.Typer(
    cls=_Commands,
    name="agenteval",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings=_CONTEXT,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"agenteval {__version__}\n")
        raise typer.Exit


@_app.callback(epilog="Start with `agenteval init`, or `agenteval validate` in a repository of cases.")
def _agenteval(
    version: Annotated[  # its callback does the work
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version and exit.")
    ] = False,
) -> None:
    """Did my change break the agent? Test cases in git, recorded attempts, honest diffs.

    Exit codes: 0 good; 1 failures or regressions; 2 asked wrongly or invalid files; 3 incomplete; 4 our own bug;
    130 interrupted.
    """


def main() -> None:
    """The entry point of `agenteval`."""
    _open_what_is_closed()
    code = run(sys.argv[1:])
    # Nothing is collected at exit, which saves 20 ms: the process gives its memory back as a whole.
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; the only place where errors become codes."""
    try:
        result = typer.main.get_command(_app).main(
            _folder_last(arguments), prog_name="agenteval", standalone_mode=False
        )
        code = result if isinstance(result, int) else ExitCode.OK
    except AgentevalError as error:
        _report(error, arguments)
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the last line of defence: what is not ours to explain is our bug
        return _other(error, arguments)
    finally:
        _flush()
    return code


def _folder_last(arguments: Sequence[str]) -> list[str]:
    """`agenteval -C DIR list`, as with git, is `agenteval list -C DIR`."""
    if len(arguments) < 3 or arguments[0] != "-C":
        return list(arguments)
    rest = list(arguments[2:])
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *arguments[:2], *rest[end:]]


def _flush() -> None:
    """What was printed goes out now. Where its reader has gone the rest is lost, and the exit code is what it is."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python fails when it flushes it at exit


def _open_what_is_closed() -> None:
    """Standard streams that the caller closed lead nowhere, so that no file of ours gets their numbers."""
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
            setattr(sys, name, os.fdopen(fd, mode, encoding="utf-8"))


def _other(error: Exception, arguments: Sequence[str]) -> int:
    """A usage error of the command line's library, or our own bug."""
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        _report(AgentevalError(_usage(error)), arguments)
        return ExitCode.USAGE
    import traceback

    traceback.print_exception(error)
    _say("this is a bug in agenteval, not in your cases; please report it with the lines above")
    return ExitCode.BUG


def _usage(error: Any) -> str:
    context = getattr(error, "ctx", None)
    hint = f"; see `{context.command_path} --help`" if context else ""
    return f"{error.format_message().rstrip('.')}{hint}"


def _report(error: AgentevalError, arguments: Sequence[str]) -> None:
    problems = error.problems if isinstance(error, InvalidFilesError) else ()
    if _wants_json(arguments):
        import msgspec

        from agenteval_cli.cli.console import print_json

        facts = {"format": 1, "error": str(error), "exit_code": int(error.exit_code)}
        print_json({**facts, "problems": msgspec.to_builtins(problems)} if problems else facts)
    for problem in problems:
        _say(str(problem), name="")
    _say(f"{len(problems)} problems; nothing was done" if len(problems) > 1 else "" if problems else str(error))


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, in either of the ways there are."""
    return bool({"--json", "--format=json"} & set(arguments)) or ("--format", "json") in pairwise(arguments)


def _say(words: str, name: str = "agenteval: ") -> None:
    from agenteval_cli.escape import for_log, for_terminal

    if words:
        sys.stderr.write(for_log(f"{name}{for_terminal(words)}\n"))
