"""Calibration: a judge held against people, what that says of its numbers, and whether it may gate."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from build import steady
from conftest import AGENTEVAL, Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from judge_programs import HEAD, LAST_WORD
from msgspec.structs import replace
from scipy.stats import kendalltau, spearmanr
from terminal import Terminal

from agenteval_cli import schemas
from agenteval_cli.agreement import (
    cohens_kappa,
    corrected_rate,
    kappa_interval,
    kendall,
    kendall_interval,
    spearman,
    spearman_interval,
    true_rate,
)
from agenteval_cli.bars import bars
from agenteval_cli.calibration import Answered, Calibration, calibration_of, read_calibrations
from agenteval_cli.cli.judged_view import lines_of_rates
from agenteval_cli.judge_config import CommandSettings, JudgeConfig, Judging
from agenteval_cli.judged_rates import rates_of
from agenteval_cli.judgement import Judgement, Vote
from agenteval_cli.labelling import entry_of, items_of, key_of, words_of
from agenteval_cli.labels import read_labels
from agenteval_cli.repository import load, open_repository
from agenteval_cli.store import read_run
from agenteval_cli.yaml_writer import document

ANSWERS = st.sampled_from(["yes", "no", "cannot_tell"])
PAIRS = st.lists(st.tuples(st.sampled_from(["yes", "no"]), ANSWERS), min_size=2, max_size=60)


# ---- statistics


def kappa_by_matrices(pairs: list[tuple[str, str]]) -> float:
    """Another way to the same: observed and expected disagreement over the confusion matrix."""
    names = sorted({name for pair in pairs for name in pair})
    matrix = np.zeros((len(names), len(names)))
    for one, other in pairs:
        matrix[names.index(one), names.index(other)] += 1
    chance = np.outer(matrix.sum(axis=1), matrix.sum(axis=0)) / matrix.sum()
    weights = 1 - np.eye(len(names))
    return float(1 - (weights * matrix).sum() / (weights * chance).sum())


@steady
@given(PAIRS)
def test_kappa_is_one_minus_observed_over_chance_disagreement(pairs: list[tuple[str, str]]) -> None:
    if len(set(pairs)) == 1 and pairs[0][0] == pairs[0][1]:
        assert cohens_kappa(Counter(pairs)) == 0
    else:
        assert cohens_kappa(Counter(pairs)) == pytest.approx(kappa_by_matrices(pairs), abs=1e-9)


def test_kappa_and_its_interval_as_published() -> None:
    """The table of Fleiss, Cohen and Everitt (1969): two psychologists and 100 patients in three groups."""
    table = {
        ("a", "a"): 75, ("a", "b"): 1, ("a", "c"): 4,
        ("b", "a"): 5, ("b", "b"): 4, ("b", "c"): 1,
        ("c", "a"): 0, ("c", "b"): 0, ("c", "c"): 10,
    }  # fmt: skip
    assert cohens_kappa(table) == pytest.approx(0.676, abs=0.0005)
    low, high = kappa_interval(table, z=1.0)
    assert (high - low) / 2 == pytest.approx(0.088, abs=0.0005)


@steady
@given(PAIRS)
def test_kappa_lies_in_its_interval_which_narrows_with_more_labels(pairs: list[tuple[str, str]]) -> None:
    once, often = Counter(pairs), Counter(pairs * 20)
    low, high = kappa_interval(once)
    assert low - 1e-9 <= cohens_kappa(once) <= high + 1e-9
    narrow = kappa_interval(often)
    assert narrow[1] - narrow[0] <= high - low + 1e-9


@pytest.mark.parametrize(
    ("rate", "sensitivity", "specificity", "true"),
    [(0.7, 1.0, 1.0, 0.7), (0.62, 0.9, 0.8, 0.6), (0.1, 0.9, 0.8, 0.0), (0.95, 0.9, 0.8, 1.0), (0.5, 0.5, 0.5, None)],
)
def test_a_rate_is_corrected_for_the_judges_errors(
    rate: float, sensitivity: float, specificity: float, true: float | None
) -> None:
    assert corrected_rate(rate, sensitivity, specificity) == (None if true is None else pytest.approx(true))


def test_the_interval_of_a_corrected_rate_covers_the_truth() -> None:
    """Simulated: a judge right on 85 of 100 yes and 80 of 100 no, rates from 10 to 90 %."""
    draw = np.random.default_rng(7)
    covered = total = 0
    for truth in np.linspace(0.1, 0.9, 9):
        for _ in range(300):
            right_yes, right_no = draw.binomial(100, 0.85), draw.binomial(100, 0.80)
            yes = draw.binomial(200, truth * 0.85 + (1 - truth) * 0.2)
            interval = true_rate(int(yes), 200, right_yes=(int(right_yes), 100), right_no=(int(right_no), 100))
            assert interval is not None
            covered += interval[0] <= truth <= interval[1]
            total += 1
    assert 0.93 <= covered / total <= 0.985


def test_a_judge_no_better_than_chance_says_nothing() -> None:
    assert true_rate(10, 20, right_yes=(5, 10), right_no=(5, 10)) is None


SCORES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.floats(0, 1, width=16)), min_size=3, max_size=30
)


@steady
@given(SCORES)
def test_correlations_are_those_of_scipy(pairs: list[tuple[float, float]]) -> None:
    people, judge = ([pair[side] for pair in pairs] for side in (0, 1))
    if len(set(people)) == 1 or len(set(judge)) == 1:
        assert (spearman(people, judge), kendall(people, judge)) == (None, None)
        return
    assert spearman(people, judge) == pytest.approx(spearmanr(people, judge).statistic, abs=1e-9)
    assert kendall(people, judge) == pytest.approx(kendalltau(people, judge).statistic, abs=1e-9)


@steady
@given(SCORES)
def test_a_correlation_lies_in_its_interval_which_narrows_with_more_items(pairs: list[tuple[float, float]]) -> None:
    people, judge = ([pair[side] for pair in pairs] for side in (0, 1))
    for value, interval in ((spearman(people, judge), spearman_interval), (kendall(people, judge), kendall_interval)):
        if value is not None:
            low, high = interval(value, len(pairs))
            assert -1 <= low <= value <= high <= 1
            narrow = interval(value, len(pairs) * 20)
            assert narrow[1] - narrow[0] <= high - low


def test_the_interval_of_spearman_covers_the_truth() -> None:
    """Simulated: two normals that correlate at 0.7, whose ranks do at 6/pi * asin(0.7 / 2)."""
    draw = np.random.default_rng(11)
    truth = 6 / math.pi * math.asin(0.35)
    covered = 0
    for _ in range(400):
        one, noise = draw.normal(size=(2, 30))
        value = spearman(list(one), list(0.7 * one + math.sqrt(0.51) * noise))
        assert value is not None
        low, high = spearman_interval(value, 30)
        covered += low <= truth <= high
    assert 0.92 <= covered / 400 <= 0.985


def item(label: str, *answers: str, **more: Any) -> Answered:
    return Answered(place="labels/a.yaml#1", criterion="Polite.", label=label, answers=answers, **more)


def made_of(*items: Answered) -> Calibration:
    return calibration_of("default", "1:judge", "2026-11-30T12:00:00.000Z", items)


def test_a_calibration_counts_agreement_repeats_and_biases() -> None:
    made = made_of(
        item("yes", "yes", "yes", turned="yes", longer="yes"),
        item("yes", "no", "yes", turned="no", longer="yes"),
        item("no", "no", "no", turned="yes", longer="yes"),
        item("no", "cannot_tell", "no", turned="cannot_tell", longer="cannot_tell"),
    )
    assert made.agreement == 0.5
    assert made.table == {
        "yes": {"yes": 1, "no": 1, "cannot_tell": 0},
        "no": {"yes": 0, "no": 1, "cannot_tell": 1},
    }
    assert (made.again, made.turned, made.longer, made.to_yes) == ((2, 4), (1, 4), (2, 4), 2)
    assert [(each.label, each.answer) for each in made.disputed] == [("yes", "no"), ("no", "cannot_tell")]


def test_a_calibration_corrects_the_rates_of_its_judge() -> None:
    yes = [item("yes", "yes")] * 18 + [item("yes", "no")] * 2
    no = [item("no", "no")] * 16 + [item("no", "yes")] * 4
    found = made_of(*yes, *no).corrected(62, 100)
    assert found is not None
    rate, (low, high) = found
    assert rate == pytest.approx(0.6)
    assert low < 0.6 < high
    assert math.isfinite(low)


def test_kinds_of_criteria_are_told_apart() -> None:
    """A judge may be right on statements and useless on a metric; neither lends the other its kappa."""
    made = made_of(
        *[item("yes", "yes"), item("no", "no")] * 10,
        *[item("yes", "no", kind="faithfulness"), item("no", "yes", kind="faithfulness")] * 5,
        item("yes", "yes", kind="rubric"),
    )
    assert {name: (kind.labels, kind.kappa) for name, kind in made.kinds.items()} == {
        "statement": (20, 1.0),
        "faithfulness": (10, -1.0),
        "rubric": (1, 0.0),
    }
    assert made.trust("statement")[0] == 1.0
    assert made.trust("faithfulness")[0] == -1.0
    assert made.trust("rubric")[0] == made.trust("bias")[0] == made.kappa  # nobody can tell: all labels count


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ({"text": "Polite."}, []),
        ({"metric": "faithfulness"}, ["criteria[0].faithfulness: judge 'default' agrees with people at kappa -1.00"]),
        ({"metric": "coherence"}, ["criteria[0].coherence: judge 'default' agrees with people at kappa 0.33"]),
    ],
)
def test_a_gate_goes_by_the_labels_of_its_kind_or_else_by_all(criterion: dict[str, Any], words: list[str]) -> None:
    statements = [item("yes", "yes"), item("no", "no")] * 10
    metric = [item("yes", "no", kind="faithfulness"), item("no", "yes", kind="faithfulness")] * 5
    judging = Judging(judges={"default": JudgeConfig(name="default", asked=CommandSettings(command=("true",)))})
    found = list(bars({"criteria": [{**criterion, "gate": True}]}, judging, {"default": made_of(*statements, *metric)}))
    assert [line.partition(",")[0] for line in found] == words


def test_rates_of_statements_are_corrected_by_statements_alone() -> None:
    statements = [item("yes", "yes")] * 18 + [item("yes", "no")] * 2 + [item("no", "no")] * 16 + [item("no", "yes")] * 4
    others = [item("yes", "no", kind="bias"), item("no", "yes", kind="bias")] * 20
    assert made_of(*statements, *others).corrected(62, 100) == made_of(*statements).corrected(62, 100)
    assert made_of(*others).corrected(62, 100) is None


def test_a_calibration_of_the_first_format_still_holds(tmp_path: Path) -> None:
    made = made_of(*[item("yes", "yes")] * 18, *[item("no", "no")] * 16, *[item("no", "yes")] * 4)
    first = {key: value for key, value in msgspec.to_builtins(made).items() if key != "kinds"} | {"format": 1}
    (tmp_path / "default.json").write_text(json.dumps(first), encoding="utf-8")
    read = read_calibrations(tmp_path, {"default": "1:judge"})["default"]
    assert read.corrected(62, 100) == made.corrected(62, 100)
    assert read.trust("statement") == (made.kappa, made.kappa_interval)
    (tmp_path / "default.json").write_text(json.dumps(first | {"format": 3}), encoding="utf-8")
    assert read_calibrations(tmp_path, {"default": "1:judge"}) == {}


def test_scores_are_held_against_those_that_people_gave() -> None:
    made = made_of(
        item("yes", "yes", kind="rubric", score=1.0, scored=0.9),
        item("yes", "yes", kind="rubric", score=0.75, scored=0.95),
        item("no", "no", kind="rubric", score=0.25, scored=0.3),
        item("no", "cannot_tell", kind="rubric", score=0.0),
        item("no", "no", kind="rubric", scored=0.2),
    )
    scores = made.kinds["rubric"].scores
    assert scores is not None
    assert (scores.items, scores.spearman) == (3, 0.5)
    assert scores.kendall == pytest.approx(1 / 3)
    assert scores.error == pytest.approx((0.1 + 0.2 + 0.05) / 3)
    assert scores.bias == pytest.approx((-0.1 + 0.2 + 0.05) / 3)


def said(answer: str, judge: str = "default", **more: Any) -> Judgement:
    return Judgement(criterion="c", digest="1:c", answer=answer, votes=(Vote(judge=judge, answer=answer),), **more)


def test_what_a_judge_said_is_shown_with_how_far_it_can_be_trusted() -> None:
    yes = [item("yes", "yes")] * 18 + [item("yes", "no")] * 2
    no = [item("no", "no")] * 16 + [item("no", "yes")] * 4
    judgements = (
        [said("yes")] * 62 + [said("no", unstable=True)] * 37 + [said("cannot_tell"), said("none"), said("no", "other")]
    )
    first, second = lines_of_rates(rates_of(judgements, {"default": made_of(*yes, *no)}))
    assert first == (
        "judged by default: 62 of 101 statements yes, 1 cannot tell, 1 without a verdict, 37 unstable; "
        "kappa 0.70 (0.48 to 0.92), corrected for its errors 60% (38% to 84%)"
    )
    assert second == "judged by other: 0 of 1 statement yes; not calibrated"


def test_scores_are_not_corrected_by_what_people_said_of_statements() -> None:
    assert rates_of([said("yes", score=0.9)], {}) == []


# ---- the command


def labelled(repo: Repo, *rows: tuple[str, str], name: str = "hand") -> None:
    lines = [
        f'  - {{criterion: It names a refund., output: "{output}", label: {label}, by: ada}}' for output, label in rows
    ]
    repo.write(f"labels/{name}.yaml", "schema: 1\nlabels:\n" + "\n".join(lines) + "\n")


GOOD = [("A refund.", "yes"), ("The refund is yours.", "yes"), ("A kettle.", "no"), ("No.", "no")]


@pytest.fixture
def court(repo: Repo) -> Repo:
    """A repository with a judge that looks for the last word of the statement, and a case that it gates."""
    repo.write("judge.py", LAST_WORD)
    lines = (repo.root / "agenteval.yaml").read_text(encoding="utf-8")
    repo.write("agenteval.yaml", f"{lines}judges:\n  default: {{command: [{sys.executable}, judge.py], retries: 0}}\n")
    repo.write(
        "cases/says-hello.yaml",
        "schema: 1\nid: says-hello\ntier: smoke\ninput: A refund.\ncriteria: [{text: It names a refund., gate: true}]\n",
    )
    return repo


def test_a_judge_that_agrees_may_gate_and_the_note_goes(court: Repo) -> None:
    labelled(court, *GOOD)
    done = court.run("calibrate")
    assert done.code == 0, done
    assert "kappa      1.00" in done.out
    assert "asked again, the same answer: 4 of 4" in done.out
    made = json.loads((court.root / "calibrations" / "default.json").read_text(encoding="utf-8"))
    assert (made["labels"], made["kappa"], made["agreement"]) == (4, 1.0, 1.0)
    run = court.run("run")
    assert run.code == 0
    assert "notes" not in court.attempts()[0]
    trust = "judged by default: 1 of 1 statement yes; kappa 1.00 (1.00 to 1.00), corrected for its errors 100%"
    assert trust in run.out
    assert trust in court.run("show", "--run", "latest").out


def test_labels_are_read_whichever_of_its_endings_a_yaml_file_has(court: Repo) -> None:
    labelled(court, *GOOD)
    labelled(court, ("Here is the refund.", "yes"), name="more")
    (court.root / "labels" / "hand.yaml").rename(court.root / "labels" / "hand.yml")
    (court.root / "labels" / "more.yaml").rename(court.root / "labels" / "more.YAML")
    assert "against 5 labels" in court.run("calibrate", "--no-probes").out


def test_a_judge_that_does_not_agree_may_not_gate(court: Repo) -> None:
    labelled(court, ("A refund.", "no"), ("The refund is yours.", "yes"), ("A kettle.", "yes"), ("No.", "no"))
    done = court.run("calibrate")
    assert done.code == 1
    assert "below 0.6: may not gate" in done.out
    assert "labels/hand.yaml#1: people say no, the judge yes: looked for refund" in done.out
    refused = court.run("run")
    assert (refused.code, court.runs()) == (2, [])
    assert "judge 'default' agrees with people at kappa 0.00, below 0.6, and may not gate" in refused.err


def test_a_judge_that_was_changed_is_no_longer_calibrated(court: Repo) -> None:
    labelled(court, *GOOD)
    assert court.run("calibrate").code == 0
    court.write("judge.py", LAST_WORD + "\n# another judge\n")
    assert court.run("run").code == 0
    assert "is not calibrated as it is now" in court.attempts()[0]["notes"][0]


def test_a_stamp_is_no_judge(court: Repo) -> None:
    """One that says yes to everything agrees with most of the labels, and has a kappa of 0."""
    court.write("judge.py", f"{HEAD}print(json.dumps(dict(nonce=q['nonce'], reason='fine', answer='yes')))\n")
    labelled(court, ("A.", "yes"), ("B.", "yes"), ("C.", "yes"), ("D.", "yes"), ("E.", "no"))
    done = court.run("calibrate", "--no-probes", "--json")
    assert (done.code, done.json["agreement"], done.json["kappa"]) == (1, 0.8, 0.0)


def test_a_judge_that_likes_length_is_found_out(court: Repo) -> None:
    court.write(
        "judge.py",
        f"{HEAD}a = 'yes' if len(q['evidence']['answer']) > 20 else 'no'\nprint(json.dumps(dict(nonce=q['nonce'], reason='r', answer=a)))\n",
    )
    labelled(court, ("A refund, my friend, yes.", "yes"), ("No, not today.", "no"))
    done = court.run("calibrate", "--json")
    assert done.json["longer"] == [1, 2]
    assert done.json["to_yes"] == 1


def test_a_judge_that_goes_by_position_is_found_out(court: Repo) -> None:
    court.write(
        "judge.py",
        f"{HEAD}a = 'yes' if list(q['evidence'])[-1] == 'answer' else 'no'\nprint(json.dumps(dict(nonce=q['nonce'], reason='r', answer=a)))\n",
    )
    labelled(court, *GOOD)
    assert court.run("calibrate", "--json").json["turned"] == [4, 4]


def test_without_a_verdict_nothing_is_kept(court: Repo) -> None:
    court.write("judge.py", "print('Hm.')")
    labelled(court, *GOOD)
    done = court.run("calibrate")
    assert done.code == 3
    assert "the judge gave no verdict on 4 labels" in done.err
    assert not (court.root / "calibrations").exists()


def test_items_on_which_people_do_not_agree_are_left_out(court: Repo) -> None:
    labelled(court, *GOOD)
    labelled(court, ("A kettle.", "yes"), name="other")
    done = court.run("calibrate", "--json")
    assert done.json["labels"] == 3
    assert "people do not agree on 1 item" in done.err


@pytest.mark.parametrize(
    ("rows", "words"),
    [([], "labels/ has 0 labels"), ([("A refund.", "yes"), ("B refund.", "yes")], "both yes and no are needed")],
)
def test_labels_of_one_kind_tell_nothing(rows: Any, words: str, court: Repo) -> None:
    if rows:
        labelled(court, *rows)
    done = court.run("calibrate")
    assert done.code == 2
    assert words in done.err


# Rates by how many exclamation marks there are; finds the claims by full stops and calls those with a digit supported.
CRITIC = f"""{HEAD}
keys = q["schema"]["properties"]
said = {{"nonce": q["nonce"]}}
if "rating" in keys:
    said |= {{"reason": "counted", "rating": min(5, 1 + q["evidence"]["answer"].count("!"))}}
