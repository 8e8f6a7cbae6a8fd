"""Contracts: what is stored and printed satisfies the schemas, and the agent sees exactly its request."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import AGENTEVAL, GOOD_CASE, ROOT, Repo
from jsonschema import Draft202012Validator

from agenteval_cli import schemas
from agenteval_cli.statuses import STATUSES

FULL_CASE = """
schema: 1
id: everything-at-once
title: SECRET-title
why: SECRET-why
tier: smoke
tags: [SECRET-tag]
metadata: {intent: SECRET-intent}
notes: SECRET-notes
provenance: {incident: SECRET-incident}
conversation: [{role: user, content: Hi}, {role: assistant, content: Hello}]
input: What is it?
conversation_id: talk-1
system_prompt: Be kind.
state: {a: 1}
context: [A document.]
files: [given.txt]
tools: [{name: look, description: Look, parameters: {type: object}}]
limits: {timeout: 20s, tool_calls: 3}
attempts: 1
min_pass_rate: 1.0
expected_output: SECRET-reference
match: contains
outcome:
  - {contains: SECRET-contains, note: SECRET-note}
  - {regex: SECRET-regex}
trajectory:
  required: [{tool: look, arguments: {at: SECRET-argument}}]
  forbidden: [{tool: look, arguments: {at: SECRET-forbidden}}]
