"""From votes to judgements to checks: pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from agenteval_cli.criteria import MEAN, UNANIMOUS, Criterion
from agenteval_cli.finding import ERROR, FAILED, NO_EVIDENCE, PASSED, CheckResult
from agenteval_cli.judgement import CANNOT_TELL, NO, NONE, YES, Judgement, Vote
from agenteval_cli.metrics.interface import Metric

RUBRIC_THRESHOLD = 0.5
STATEMENT = "statement"  # the kind of a criterion that is neither a rubric nor a metric
RUBRIC = "rubric"
_RESULTS = {YES: PASSED, NO: FAILED, CANNOT_TELL: NO_EVIDENCE, NONE: ERROR}


def metric_of(criterion: Criterion) -> Metric | None:
    """The metric that the criterion names. Raises KeyError where there is none of that name."""
    if criterion.metric is None:
        return None
    from agenteval_cli.metrics.registry import METRICS

    return METRICS[criterion.metric]


def kind_of(criterion: Criterion) -> str:
    """STATEMENT, RUBRIC, or the name of its metric: what judges are held against people by."""
    return criterion.metric or (STATEMENT if criterion.scale is None else RUBRIC)


def answer_to(criterion: Criterion, score: float) -> str:
    """yes or no for one score: what the threshold makes of it."""
    threshold = threshold_of(criterion)
    metric = metric_of(criterion)
    holds = metric.holds(score, threshold) if metric else score >= threshold
    return YES if holds else NO


def threshold_of(criterion: Criterion) -> float:
    """The criterion's own threshold, else the metric's, else the middle of the scale."""
    if criterion.threshold is not None:
        return criterion.threshold
    metric = metric_of(criterion)
    return metric.threshold if metric else RUBRIC_THRESHOLD


def judgement_of(criterion: Criterion, votes: Sequence[Vote]) -> Judgement:
    """What the votes come to by the criterion's rule. Every vote that was asked for is counted, given or not."""
    scores = [vote.score for vote in votes if vote.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    answers = Counter(vote.answer for vote in votes)
    answer = _answer(criterion, answers, mean if len(scores) == len(votes) else None)
    return Judgement(
        criterion=criterion.name,
        digest=criterion.digest,
        answer=answer,
        reason=_reason(answer, votes, answers),
        score=mean,
        unstable=len(answers) > 1,
        votes=tuple(votes),
    )


def checked(criteria: Sequence[Criterion], judgements: Sequence[Judgement]) -> Iterator[CheckResult]:
    """Each criterion as a check; without `gate` it is a warning, which only reports."""
    by_name = {judgement.criterion: judgement for judgement in judgements}
    for criterion in criteria:
        judgement = by_name.get(criterion.name)
        if judgement is not None and judgement.digest != criterion.digest:
            judgement = None
        yield _check(criterion, judgement)


def _answer(criterion: Criterion, answers: Counter[str], mean: float | None) -> str:
    total = answers.total()
    if criterion.rule == MEAN and mean is not None:
        return answer_to(criterion, mean)
    needed = total if criterion.rule in (UNANIMOUS, MEAN) else total // 2 + 1
    agreed = next((answer for answer, count in answers.items() if count >= needed), None)
    if agreed is not None:
        return agreed
    return NONE if answers[NONE] else CANNOT_TELL  # a vote that did not come might have decided


def _reason(answer: str, votes: Sequence[Vote], answers: Counter[str]) -> str:
    """The reason of the first vote for the answer, and how the votes fell where there are several."""
    first = next((vote.reason for vote in votes if vote.answer == answer), "")
    if len(votes) == 1:
        return first
    fell = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in answers.most_common())
    return f"{fell}; {first}" if first else f"{fell}: the votes do not agree"


def _check(criterion: Criterion, judgement: Judgement | None) -> CheckResult:
    metric = metric_of(criterion)
    score = judgement.score if judgement else None
    return CheckResult(
        name=criterion.name,
        part=metric.part if metric else "outcome",
        result=_RESULTS[judgement.answer] if judgement else NO_EVIDENCE,
        message=_message(judgement),
        expected=_expected(criterion),
        actual=None if score is None else round(score, 4),
        severity="error" if criterion.gate else "warning",
        note="unstable: the votes parted" if judgement and judgement.unstable else "",
        scores=None if score is None else {"score": score},
        turn=None if criterion.turn is None else criterion.turn + 1,
    )


def _message(judgement: Judgement | None) -> str:
    if judgement is None:
        return "not judged"
    if judgement.answer == YES:
        return ""
    said = {NO: "the judge says no", CANNOT_TELL: "the judge cannot tell", NONE: "no verdict"}[judgement.answer]
    return f"{said}: {judgement.reason}" if judgement.reason else said


def _expected(criterion: Criterion) -> str:
    metric = metric_of(criterion)
    if metric is None and criterion.scale is None:
        return criterion.text
    sign = "at most" if metric and metric.lower_is_better else "at least"
    return f"{criterion.metric or criterion.text}: {sign} {threshold_of(criterion):g}"