elif "items" in keys:
    said |= {{"items": [text for text in q["evidence"]["answer"].split(". ") if text]}}
else:
    said |= {{"verdicts": [{{"item": n, "reason": "r", "answer": "yes" if any(c.isdigit() for c in line.split(". ", 1)[1]) else "no"}}
                          for n, line in enumerate(q["evidence"]["items"].splitlines(), start=1)]}}
print(json.dumps(said))
"""
RATED = """schema: 2
labels:
  - {criterion: Loud., scale: [1, 5], output: Yes!!!!, label: yes, score: 5}
  - {criterion: Loud., scale: [1, 5], output: Well!!, label: yes, score: 4}
  - {criterion: Loud., scale: [1, 5], output: Hm., label: no, score: 2}
  - {criterion: Loud., scale: [1, 5], threshold: 0.75, output: Oh!!, label: no, score: 3}
  - {metric: faithfulness, threshold: 0.5, output: 30 days. 5 euros, retrieval_context: [Doc.], label: yes, score: 1}
  - {metric: faithfulness, threshold: 0.5, output: For ever. Free, retrieval_context: [Doc.], label: no, score: 0.5}
"""


def test_ratings_and_metrics_are_held_against_people_as_well(court: Repo) -> None:
    court.write("judge.py", CRITIC)
    court.write("labels/rated.yaml", RATED)
    done = court.run("calibrate", "--no-probes")
    assert done.code == 0, done
    lines = done.out.splitlines()
    assert lines[0] == "judge default against 6 labels"
    assert "faithfulness: 2 labels, agreement 100%, kappa 1.00, 1.00 to 1.00" in lines
    assert (
        "faithfulness, 2 scores: Spearman 1.00, -1.00 to 1.00; Kendall 1.00, -1.00 to 1.00; "
        "off by 0.25 of 1, 0.25 too low"
    ) in lines
    assert "rubric: 4 labels, agreement 100%, kappa 1.00, 1.00 to 1.00" in lines
    (line,) = [line for line in lines if line.startswith("rubric, 4 scores: Spearman 0.95")]
    assert line.endswith("off by 0.12 of 1, 0.12 too low")
    made = json.loads((court.root / "calibrations" / "default.json").read_text(encoding="utf-8"))
    assert made["format"] == 2
    assert made["kinds"]["rubric"]["scores"]["items"] == 4


def test_a_kind_on_which_the_judge_is_bad_may_not_gate_whatever_the_others(court: Repo) -> None:
    court.write("judge.py", CRITIC)
    wrong = RATED.replace("30 days. 5 euros", "X. Y").replace("For ever. Free", "1. 2. 3")
    rubrics = "".join(
        f"  - {{criterion: Loud., scale: [1, 5], output: {n}{signs}, label: {label}}}\n"
        for n in range(8)
        for signs, label in (("!!!", "yes"), (".", "no"))
    )
    court.write("labels/rated.yaml", wrong + rubrics)
    done = court.run("calibrate", "--no-probes")
    assert done.code == 1
    assert "may gate" in done.out.splitlines()[2]
    assert "faithfulness: 2 labels, agreement 0%, kappa -1.00, -1.00 to -1.00; may not gate" in done.out


def test_what_is_labelled_in_a_run_can_be_read_with_all_that_was_judged(court: Repo) -> None:
    court.write("judge.py", CRITIC)
    criteria = (
        "criteria: [{text: Loud., scale: [1, 5], threshold: 0.75}, {metric: coherence}, {metric: tool_selection}]"
    )
    calls = "trajectory: {required: [get_order]}"
    court.case(
        "rated", f"schema: 1\nid: {{id}}\ntier: smoke\ninput: Hm.\noutcome: [{{contains: Hm}}]\n{criteria}\n{calls}\n"
    )
    (court.root / "cases" / "says-hello.yaml").unlink()
    court.run("run")
    repository = open_repository(court.root)
    run = read_run(court.runs()[-1])
    items = items_of(run, {item.case.id: item.case for item in load(repository).cases})
    assert [words_of(item.criterion) for item in items] == [
        "Loud.",
        "coherence, rating from 1 to 5, brought to 0..1: at least 0.7",
    ]
    entries = [entry_of(item, "no", "r", "ada") for item in items]
    assert len({key_of(entry) for entry in entries}) == 2
    court.write("labels/made.yaml", document({"schema": 2, "labels": entries}))
    labels = read_labels(court.root / "labels")
    assert [(label.kind, label.criterion.threshold) for label in labels] == [("rubric", 0.75), ("coherence", None)]
    assert [label.material for label in labels] == [
        replace(item.material, turns=label.material.turns, expected_calls=None)
        for item, label in zip(items, labels, strict=True)
    ]


def test_what_cannot_be_measured_is_neither_yes_nor_no(court: Repo) -> None:
    """The judge finds no statements, and no opinions: of the first nothing can be told, of the second none is biased."""
    court.write("judge.py", f"{HEAD}print(json.dumps(dict(nonce=q['nonce'], items=[])))\n")
    labels = ["metric: answer_relevancy, output: A., label: yes", "metric: bias, output: B., label: no"]
    court.write("labels/two.yaml", "schema: 2\nlabels:\n" + "".join(f"  - {{{label}}}\n" for label in labels))
    kinds = court.run("calibrate", "--no-probes", "--json").json["kinds"]
    assert kinds["answer_relevancy"]["table"]["yes"] == {"yes": 0, "no": 0, "cannot_tell": 1}
    assert kinds["bias"]["table"]["no"] == {"yes": 1, "no": 0, "cannot_tell": 0}


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("criterion: A., score: 1", "a plain statement has no score; give a scale or a metric"),
        ("criterion: A., threshold: 0.5", "a plain statement has no threshold"),
        ("criterion: A., scale: [5, 1]", "does not go from the lowest rating to the highest"),
        ("criterion: A., scale: [1, 5], score: 6", "6 is not between 1 and 5"),
        ("metric: bias, score: 2", "2 is not between 0 and 1"),
        ("metric: bias, criterion: A.", "a label is of a statement or of a metric, not of both"),
        ("metric: biass", "no metric 'biass'; did you mean 'bias'?"),
        ("metric: faithfulness", "faithfulness needs retrieval_context, which this label does not have"),
        ("metric: tool_selection", "no judge is asked for tool_selection"),
        ("metric: bias, options: {goals: [A.]}", "bias has no option 'goals'; it has none"),
        ("criterion: A., options: {}", "only metrics have options"),
        ("note: nothing", "criterion"),
    ],
)
def test_labels_that_no_judge_can_be_held_against_are_refused(label: str, words: str, court: Repo) -> None:
    court.write("labels/bad.yaml", f"schema: 2\nlabels:\n  - {{{label}, output: B., label: yes}}\n")
    done = court.run("calibrate")
    assert done.code == 2
    assert words in done.err
    assert "labels/bad.yaml:3" in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema: 1\nlabels: [{criterion: A., output: B., label: maybe}]\n", "labels/bad.yaml:2:45"),
        ("schema: 1\nlabels: [{criterion: A., label: yes}]\n", "output"),
        ("schema: 1\nlabels: [{criterion: A., output: B., label: yes, labl: no}]\n", "labl"),
        ("schema: 1\n", "labels"),
    ],
)
def test_broken_labels_are_said_where_they_are(text: str, words: str, court: Repo) -> None:
    court.write("labels/bad.yaml", text)
    done = court.run("calibrate")
    assert done.code == 2
    assert words in done.err


# ---- labels from a run


def test_a_labels_file_that_cannot_be_read_is_named(court: Repo) -> None:
    court.write("labels/more.yaml/a.txt", "a folder with an odd name")
    (court.root / "labels" / "gone.yaml").symlink_to("nowhere")
    done = court.run("calibrate")
    assert done.code == 2, done
    assert "labels/gone.yaml cannot be read: No such file or directory" in done.err


def test_labels_are_made_with_one_keypress_each(court: Repo) -> None:
    court.case(
        "second",
        "schema: 1\nid: {id}\ntier: smoke\ninput: A kettle.\noutcome: [{contains: kettle}]\ncriteria: It names a refund.\n",
    )
    assert court.run("run").code == 0
    terminal = Terminal(str(AGENTEVAL), "review", "--label", "latest", cwd=court.root, env={**court.env, "USER": "ada"})
    for key, shown in (("x", "(1 of 2)"), ("y", "(1 of 2)"), ("n", "(2 of 2)")):
        terminal.wait_for(lambda: shown in terminal.text)  # noqa: B023  # waited for within the turn
        os.write(terminal._ours, key.encode())
    assert terminal.ended() == 0
    (path,) = (court.root / "labels").iterdir()
    labels = read_labels(path.parent)
    assert {(label.material.output, label.label, label.by) for label in labels} in (
        {("A refund.", "yes", "ada"), ("A kettle.", "no", "ada")},
        {("A refund.", "no", "ada"), ("A kettle.", "yes", "ada")},
    )
    from agenteval_cli import yaml_reader

    made = yaml_reader.read(path.name, path.read_bytes()).document
    assert made is not None
    Draft202012Validator(schemas.load("labels")).validate(made.data)
    done = court.run("calibrate", "--no-probes", "--again", "0", "--json")
    assert done.json["labels"] == 2


def test_what_was_stopped_is_gone_on_with(court: Repo) -> None:
    assert court.run("run").code == 0
    for key, left in (("q", True), ("y", True), ("", False)):
        terminal = Terminal(
            str(AGENTEVAL), "review", "--label", "latest", cwd=court.root, env={**court.env, "USER": "ada"}
        )
        if left:
            terminal.wait_for(lambda: "q stop" in terminal.text)  # noqa: B023  # the same
            os.write(terminal._ours, key.encode())
        assert terminal.ended() == 0
    assert len(list((court.root / "labels").iterdir())) == 1


def test_without_a_terminal_no_labels_are_made(court: Repo) -> None:
    done = court.run("review", "--label", "latest")
    assert done.code == 2
    assert "write labels/*.yaml by hand" in done.err


def test_no_judge_to_calibrate(repo: Repo) -> None:
    done = repo.run("calibrate")
    assert (done.code, done.err.strip()) == (2, "agenteval: agenteval.yaml has no judges")
    assert not Path(repo.root, "calibrations").exists()
