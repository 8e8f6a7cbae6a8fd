"""`agenteval history` and `agenteval review` over runs: where a case broke, what is flaky, what tells nothing."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from build import LETTERS, agent, run, steady, tried
from conftest import Repo
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from test_contracts import output_schema

from agenteval_cli.git import GitState
from agenteval_cli.records import Confirms
from agenteval_cli.run_history import CaseHistory, Point, flaky_of, history_of, rate_of, sparkline
from agenteval_cli.run_index import FILE_NAME, open_index
from agenteval_cli.run_review import (
    Bounds,
    CaseTotal,
    History,
    LatestResult,
    Mixed,
    Quarantine,
    attempts_for,
    chance_to_fail,
    suggestions,
)
from agenteval_cli.statistics import wilson
from agenteval_cli.store import Run
from agenteval_cli.summary import summary_of


def stored(runs: Path, number: int, ended: dict[str, str], *, digest: str = "1:agent", **changes: Any) -> str:
    """A run on disk, the so many-th, one a day: `{"greet": "PPF"}`. Returns its ID."""
    run_id = f"202611{number:02}T090000.000000Z-{number:04x}"
    cases = [tried(name, letters) for name, letters in ended.items()]
    made = run(*cases, agents=[agent(digest=digest)], id=run_id, **changes)
    return written(runs, made)


def written(runs: Path, made: Run) -> str:
    folder = runs / made.record.id
    folder.mkdir(parents=True)
    lines = b"".join(msgspec.json.encode(attempt) + b"\n" for attempt in made.attempts)
    (folder / "attempts.jsonl").write_bytes(lines)
    (folder / "run.json").write_bytes(msgspec.json.encode(made.record))
    return made.record.id


def points(root: Path, case: str = "greet") -> list[str]:
    """What the index says of a case: `k/n` in each run."""
    with open_index(root, root / "runs") as index:
        return [f"{point.passed}/{point.graded}" for point in index.points(case)]


def rates(root: Path, made: Run, most: int = 30) -> list[str]:
    """What the index says of the runs before that one: `k/n` each."""
    with open_index(root, root / "runs") as index:
        return [f"{rate.passed}/{rate.graded}" for rate in index.rates_before(made.record, most)]


def test_a_run_is_held_against_earlier_ones_of_the_same_agents_and_nearly_the_same_cases(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    five = dict.fromkeys(("a", "b", "c", "d", "e"), "PF")
    stored(runs, 1, five)
    stored(runs, 2, {**five, "a": "FF", "new": "PP"})
    stored(runs, 3, {"a": "PP"})  # another selection
    written(runs, run(*(tried(name, "FF") for name in five), id="20261104T090000.000000Z-0004", status="running"))
    other = [(replace(plan, agent="other"), attempts) for plan, attempts in (tried(name, "FF") for name in five)]
    written(runs, run(*other, agents=[agent("other")], id="20261105T090000.000000Z-0005"))
    last = run(*(tried(name, "PP") for name in five), id="20261106T090000.000000Z-0006")
    assert rates(tmp_path, last) == ["5/10", "4/10"], "neither of itself nor of what is still running"
    written(runs, last)
    stored(runs, 7, five)
    assert rates(tmp_path, last) == ["5/10", "4/10"]
    assert rates(tmp_path, last, most=1) == ["4/10"], "the newest"
    assert rates(tmp_path, run(tried("unheard-of", "P"))) == []


def test_what_is_in_quarantine_moves_no_rate(tmp_path: Path) -> None:
    written(
        tmp_path / "runs", run(tried("a", "PP"), tried("b", "FF", quarantined=True), id="20261101T090000.000000Z-0001")
    )
    last = run(tried("a", "PP"), tried("b", "FF", quarantined=True), id="20261102T090000.000000Z-0002")
    assert rates(tmp_path, last) == ["2/2"]
    told = rate_of(last.record, summary_of(last.record, last.attempts))
    assert (told.passed, told.graded, told.cases) == (2, 2, 1)


# ---- the index


def test_the_index_takes_in_what_is_new_and_lets_go_of_what_is_gone(tmp_path: Path) -> None:
    first = stored(tmp_path / "runs", 1, {"greet": "PPP"})
    assert points(tmp_path) == ["3/3"]
    stored(tmp_path / "runs", 3, {"greet": "PFF"})
    stored(tmp_path / "runs", 2, {"greet": "PPF"})
    assert points(tmp_path) == ["3/3", "2/3", "1/3"]
    shutil.rmtree(tmp_path / "runs" / first)
    assert points(tmp_path) == ["2/3", "1/3"]


def test_an_unfinished_run_counts_once_it_is_finished(tmp_path: Path) -> None:
    run_id = stored(tmp_path / "runs", 1, {"greet": "PP"}, status="interrupted")
    assert points(tmp_path) == []
    shutil.rmtree(tmp_path / "runs" / run_id)
    stored(tmp_path / "runs", 1, {"greet": "PPF"})
    assert points(tmp_path) == ["2/3"]


def test_shards_that_were_merged_count_once(tmp_path: Path) -> None:
    shard = stored(tmp_path / "runs", 1, {"greet": "PPP"}, shard=(1, 1))
    assert points(tmp_path) == ["3/3"]
    merged = stored(tmp_path / "runs", 2, {"greet": "PPP"}, merged=(shard,))
    assert points(tmp_path) == ["3/3"]
    with open_index(tmp_path, tmp_path / "runs") as index:
        assert [total.graded for total in index.totals()] == [3]
    shutil.rmtree(tmp_path / "runs" / merged)
    assert points(tmp_path) == ["3/3"]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no database" * 200),
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
    ],
    ids=["other", "gone", "torn"],
)
def test_an_index_that_is_spoilt_is_made_anew(tmp_path: Path, spoil: Any) -> None:
    stored(tmp_path / "runs", 1, {"greet": "PPF"})
    assert points(tmp_path) == ["2/3"]
    spoil(tmp_path / ".agenteval" / "cache" / FILE_NAME)
    assert points(tmp_path) == ["2/3"]


def test_a_run_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    stored(tmp_path / "runs", 1, {"greet": "PP"})
    broken = stored(tmp_path / "runs", 2, {"greet": "PP"})
    (tmp_path / "runs" / broken / "attempts.jsonl").write_text("{\n", encoding="utf-8")
    torn = stored(tmp_path / "runs", 3, {"greet": "PP"})
    (tmp_path / "runs" / torn / "run.json").write_text("{", encoding="utf-8")
    assert points(tmp_path) == ["2/2"]


def test_without_a_place_for_the_cache_it_works_all_the_same(tmp_path: Path) -> None:
    stored(tmp_path / "runs", 1, {"greet": "PP"})
    (tmp_path / ".agenteval").write_text("a file where the folder would be", encoding="utf-8")
    assert points(tmp_path) == ["2/2"]


@pytest.mark.slow
@steady
@given(
    st.lists(
        st.tuples(st.text("PFU", min_size=1, max_size=4), st.sampled_from(["1:a", "1:b"])), min_size=1, max_size=5
    ),
    st.data(),
)
def test_in_steps_or_at_once_the_sums_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str]], data: st.DataObject
) -> None:
    root, steps = tmp_path_factory.mktemp("once"), tmp_path_factory.mktemp("steps")
    order = data.draw(st.permutations(range(len(made))))
    extra = stored(steps / "runs", 28, {"greet": "FF"})
    for number in order:
        ended, digest = made[number]
        for folder in (root, steps):
            stored(folder / "runs", number + 1, {"greet": ended}, digest=digest)
        points(steps)
    shutil.rmtree(steps / "runs" / extra)
    found = []
    for folder in (root, steps):
        with open_index(folder, folder / "runs") as index:
            found.append((index.totals(), index.mixed(""), index.points("greet")))
    assert found[0] == found[1]
    graded = [letter for ended, _ in made for letter in ended if letter in "PF"]
    assert found[0][0][0].graded == len(graded)
    assert found[0][0][0].passed == graded.count("P")


def test_attempts_kept_from_an_earlier_run_are_no_new_evidence(tmp_path: Path) -> None:
    first = stored(tmp_path / "runs", 1, {"greet": "PF"})
    made = run(tried("greet", "PF"), id="20261102T090000.000000Z-0002")
    kept = tuple(msgspec.structs.replace(attempt, reused_from=first) for attempt in made.attempts)
    written(tmp_path / "runs", msgspec.structs.replace(made, attempts=kept))
    with open_index(tmp_path, tmp_path / "runs") as index:
        assert [(point.passed, point.graded, point.own_graded) for point in index.points("greet")] == [
            (1, 2, 2),
            (1, 2, 0),
        ]
        assert [(total.passed, total.graded) for total in index.totals()] == [(1, 2)]


def test_runs_that_only_confirm_another_are_left_out(tmp_path: Path) -> None:
    first = stored(tmp_path / "runs", 1, {"greet": "PF"})
    stored(tmp_path / "runs", 2, {"greet": "FFFF"}, confirms=Confirms(first, first, 4))
    assert points(tmp_path) == ["1/2"]


# ---- one case


def told(*runs: str, digests: str = "", versions: str = "") -> CaseHistory:
    """The history of a case: a text of letters a run, and a letter for each run's agent and content."""
    made = []
    for number, ended in enumerate(runs):
        passed = ended.count("P")
        graded = sum(LETTERS[letter] != "ungraded" for letter in ended)
        verdict = "passed" if passed == len(ended) else "failed" if graded == len(ended) else "incomplete"
        made.append(
            Point(
                run=f"2026110{number}",
                started_at="",
                commit=None,
                dirty=None,
                agent="main",
                agent_digest=(digests or "a" * len(runs))[number],
                version=(versions or "v" * len(runs))[number],
                verdict=verdict,
                passed=passed,
                graded=graded,
                planned=len(ended),
                own_passed=passed,
                own_graded=graded,
            )
        )
    return history_of("greet", made)


