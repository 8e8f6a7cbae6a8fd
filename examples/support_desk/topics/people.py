"""Handing over to a colleague."""

from support_desk.answers import Answer, Desk, failure
from support_desk.asking import Ask
from support_desk.memory import said_in
from support_desk.toolbox import Failed

SUMMARY_LENGTH = 160
STUCK = ("unclear", "need_number", "failed_not_found", "failed_no_answer", "failed_payments_down")


def human(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "request", "normal", "handed_over")


def angry(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "complaint", "high", "handed_over_sorry")


def trouble(desk: Desk, ask: Ask) -> Answer:
    return hand_over(desk, ask, "technical", "high", "handed_over_technical")


def if_stuck(desk: Desk, ask: Ask, answer: Answer) -> Answer:
    """The answer, or a colleague instead where it is the second in a row that helps nobody."""
    last_two = [*desk.said[-1:], *said_in(answer.text)[:1]]
    is_stuck = [said.phrase in STUCK for said in last_two] == [True, True]
    if is_stuck and desk.playbook.people.hand_over_second_failure:
        return hand_over(desk, ask, "unresolved", "high", "handed_over_sorry")
    return answer


def hand_over(desk: Desk, ask: Ask, topic: str, priority: str, phrase: str) -> Answer:
    if earlier := desk.recall(phrase):
        return with_colleague(desk, earlier.values["ticket"])
    result = desk.toolbox.call(
        "escalate",
        topic=topic,
        priority=priority,
        summary=ask.reading.message[:SUMMARY_LENGTH],
        order_id=ask.order,
    )
    if isinstance(result, Failed):
        return failure(desk, result.reason)
    ticket = result.value["ticket_id"]
    return Answer(desk.phrases.say(phrase, ticket=ticket, order=ask.order), {"ticket": ticket})


def with_colleague(desk: Desk, ticket: str) -> Answer:
    return Answer(desk.phrases.say("with_colleague", ticket=ticket), {"ticket": ticket})
