"""Example case files: a file dropped into valid/ or invalid/ is a test.

A file in invalid/ begins with the problems that must be told, all of them and in order, each as a comment
`# expect: <line>:<column>: <the rest as it is printed>`. A … stands for any words, so that other libraries' may change.
"""

from __future__ import annotations

import re
from itertools import takewhile, zip_longest
from pathlib import Path

import pytest

from agenteval_cli import schemas
from agenteval_cli.case import CHECK_OPTIONS
from agenteval_cli.checks import CHECKS
from agenteval_cli.config import Config
from agenteval_cli.escape import on_one_line
from agenteval_cli.repository import Loaded, Repository, load
from agenteval_cli.trajectory import RULES

EXAMPLES = Path(__file__).resolve().parent / "examples"
EXPECT = "# expect: "


def names(folder: str) -> list[str]:
    return sorted(f"{folder}/{path.name}" for path in (EXAMPLES / folder).glob("*.yaml"))


def loaded(*files: str) -> Loaded:
    return load(Repository(EXAMPLES, Config()), files)


def told(file: str) -> list[str]:
    """The problems of a file as they are printed, without the file's name."""
    return [on_one_line(str(problem)).removeprefix(f"{file}:") for problem in loaded(file).problems]


def expected(file: str) -> list[str]:
    lines = (EXAMPLES / file).read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(EXPECT) for line in takewhile(lambda line: line.startswith(EXPECT), lines)]


def says(expected: str, line: str) -> bool:
    return bool(re.fullmatch(re.escape(expected).replace("…", ".*"), line))


@pytest.mark.parametrize("file", names("valid"))
def test_a_valid_example_is_loaded_without_a_word(file: str) -> None:
    found = loaded(file)
    assert [str(problem) for problem in found.problems] == []
    assert [case.case.file for case in found.cases] == [file]


@pytest.mark.parametrize("file", names("invalid"))
def test_an_invalid_example_is_told_with_exactly_its_problems(file: str) -> None:
    wanted = expected(file)
    pairs = zip_longest(told(file), wanted, fillvalue="")
    assert wanted
    assert [want if says(want, line) else line for line, want in pairs] == wanted


@pytest.mark.parametrize("file", names("invalid"))
def test_a_file_with_an_error_is_no_case_and_one_with_warnings_is(file: str) -> None:
    found = loaded(file)
    assert len(found.cases) == (0 if found.errors else 1)


@pytest.mark.slow
def test_one_bad_file_hides_neither_the_others_problems_nor_the_good_cases() -> None:
    files = [*names("valid"), *names("invalid")]
    found = loaded(*files)
    assert found.files == len(files)
    assert {case.case.file for case in found.cases} >= set(names("valid"))
    assert set(found.problems) >= {problem for file in files for problem in loaded(file).problems}
    assert {problem.file for problem in found.problems} >= set(names("invalid"))


def test_a_file_that_cannot_be_read_is_a_problem_among_the_others() -> None:
    found = loaded("valid/smallest.yaml", "valid/no-such-file.yaml")
    assert [str(problem) for problem in found.problems] == [
        "valid/no-such-file.yaml:1:1: cannot be read: No such file or directory [file]"
    ]
    assert len(found.cases) == 1


def test_the_checks_that_the_schema_allows_are_those_that_the_tool_knows() -> None:
    check = schemas.load("case")["$defs"]["check"]
    kinds = {key for choice in check["oneOf"] for key in choice["required"]}
    assert kinds == set(CHECKS)
    assert set(check["properties"]) == kinds | CHECK_OPTIONS


def test_the_schema_allows_every_rule_of_the_trajectory() -> None:
    assert set(schemas.load("case")["$defs"]["trajectory"]["properties"]) >= set(RULES)