@pytest.mark.parametrize(
    ("history", "turns"),
    [
        (told("PPP", "PPP"), []),
        (told("PPP", "PPP", "FFF", "FFF", digests="aabb"), [("broke", (6, 6), (0, 6), True, False)]),
        (told("PPP", "FFF", "PPP"), [("broke", (3, 3), (0, 3), False, False), ("fixed", (0, 3), (3, 3), False, False)]),
        (told("PPP", "FFF", versions="vw"), [("broke", (3, 3), (0, 3), False, True)]),
        (told("PPP", "PPU", "FFF"), [("broke", (3, 3), (0, 3), False, False)]),
        (told("PPP", "PPP", "FFF", versions="uvv"), [("broke", (3, 3), (0, 3), False, False)]),
    ],
    ids=[
        "steady",
        "broke with the agent",
        "there and back",
        "edited",
        "over an incomplete run",
        "only the same content",
    ],
)
def test_where_the_verdict_turned(history: CaseHistory, turns: Sequence[tuple[Any, ...]]) -> None:
    found = [(turn.kind, turn.before, turn.after, turn.agent_changed, turn.edited) for turn in history.turns]
    assert found == turns


def test_a_turn_has_the_exact_chance_of_a_drop_as_large() -> None:
    (turn,) = told("PPP", "PPP", "FFF", "FFF").turns
    assert turn.p == pytest.approx(1 / 924)


