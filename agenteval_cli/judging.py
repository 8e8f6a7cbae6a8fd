"""Judges the criteria of an attempt that was answered: the I/O between the agent's answer and its verdict."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from agenteval_cli.asking import NoAnswerError
from agenteval_cli.bars import notes
from agenteval_cli.bench import Bench
from agenteval_cli.caches import FOLDER
from agenteval_cli.calibration import Calibration
from agenteval_cli.case import Case, OutcomeCheck
from agenteval_cli.checks.similarity import to_embed
from agenteval_cli.criteria import Criterion, criteria_of
from agenteval_cli.endings import Answered
from agenteval_cli.judge_config import Endpoint, Judging
from agenteval_cli.judged import answer_to, judgement_of, metric_of
from agenteval_cli.judgement import CANNOT_TELL, NONE, Call, Judgement, Vote
from agenteval_cli.judges import EndpointJudge, ReadyJudge, judge_for
from agenteval_cli.material import Material, blocks_of_whole, material_of
from agenteval_cli.metrics.interface import EMBEDDINGS, JUDGE, Means, Measured, Metric, NotMeasurableError, rating
from agenteval_cli.metrics.semantic_similarity import cosine
from agenteval_cli.patterns import PatternTimeoutError
from agenteval_cli.process import Processes
from agenteval_cli.questions import NoVerdictError, Question, verdict_keys
from agenteval_cli.redaction import Redactor
from agenteval_cli.transcript import Transcript

Came = queue.SimpleQueue[tuple[int, Vote | BaseException]]
_LOOK = 0.1  # seconds between looks at whether the run was stopped
_STOPPED = "the run was stopped before the judge answered"
TASK = "Is this statement about the answer true?"
TASK_OF_DIALOGUE = "Is this statement about what the agent said and did in the conversation true?"


class Court(msgspec.Struct, frozen=True, kw_only=True):
    """Who judges: what agenteval.yaml says, and of that what the cases need, made ready.

    `calibrations` are those of judges that are still what they were; `root` is the repository, in whose cache answers
    are kept where a judge says so.
    """

    judging: Judging = Judging()
    judges: dict[str, ReadyJudge] = {}
    embeddings: Endpoint | None = None
    embeddings_key: str | None = None
    calibrations: dict[str, Calibration] = {}
    root: Path | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must be masked in all that is written."""
        keys = (self.embeddings_key,) if self.embeddings_key else ()
        return (*(secret for judge in self.judges.values() for secret in judge.secrets), *keys)


class Ballot(msgspec.Struct, frozen=True):
    """A vote to be given on one criterion. Another number asks the same past the cache.

    `turned` shows the evidence in reverse order.
    """

    criterion: Criterion
    material: Material
    number: int = 0
    turned: bool = False

    def put(self, question: Question) -> Question:
        return msgspec.structs.replace(question, blocks=question.blocks[::-1]) if self.turned else question


