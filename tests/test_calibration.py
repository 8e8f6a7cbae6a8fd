"""Calibration: a judge held against people, what that says of its numbers, and whether it may gate."""

from __future__ import annotations

import json
import math
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from build import steady
from conftest import AGENTEVAL, Repo
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from judge_programs import HEAD, LAST_WORD
from terminal import Terminal

from agenteval_cli import schemas
from agenteval_cli.agreement import cohens_kappa, corrected_rate, kappa_interval, true_rate
from agenteval_cli.calibration import Answered, Calibration, calibration_of
from agenteval_cli.cli.judged_view import lines_of_rates
from agenteval_cli.judged_rates import rates_of
from agenteval_cli.judgement import Judgement, Vote

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
    from agenteval_cli.labels import read_labels

    labels = read_labels(path.parent)
    assert {(label.material.output, label.label, label.by) for label in labels} in (
        {("A refund.", "yes", "ada"), ("A kettle.", "no", "ada")},
        {("A refund.", "no", "ada"), ("A kettle.", "yes", "ada")},
    )
    from agenteval_cli import yaml_reader

    document = yaml_reader.read(path.name, path.read_bytes()).document
    assert document is not None
    Draft202012Validator(schemas.load("labels")).validate(document.data)
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