@pytest.mark.parametrize(
    ("history", "flaky"),
    [
        (told("PP", "FF", digests="ab"), None),  # it broke with the agent
        (told("PP", "FF", versions="ab"), None),  # it was edited
        (told("FF", "FF"), None),
        (told("PP", "PF"), (1, 1, 3, 4)),
        (told("PP", "FF", "PF", "PP", digests="abcc"), (1, 2, 5, 6)),
    ],
)
def test_flaky_is_what_falls_both_ways_with_nothing_changed(
    history: CaseHistory, flaky: tuple[int, ...] | None
) -> None:
    found = flaky_of(history.points)
    assert (found and (found.mixed, found.pairs, found.passed, found.graded)) == flaky


def test_a_bar_for_each_run() -> None:
    assert sparkline(told("PPP", "PPF", "FFF", "UUU").points) == "█▆▁·"


# ---- suggestions

STEADY = CaseTotal("greet", "support", "v", 60, 60, 20, 20, 0, "20261001T", "20261101T", 3, 1.0, quarantined=False)


def suggested(*totals: CaseTotal, bounds: Bounds = Bounds(), **more: Any) -> list[tuple[str, str]]:  # noqa: B008  # it is frozen
    plan = tuple(tried(name, "PPP")[0] for name in more.pop("cases", ["Greet"]))
    fields: dict[str, Any] = {"today": "2026-11-30", "plan": plan, "totals": totals, "mixed": (), "latest": ()}
    return [(found.kind, found.subject) for found in suggestions(History(**{**fields, **more}), bounds)]


def changed(**fields: Any) -> CaseTotal:
    return msgspec.structs.replace(STEADY, **fields)