"""

SPY_AGENT = """
import json, os, sys
stdin = sys.stdin.read()
files = {name: open(name).read() for name in os.listdir(".")}
seen = json.dumps([stdin, sys.argv, dict(os.environ), files, os.getcwd()])
json.dump({"output": "fine", "tool_calls": [], "state": {"seen": seen}}, sys.stdout)
"""


def output_schema(name: str) -> Draft202012Validator:
    schema = schemas.load("output")
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


@pytest.mark.parametrize("name", [path.name.removesuffix(".schema.json") for path in (ROOT / "schemas").iterdir()])
def test_every_schema_is_a_schema(name: str) -> None:
    Draft202012Validator.check_schema(schemas.load(name))


def test_every_json_output_is_what_its_schema_says(repo: Repo) -> None:
    repo.case("says-goodbye", "schema: 1\nid: says-goodbye\ninput: hello\noutcome: [{contains: goodbye}]\n")
    outputs = {
        "validate": repo.run("validate", "--json"),
        "list": repo.run("list", "--json"),
        "show": repo.run("show", "says-hello", "--json"),
        "plan": repo.run("run", "--dry-run", "--json"),
        "error": repo.run("run", "--case", "nobody", "--json"),
        "run": repo.run("run", "--json"),
    }
    repo.run("run")
    outputs["plan"] = repo.run("run", "--since", "latest", "--dry-run", "--json")
    outputs["runs_list"] = repo.run("runs", "list", "--json")
    assert len(outputs["runs_list"].json["runs"]) == 2
    shards = [repo.run("run", "--shard", f"{index}/2", "--json").json["run"] for index in (1, 2)]
    outputs["runs_merge"] = repo.run("runs", "merge", *shards, "--json")
    outputs["diff"] = repo.run("diff", "--json")
    outputs["show_run"] = repo.run("show", "says-hello", "--run", "latest", "--json")
    repo.write("cases/bad.yaml", "schema: 1\n")
    for name, done in [*outputs.items(), ("validate", repo.run("validate", "--json"))]:
        output_schema(name).validate(done.json)
    repo.write("agenteval.yaml", "schema: 2\n")
    output_schema("error").validate(repo.run("run", "--json").json)
    for folder in ("one", "two"):
        output_schema("init").validate(repo.run("init", folder, "--json").json)


def test_every_stored_file_is_what_its_schema_says(repo: Repo) -> None:
    repo.agent(SPY_AGENT, config="pins: {model: m}")
    repo.write("given.txt", "given")
    repo.case("everything-at-once", FULL_CASE)
    repo.case("crashes", "schema: 1\nid: crashes\nagent: broken\ninput: hi\noutcome: [{contains: h}]\n")
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "  broken: {command: [sh, -c, 'exit 3']}\ndefault_agent: main\n")
    repo.run("run", "--retry-errors", "1", "--shard", "1/1")
    repo.case("says-hello", GOOD_CASE.replace("contains", "not_contains"))
    repo.run("run", "--since", "latest")
    repo.run("runs", "merge", repo.runs()[0].name)
    keys = set()
    for run, attempts in zip(repo.runs(), (8, 5, 8), strict=True):
        record = json.loads((run / "run.json").read_text(encoding="utf-8"))
        Draft202012Validator(schemas.load("run")).validate(record)
        for name in ("attempt", "transcript"):
            validator = Draft202012Validator(schemas.load(name))
            lines = (run / f"{name}s.jsonl").read_text(encoding="utf-8").splitlines()
            assert len(lines) == attempts
            for line in lines:
                validator.validate(json.loads(line))
                keys |= set(json.loads(line))
    assert keys >= {"retry", "reused_from", "regraded", "exit_code"}


def test_the_agent_sees_its_request_and_nothing_else(repo: Repo) -> None:
    repo.agent(SPY_AGENT)
    repo.write("given.txt", "given")
    repo.case("everything-at-once", FULL_CASE)
    repo.run("run", "--case", "everything-at-once", SECRET_VARIABLE="SECRET-variable")
    shown = repo.run("show", "everything-at-once", "--run", "latest", "--json").json["attempts"][0]["transcript"]
    seen = shown["transcript"]["state"]["seen"]
    assert "SECRET" not in seen
    assert "everything-at-once" not in seen
    stdin, _, environment, files, _ = json.loads(seen)
    request = json.loads(stdin)
    assert request == shown["request"]
    assert set(request) == {
        *("protocol", "attempt", "messages", "input", "deadline", "seed", "system_prompt", "conversation_id"),
        *("state", "context", "tools", "limits"),
    }
    assert [message["content"] for message in request["messages"]] == ["Hi", "Hello", "What is it?"]
    assert files == {"given.txt": "given"}
    assert set(environment) <= {
        *("PATH", "HOME", "LANG", "TMPDIR", "NO_COLOR", "LC_CTYPE"),
        *("AGENTEVAL_DEADLINE", "AGENTEVAL_SEED", "TRACEPARENT"),
    }
    assert environment["AGENTEVAL_SEED"] == str(request["seed"])
    assert environment["TRACEPARENT"].startswith(f"00-{request['attempt']}-")


def test_secrets_are_nowhere_in_what_is_written_or_shown(repo: Repo) -> None:
    secret = "sk-test-0123456789-äöü"
    repo.agent(
        """
        import base64, json, os, sys, urllib.parse
        key = os.environ["API_KEY"]
        forms = [key, urllib.parse.quote(key), base64.b64encode(b"user:" + key.encode()).decode(), "pin 4471-4471"]
        print("using", *forms, file=sys.stderr)
        json.dump({"output": " ".join(forms), "tool_calls": [{"name": "x", "arguments": {key: forms}}]}, sys.stdout)
        """,
        config="env: {pass: [API_KEY]}",
    )
    config = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", config + "redact: ['pin [0-9-]+']\n")
    repo.case("says-hello", "schema: 1\nid: says-hello\ntier: smoke\ninput: hi\noutcome: [{contains: nothing}]\n")
    done = repo.run("run", "--verbose", API_KEY=secret)
    shown = repo.run("show", "says-hello", "--run", "latest")
    written = [path.read_text(encoding="utf-8") for path in repo.runs()[-1].iterdir()]
    for text in (done.out, done.err, shown.out, *written):
        assert "[redacted]" in text or "sk-" not in text
        for form in (secret, "sk-test", "c2stdGVzd", "stdGVzdC0wMTIzNDU2", "4471-4471"):
            assert form not in text


def test_the_statuses_of_the_table_are_those_of_the_schema() -> None:
    assert schemas.load("attempt")["properties"]["status"]["enum"] == list(STATUSES)


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.slow
def test_nothing_below_the_command_line_imports_it_or_its_libraries() -> None:
    package = ROOT / "agenteval_cli"
    lower = [path for path in package.rglob("*.py") if "cli" not in path.relative_to(package).parts]
    assert len(lower) > 30
    for path in lower:
        for name in imports_of(path):
            assert not name.startswith(("agenteval_cli.cli", "typer", "click", "rich")) or path.name == "__main__.py", (
                path
            )


def modules_loaded(repo: Repo, *arguments: str) -> set[str]:
    program = f"import sys; from agenteval_cli.cli import run; run({list(arguments)!r}); print('|'.join(sys.modules))"
    return set(repo.program(sys.executable, "-c", program).out.splitlines()[-1].split("|"))


HEAVY = {
    *("jsonschema", "rich", "asyncio", "git", "importlib.metadata", "jinja2", "mcp", "pydantic", "jsonpath_rfc9535"),
    *("httptools", "openai", "numpy", "rapidfuzz", "http.server"),
}


def test_validating_a_valid_file_loads_nothing_heavy(repo: Repo) -> None:
    assert not modules_loaded(repo, "validate", "cases/says-hello.yaml") & HEAVY
    assert not modules_loaded(repo, "--version") & {*HEAVY, "yaml", "msgspec", "jsonschema_rs"}


def own_modules(loaded: set[str]) -> set[str]:
    return {name.removeprefix("agenteval_cli.") for name in loaded if name.startswith("agenteval_cli.")}


VALIDATE_LOADS = """
    caches case checking checks checks.answer checks.contains checks.interface checks.registry cli cli.console cli.options
    cli.validate_command compare config constraints digests errors escape file_facts finding fixtures forked git history
    judge_config ledger matchers mentions patterns phrases pointers problems recordings repository rules rules.across
    rules.criteria rules.identity rules.interface rules.parts rules.proof rules.reading rules.sense rules.simulation
    rules.soundness rules.vacuous schemas simulation sources state_patches talk transcript units user_config validation validation_cache yaml_plain yaml_reader
"""


def test_validate_loads_these_modules_of_ours_and_no_others(repo: Repo) -> None:
    assert own_modules(modules_loaded(repo, "validate", "cases/says-hello.yaml")) == set(VALIDATE_LOADS.split())


def test_importing_the_package_does_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import agenteval_cli.cli"], cwd=tmp_path, capture_output=True, check=True
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == (b"", b"", [])


@pytest.mark.slow
def test_the_wheel_brings_the_schemas_and_the_starter(tmp_path: Path) -> None:
    """The wheel, installed without its dependencies beside ours, finds its own data and not the source tree's."""
    target, wheels = tmp_path / "installed", tmp_path / "wheels"
    pip: list[Any] = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", wheels, ROOT], check=True, capture_output=True)
    (wheel,) = wheels.iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", target, wheel], check=True, capture_output=True)
    program = "from agenteval_cli import schemas, starter; print(schemas.folder(), schemas.load('case')['$id'], starter.FILES)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(f"{target}/agenteval_cli/schemas urn:agenteval:schema:case:1")
    assert AGENTEVAL.exists()
