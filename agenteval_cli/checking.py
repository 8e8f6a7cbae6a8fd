"""One case file checked: bytes in, its facts and problems out. No I/O, so that it can be cached and done elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from agenteval_cli import fixtures as shared
from agenteval_cli import rules, schemas, yaml_reader
from agenteval_cli.digests import blob_name, digest_of_input
from agenteval_cli.fixtures import Fixture
from agenteval_cli.problems import Problem, did_you_mean
from agenteval_cli.simulation import role_of
from agenteval_cli.user_config import UserFacts, facts_of_rules, fault_of_user, scripted_by
from agenteval_cli.yaml_reader import Document


class Context(msgspec.Struct, frozen=True):
    """What a case is checked against besides itself. `users` are who can play simulated ones; None is unknown."""

    agents: tuple[str, ...] = ()
    fixtures: dict[str, Fixture] = {}
    users: dict[str, UserFacts] | None = None
    default_user: str | None = None


class Facts(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """What there is to know of one case file without reading it again.

    `id` is there as soon as the file says one, valid or not; `input` is the input digest of a valid case; `files` are
    those it gives to its agent, `until` is the end of its quarantine, `blob` is git's name for the content.
    """

    file: str
    id: str | None = None
    input: str | None = None
    files: tuple[str, ...] = ()
    until: str | None = None
    blob: str | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def valid(self) -> bool:
        return not any(problem.severity == "error" for problem in self.problems)


def check(context: Context, file: str, raw: bytes) -> tuple[Facts, Document | None]:
    """Check one case file; the document is there where the file is valid."""
    reading = yaml_reader.read(file, raw)
    problems = [problem for problem in reading.problems if not rules.number_is_meant(problem)]
    document = reading.document
    if document is None:
        return Facts(file, problems=tuple(problems)), None
    data = document.data
    said = data.get("id") if isinstance(data, dict) else None
    case_id = said if isinstance(said, str) else None
    broken = schemas.problems_in(document, "case")
    if broken:
        return Facts(file, case_id, problems=(*problems, *broken)), None
    against = list(_against(context, document))
    # Where a fixture is not there nobody knows the inventory, and no rule is asked about it.
    tools = (
        []
        if any(problem.rule == "unknown-fixture" for problem in against)
        else shared.inventory(data, context.fixtures)
    )
    problems += against
    problems += rules.problems_of(document, tools)
    facts = Facts(
        file,
        case_id,
        digest_of_input(data),
        tuple(data.get("files", ())),
        data.get("quarantine", {}).get("until"),
        blob_name(raw),
        tuple(problems),
    )
    return facts, document if facts.valid else None


def _against(context: Context, document: Document) -> Iterator[Problem]:
    data: Mapping[str, Any] = document.data
    name = data.get("agent")
    if name is not None and name not in context.agents:
        words = f"no agent '{name}' in agenteval.yaml{did_you_mean(name, context.agents)}"
        yield document.problem(("agent",), "unknown-agent", words)
    if "simulation" in data:
        yield from _against_users(context, document)
    for path, words in shared.faults(data, context.fixtures):
        yield document.problem(path, "unknown-fixture", words)


def _against_users(context: Context, document: Document) -> Iterator[Problem]:
    """The simulated user against who can play it."""
    role = role_of(document.data)
    users = context.users or {}
    if role is None:
        return
    fault = fault_of_user(role.user, bool(role.script), users) if role.user and context.users is not None else None
    if fault is not None:
        yield document.problem(("simulation", "user"), "unknown-user", fault)
    elif role.script:
        theirs = users.get(scripted_by(role.user, context.default_user, users), facts_of_rules(()))
        own = facts_of_rules(role.script)
        at = ("simulation", "script")
        is_answered = bool(role.before) and role.before[-1].agent is not None
        if role.opening is None and not (is_answered or own.begins or theirs.begins):
            words = "no rule says how to begin; give an opening, or a rule without when"
            yield document.problem(at, "no-beginning", words)
        if not (own.says_to_all or theirs.says_to_all):
            words = "an answer that no rule matches leaves the attempt ungraded; end the script with {gives_up: true}"
            yield document.problem(at, "open-script", words, severity="warning")