@pytest.mark.parametrize(
    ("total", "kinds"),
    [
        (STEADY, ["always_passed"]),
        (changed(passed_runs=19), []),
        (changed(last_run="20261020T"), []),
        (changed(passed=59), []),
        (changed(passed=0, passed_runs=0, failed_runs=20), ["never_passed"]),
        (changed(passed=0, passed_runs=0, failed_runs=1, graded=3, runs=1), []),
        (changed(case="gone"), []),
        (changed(agent="other"), []),
    ],
)
def test_cases_that_tell_nothing(total: CaseTotal, kinds: list[str]) -> None:
    assert [kind for kind, _ in suggested(total)] == kinds


def test_the_bounds_are_the_users() -> None:
    assert suggested(changed(passed_runs=3, last_run="20261002T"), bounds=Bounds(runs=3, days=1)) == [
        ("always_passed", "Greet")
    ]


@pytest.mark.parametrize(
    ("passed", "graded", "fields", "kinds"),
    [
        (18, 25, {}, ["quarantine"]),
        (18, 25, {"quarantined": True}, []),
        (2, 4, {}, []),  # too few to say
        (99, 100, {"planned": 1}, []),  # a run fails it 1 % of the time
        (18, 25, {"needed": 0.3}, []),  # as many misses as it may have
    ],
)
def test_quarantine_is_suggested_where_the_verdict_is_a_throw_of_dice(
    passed: int, graded: int, fields: dict[str, Any], kinds: list[str]
) -> None:
    total = changed(passed_runs=10, failed_runs=10, passed=50, **fields)
    found = suggested(total, mixed=(Mixed("greet", "support", "v", 2, 5, passed, graded),))
    assert [kind for kind, _ in found] == kinds


def test_a_quarantine_past_its_day() -> None:
    held = (Quarantine("Greet", "2026-11-29"), Quarantine("b", "2026-11-30"), Quarantine("c", None))
    assert suggested(quarantines=held) == [("quarantine_past", "Greet")]


def test_a_slice_of_few_attempts_is_too_thin() -> None:
    assert suggested(latest=(LatestResult("greet", 2, 3, None, None, None),)) == [("thin_slice", "tier=regression")]
    assert suggested(latest=(LatestResult("greet", 60, 90, None, None, None),)) == []


@pytest.mark.slow
def test_the_command_for_a_thin_slice_selects_it_whatever_its_value_is_called(repo: Repo) -> None:
    tags = """["not", "it's $HOME", "plain"]"""
    metadata = """{owner: two words, odd key: true, n: 3, a.b: c, intent: "$(touch pwned)"}"""
    asks = "input: hi\noutcome: [{contains: hi}]\n"
    repo.case("odd", f"schema: 1\nid: odd\ntier: regression\ntags: {tags}\nmetadata: {metadata}\n{asks}")
    repo.run("run")
    found = [
        item for item in repo.run("review", "--json").json["suggestions"] if not item["subject"].startswith("tier")
    ]
    assert len(found) == 8
    (unnamed,) = [item["subject"] for item in found if item["command"] is None]
    assert unnamed == "metadata.a.b=c"
    for item in (item for item in found if item["command"] is not None):
        program, *options = shlex.split(item["command"])
        done = repo.run(*options, "--dry-run")
        assert (program, done.code, "odd" in done.out) == ("agenteval", 0, True), item


def test_slow_and_dear_cases_stand_out() -> None:
    names = ["a", "b", "c", "d"]
    latest = tuple(
        LatestResult(name, 90, 90, 9000.0 if name == "b" else 100.0, 1.0 if name == "c" else 0.01, None)
        for name in names
    )
    assert suggested(cases=names, latest=latest) == [("slow", "b"), ("dear", "c")]


@given(st.integers(1, 12), st.floats(0.01, 1), st.floats(0, 1))
def test_the_chance_to_fail_falls_as_the_rate_rises(planned: int, needed: float, rate: float) -> None:
    chance = chance_to_fail(rate, planned, needed)
    assert -1e-9 <= chance_to_fail(min(1.0, rate + 0.1), planned, needed) <= chance + 1e-9 <= 1 + 2e-9


@given(st.floats(0, 1), st.sampled_from([0.05, 0.1, 0.2]))
def test_so_many_attempts_do(rate: float, half: float) -> None:
    attempts = attempts_for(rate, half)
    low, high = wilson(round(rate * attempts), attempts)
    assert high - low <= 2 * half + 1e-9