class Judges:
    """The judges of one run. `judge` may be called from many threads at once; close it in the end."""

    def __init__(self, court: Court, processes: Processes, redactor: Redactor) -> None:
        cache = None if court.root is None else court.root / FOLDER / "judgements"
        self._cancel = processes.cancel
        self._court = court
        self._default = court.judging.default
        self._benches = {
            name: Bench(ready, judge_for(ready, processes), processes.cancel, redactor, cache)
            for name, ready in court.judges.items()
        }
        self._embedder = EndpointJudge(court.embeddings, court.embeddings_key) if court.embeddings else None
        self._redactor = redactor

    def judge(self, case: Case, answered: Answered, kept: Sequence[Judgement] = ()) -> tuple[Judgement, ...]:
        """What the judges say of each criterion of the case. Never raises for what a judge does.

        A judgement in `kept` that is still of the same criterion, and that came to an answer, is not asked for again.
        A criterion without a judge, which can only be one that reports, has none.
        """
        known = {(item.criterion, item.digest): item for item in kept if item.answer != NONE}
        asked: list[Judgement | Callable[[], Judgement]] = []
        turns = len(answered.turns) or 1
        for criterion in criteria_of(case.data):
            if criterion.turn is not None and criterion.turn >= turns:
                continue  # that turn did not come about
            found = known.get((criterion.name, criterion.digest))
            if found is not None:
                asked.append(found)
            elif self._has_judges(criterion):
                asked.append(self._asked(criterion, material_of(case, answered, criterion.turn)))
        return tuple(item if isinstance(item, Judgement) else item() for item in asked)

    def notes(self, case: Case) -> tuple[str, ...]:
        """What a reader of the case's result should know of its judges."""
        return tuple(notes(case.data, self._court.judging, self._court.calibrations))

    def scores(self, asked: Iterable[tuple[OutcomeCheck, Transcript]]) -> dict[str, float]:
        """For each check of similarity by embedding its highest cosine, by its name; nothing where it cannot be had."""
        found = {}
        for check, transcript in asked if self._embedder is not None else ():
            texts = to_embed(check, transcript)
            if texts is None:
                continue
            with contextlib.suppress(NoAnswerError, NotMeasurableError):
                answer, *expected = self._embed([texts[1], *texts[0]])
                found[check.name] = max(cosine(answer, vector) for vector in expected)
        return found

    def votes(self, judge: str, ballots: Sequence[Ballot]) -> list[Vote]:
        """The votes of one judge, in the order of the ballots."""
        bench = self._benches[judge]
        came: Came = queue.SimpleQueue()
        for place, ballot in enumerate(ballots):
            bench.do(partial(self._put_vote, ballot, bench, place, came))
        return self._gathered([None] * len(ballots), came, [judge])

    def close(self) -> None:
        """Let go of the judges, whatever they are doing."""
        for bench in self._benches.values():
            bench.close()
        if self._embedder is not None:
            self._embedder.close()

    def _asked(self, criterion: Criterion, material: Material) -> Callable[[], Judgement]:
        """Have all votes taken; what is returned waits for them."""
        metric = metric_of(criterion)
        if metric is not None and metric.by != JUDGE:
            vote = self._measured(criterion, material, metric)
            return lambda: judgement_of(criterion, [vote])
        benches = [self._benches[name] for name in self._judges_of(criterion)]
        came: Came = queue.SimpleQueue()
        places = range(len(benches) * criterion.votes)
        for place in places:
            bench = benches[place % len(benches)]
            bench.do(partial(self._put_vote, Ballot(criterion, material, place), bench, place, came))
        names = [bench.name for bench in benches]
        return lambda: judgement_of(criterion, self._gathered([None for _ in places], came, names))

    def _put_vote(self, ballot: Ballot, bench: Bench, place: int, came: Came) -> None:
        try:
            came.put((place, self._vote(ballot, bench)))
        except BaseException as fault:  # noqa: BLE001  # whoever waits for the vote raises it
            came.put((place, fault))

    def _judges_of(self, criterion: Criterion) -> tuple[str, ...]:
        return criterion.judges or ((self._default,) if self._default else ())

    def _has_judges(self, criterion: Criterion) -> bool:
        metric = metric_of(criterion)
        if metric is not None and metric.by != JUDGE:
            return metric.by != EMBEDDINGS or self._embedder is not None
        names = self._judges_of(criterion)
        return bool(names) and all(name in self._benches for name in names)

    def _gathered(self, votes: list[Vote | None], came: Came, names: Sequence[str]) -> list[Vote]:
        """The votes in the order they were asked for; where the run is stopped, without those that have not come."""
        missing = votes.count(None)
        while missing and not self._cancel.requested:
            try:
                place, vote = came.get(timeout=_LOOK)
            except queue.Empty:
                continue
            if isinstance(vote, BaseException):
                raise vote
            votes[place] = vote
            missing -= 1
        return [
            vote or Vote(judge=names[place % len(names)], answer=NONE, reason=_STOPPED)
            for place, vote in enumerate(votes)
        ]

    def _vote(self, ballot: Ballot, bench: Bench) -> Vote:
        if self._cancel.requested:
            return Vote(judge=bench.name, answer=NONE, reason=_STOPPED)
        calls: list[Call] = []
        means = Means(
            lambda question: bench.ask(ballot.put(question), ballot.number, calls),
            self._embed,
            lambda questions: bench.ask_all([ballot.put(each) for each in questions], ballot.number, calls),
        )
        vote = _answered(ballot.criterion, ballot.material, means)
        return msgspec.structs.replace(vote, judge=bench.name, calls=tuple(calls))

    def _measured(self, criterion: Criterion, material: Material, metric: Metric) -> Vote:
        """A metric that no judge is asked for."""
        vote = _answered(criterion, material, Means(_nobody, self._embed, _nobody))
        return msgspec.structs.replace(vote, judge="embeddings" if metric.by == EMBEDDINGS else "")

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._embedder is None:
            raise NoAnswerError("agenteval.yaml has no embeddings")
        return self._embedder.embed([self._redactor.text(text) for text in texts])


def _answered(criterion: Criterion, material: Material, means: Means) -> Vote:
    """A vote without its judge and its calls."""
    try:
        if criterion.metric is None and criterion.scale is None:
            answer = means.ask(question_of(criterion, material))
            return Vote(judge="", answer=answer["answer"], reason=answer["reason"])
        measured = _score(criterion, material, means)
    except NotMeasurableError as error:
        return Vote(judge="", answer=CANNOT_TELL, reason=str(error))
    except (NoVerdictError, NoAnswerError, PatternTimeoutError) as error:
        return Vote(judge="", answer=NONE, reason=str(error))
    return Vote(judge="", answer=answer_to(criterion, measured.score), reason=measured.reason, score=measured.score)


def _score(criterion: Criterion, material: Material, means: Means) -> Measured:
    metric = metric_of(criterion)
    if metric is None:
        return rating(means, criterion.text, criterion.steps, blocks_of_whole(material), criterion.scale or (1, 5))
    missing = [name for name in metric.needs if getattr(material, name) is None]
    if missing:
        words = " and ".join(name.replace("_", " ") for name in missing)
        raise NotMeasurableError(f"{metric.name} needs {words}, which the agent did not report")
    return metric.measure(material, means, criterion.options)


def question_of(criterion: Criterion, material: Material) -> Question:
    """The one question of a plain criterion."""
    how = "\n".join(("", "Steps:", *(f"- {step}" for step in criterion.steps))) if criterion.steps else ""
    task = TASK if material.dialogue is None else TASK_OF_DIALOGUE
    return Question(
        task=f"{task}\n\nStatement: {criterion.text}{how}\n\nAnswer cannot_tell where the evidence does not decide it.",
        blocks=blocks_of_whole(material),
        keys=verdict_keys(),
    )


def _nobody(_asked: Question | Sequence[Question]) -> Any:
    raise NoVerdictError("this metric asks no judge")
