"""`agenteval runs merge`: shards put together are the run that they were split from."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from conftest import Repo
from desk import Desk, cases

SAYS = """
said=$(cat)
case "$said" in *case-2|*case-5) echo "goodbye";; *) echo "$said";; esac
"""


@pytest.fixture
def split(repo: Repo) -> list[str]:
    """Five cases of two attempts, of which two fail, run in three parts; the names of the parts."""
    cases(repo, 5)
    Desk(repo, SAYS)
    repo.commit()
    return [shard(repo, f"{index}/3") for index in (1, 2, 3)]


def shard(repo: Repo, part: str, *more: str) -> str:
    done = repo.run("run", "--shard", part, "--json", *more)
    assert done.code in (0, 1), done
    name: str = done.json["run"]
    return name


def record(repo: Repo, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo.root / ".agenteval/runs" / name / "run.json").read_text(encoding="utf-8"))
    return found


def edited(repo: Repo, name: str, **changes: Any) -> None:
    path = repo.root / ".agenteval/runs" / name / "run.json"
    path.write_text(json.dumps({**record(repo, name), **changes}), encoding="utf-8")


SUMS = (
    "verdict",
    "attempts",
    "cases_passed",
    "cases_failed",
    "cases_incomplete",
    "cases_quarantined",
    "tiers",
    "status",
)


def sums(repo: Repo, name: str) -> dict[str, Any]:
    facts = repo.run("show", "--run", name, "--json").json
    times = ("duration_ms",)
    listed = [{key: value for key, value in case.items() if key not in times} for case in facts["cases"]]
    return {**{key: facts[key] for key in SUMS}, "cases": listed}


@pytest.mark.slow
def test_the_parts_put_together_are_as_the_whole(repo: Repo, split: list[str]) -> None:
    whole = repo.run("run", "--json").json["run"]
    done = repo.run("runs", "merge", *split, "--json")
    assert done.code == 0, done
    merged = done.json["run"]
    assert (done.json["attempts"], done.json["merged"]) == (10, split)
    assert sums(repo, merged) == sums(repo, whole)
    one, other = record(repo, merged), record(repo, whole)
    for key in ("plan", "not_selected", "counts", "git", "agents", "min_pass_rate", "format", "grading", "shard"):
        assert one[key] == other[key], key
    compared = repo.run("diff", whole, merged, "--json").json["diff"]
    assert compared["counts"]["still_passing"] == 3
    assert compared["counts"]["still_failing"] == 2
    for name in ("case-1", "case-2"):
        shown = repo.run("show", name, "--run", merged, "--json").json["attempts"]
        assert {each["transcript"]["case"] for each in shown} == {name}
    assert repo.runs()[-1].name == merged
    assert repo.run("runs", "list", "--json").json["runs"][0]["merged"] == split


@pytest.mark.slow
def test_parts_from_other_machines_are_named_by_their_folders(repo: Repo, split: list[str]) -> None:
    away = repo.root.parent / "artifacts"
    for name in split:
        shutil.move(repo.root / ".agenteval/runs" / name, away / name)
    done = repo.run("runs", "merge", *(str(away / name) for name in split))
    assert done.code == 0, done
    assert "5 cases, 10 attempts" in done.out
    assert repo.run("run", "--since", "latest", "--dry-run", "--json").json["to_run"] == 0


@pytest.mark.slow
def test_the_order_in_which_parts_are_named_does_not_matter(repo: Repo, split: list[str]) -> None:
    merged = [repo.run("runs", "merge", *names, "--json").json["run"] for names in (split, split[::-1])]
    assert sums(repo, merged[0]) == sums(repo, merged[1])
    assert record(repo, merged[0])["plan"] == record(repo, merged[1])["plan"]


@pytest.mark.slow
def test_what_does_not_fit_together_is_refused(repo: Repo, split: list[str]) -> None:
    whole = repo.run("run", "--json").json["run"]
    half = shard(repo, "1/2")
    runs = len(repo.runs())

    def refusal(*names: str) -> str:
        done = repo.run("runs", "merge", *names)
        assert done.code == 2, done
        assert len(repo.runs()) == runs
        return done.err

    first, second, third = split
    assert "shard 2/3 is missing; a merged run has all of them" in refusal(first, third)
    assert "shard 1/3 is given 2 times" in refusal(first, first, second, third)
    assert f"run {whole} is not a shard: `agenteval run --shard I/N` makes them" in refusal(first, second, whole)
    assert "these are shards of different splits: 1/3, 2/3, 1/2" in refusal(first, second, half)
    assert "is no run ID" in refusal(first, second, "nobody")
    for changes, said in (
        ({"git": {**record(repo, second)["git"], "commit": "c0ffee"}}, "have different commits"),
        ({"tool_version": "0.0.1"}, "have different versions of agenteval"),
        ({"min_pass_rate": 0.5}, "have different pass rates"),
        ({"agents": [{**record(repo, second)["agents"][0], "digest": "1:x"}]}, "different versions of agent 'main'"),
        ({"plan": record(repo, first)["plan"]}, "is in two of the shards"),
        ({"plan": record(repo, second)["plan"][1:]}, "was not made of the same selection as the others"),
    ):
        before = record(repo, second)
        edited(repo, second, **changes)
        assert said in refusal(*split)
        edited(repo, second, **before)


@pytest.mark.slow
def test_a_part_that_was_stopped_leaves_the_whole_incomplete(repo: Repo, split: list[str]) -> None:
    run = repo.root / ".agenteval/runs" / split[0]
    lines = (run / "attempts.jsonl").read_bytes().splitlines(keepends=True)
    (run / "attempts.jsonl").write_bytes(b"".join(lines[:1]) + lines[1][:10])
    edited(repo, split[0], status="running", finished_at=None)
    merged = repo.run("runs", "merge", *split, "--json").json["run"]
    assert record(repo, merged)["status"] == "interrupted"
    assert sum(record(repo, merged)["counts"].values()) == 10
    assert repo.run("run", "--resume", merged).code == 1, "two of the cases fail"
    assert sum(count for status, count in record(repo, merged)["counts"].items() if status != "cancelled") == 10


def test_a_part_without_its_transcripts_leaves_no_half_of_a_run_behind(repo: Repo, split: list[str]) -> None:
    (repo.root / ".agenteval/runs" / split[2] / "transcripts.jsonl").unlink()
    done = repo.run("runs", "merge", *split)
    assert (done.code, len(repo.runs())) == (2, 3), done
    assert "the transcript of case-3 #" in done.err


def test_a_part_with_no_case_is_no_run(repo: Repo, split: list[str]) -> None:
    done = repo.run("run", "--shard", "6/6")
    assert done.code == 2
    assert "--shard 6/6: this part is empty; 5 cases make that many parts at most" in done.err


@pytest.mark.slow
def test_a_sample_is_split_by_one_seed_only(repo: Repo, split: list[str]) -> None:
    done = repo.run("run", "--shard", "1/2", "--sample", "4")
    assert done.code == 2
    assert "--sample with --shard needs a --seed" in done.err
    parts = [shard(repo, f"{index}/2", "--sample", "4", "--seed", "7") for index in (1, 2)]
    merged = repo.run("runs", "merge", *parts, "--json").json["run"]
    assert len(record(repo, merged)["plan"]) == 4
    assert len(record(repo, merged)["not_selected"]) == 1


def test_runs_are_listed_the_newest_first(repo: Repo, split: list[str]) -> None:
    done = repo.run("runs", "list", "--limit", "2")
    assert [line.split()[0] for line in done.out.splitlines()[1:]] == split[:0:-1]
    facts = repo.run("runs", "list", "--json").json["runs"]
    assert [run["shard"] for run in facts] == [[3, 3], [2, 3], [1, 3]]


def test_where_there_are_no_runs_yet_that_is_said(repo: Repo) -> None:
    done = repo.run("runs", "list")
    assert (done.code, "no runs yet" in done.err) == (0, True)
    assert repo.run("runs", "list", "--json").json == {"format": 1, "runs": []}