# ---- the commands

SAYS = """
import json, sys
json.dump({"output": "WORD", "tool_calls": []}, sys.stdout)
"""


@pytest.fixture
def broken(repo: Repo) -> Repo:
    """A repository in which a commit made the agent forget its greeting, between two runs and two more commits."""
    repo.agent(SAYS.replace("WORD", "hello"), config="source: [agent.py]")
    repo.commit("first")
    repo.run("run", "--attempts", "3")
    repo.commit("a word on nothing")
    repo.write("agent.py", SAYS.replace("WORD", "goodbye"))
    repo.commit("politer goodbyes")
    repo.run("run", "--attempts", "3")
    return repo


def test_history_tells_where_a_case_broke_and_by_which_commits(broken: Repo) -> None:
    done = broken.run("history", "says-hello", PYTHONIOENCODING="utf-8")
    assert done.code == 0, done
    assert "█▁" in done.out
    assert "broke in" in done.out
    assert "(3/3 → 0/3, p 0.05)" in done.out
    assert "politer goodbyes" in done.out
    assert "one of 2 commits" in done.out
    assert "neither the case nor its agent" not in done.out
    assert broken.git("status", "--porcelain") == ""


def test_history_as_json_is_what_its_schema_says(broken: Repo) -> None:
    done = broken.run("history", "Says-Hello", "--json")
    output_schema("history").validate(done.json)
    assert done.json["history"]["case"] == "says-hello"
    assert [commit["subject"] for commit in done.json["history"]["turns"][0]["commits"]] == [
        "a word on nothing",
        "politer goodbyes",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["says-helo"], "did you mean 'says-hello'"), (["says-hello", "--agent", "b"], "there is main")],
)
def test_a_case_without_runs_is_asked_wrongly(broken: Repo, arguments: list[str], told: str) -> None:
    done = broken.run("history", *arguments)
    assert done.code == 2
    assert told in done.err


@pytest.mark.slow
def test_review_suggests_with_evidence(broken: Repo) -> None:
    broken.case(
        "held",
        "schema: 1\nid: held\ntier: smoke\ninput: hello\noutcome: [{contains: goodbye}]\nquarantine: {reason: r, since: '2026-01-01', until: '2026-01-02'}\n",
    )
    broken.run("run", "--attempts", "3")
    broken.run("run", "--attempts", "3")
    done = broken.run("review", "--json", "--runs", "2", "--days", "0")
    assert done.code == 0, done
    output_schema("review").validate(done.json)
    kinds = {found["kind"]: found["subject"] for found in done.json["suggestions"]}
    assert kinds["quarantine_past"] == "held"
    assert kinds["always_passed"] == "held"
    assert "Always passed" in broken.run("review", "--runs", "2", "--days", "0").out


def test_review_without_a_run_says_what_makes_one(repo: Repo) -> None:
    done = repo.run("review")
    assert done.code == 2
    assert "`agenteval run` makes one" in done.err


@pytest.mark.slow
def test_accepting_and_showing_a_baseline_print_what_their_schemas_say(broken: Repo) -> None:
    output_schema("baseline_accept").validate(broken.run("baseline", "accept", "--json").json)
    output_schema("baseline_show").validate(broken.run("baseline", "show", "--json").json)
    output_schema("diff").validate(broken.run("baseline", "diff", "--json").json)


@pytest.mark.slow
def test_commits_of_another_branch_are_not_blamed(broken: Repo) -> None:
    broken.git("checkout", "--quiet", "-b", "side", "HEAD~2")
    broken.git("commit", "--quiet", "--allow-empty", "--message", "aside")
    assert broken.run("run", "--attempts", "3").code == 0
    turns = json.loads(broken.run("history", "says-hello", "--json").out)["history"]["turns"]
    assert [(turn["kind"], turn["commits"]) for turn in turns][1] == ("fixed", None)


def test_git_states_are_kept(tmp_path: Path) -> None:
    stored(tmp_path / "runs", 1, {"greet": "P"}, git=GitState("c0ffee", "main", dirty=True))
    with open_index(tmp_path, tmp_path / "runs") as index:
        (point,) = index.points("GREET")
    assert (point.commit, point.dirty) == ("c0ffee", True)
