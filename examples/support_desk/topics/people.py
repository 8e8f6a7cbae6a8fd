"""Handing over to a colleague."""

from support_desk.answers import Answer, Desk, failure
from support_desk.asking import Ask
from support_desk.toolbox import Failed

SUMMARY_LENGTH = 160


def human(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "request", "normal", "handed_over")


def angry(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "complaint", "high", "handed_over_sorry")


def trouble(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "technical", "high", "handed_over_technical")


def hand_over(desk: Desk, ask: Ask, topic: str, priority: str, phrase: str) -> Answer:
    result = desk.toolbox.call(
        "escalate",
        topic=topic,
        priority=priority,
        summary=ask.message[:SUMMARY_LENGTH],
        order_id=ask.order,
    )
    if isinstance(result, Failed):
        return failure(desk, result.reason)
    ticket = result.value["ticket_id"]
    return Answer(desk.phrases.say(phrase, ticket=ticket, order=ask.order), {"ticket": ticket})
