"""What an attempt cost, and whom: the agent, the judges of its answer, and the user that was simulated. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from agenteval_cli.judgement import Judgement
from agenteval_cli.records import AttemptRecord
from agenteval_cli.talk import UserCall
from agenteval_cli.units import amount


def spent_on(attempt: AttemptRecord) -> Decimal:
    """All that is known to have been spent on an attempt; what nobody told adds nothing.

    An answer of a judge that was kept from an earlier run was paid for then.
    """
    return total([attempt.cost, attempt.user_cost, *_of_judges(attempt.judgements)])


def cost_of_user(calls: Iterable[UserCall]) -> str | None:
    """What a simulated user told of its cost, as decimal text; None where it told nothing."""
    told = [call.cost for call in calls if call.cost is not None]
    return f"{total(told):f}" if told else None


def total(costs: Iterable[str | None]) -> Decimal:
    """The sum of those that are amounts."""
    return sum((known for cost in costs if cost is not None and (known := amount(cost)) is not None), Decimal(0))


def _of_judges(judgements: Iterable[Judgement]) -> list[str | None]:
    return [call.cost for judgement in judgements for vote in judgement.votes for call in vote.calls if not call.cached]
