"""Greetings, thanks, and messages that ask for nothing the desk does."""

from support_desk.answers import Answer, Desk
from support_desk.asking import Ask


def greeting(desk: Desk, _ask: Ask) -> Answer:
    return Answer(desk.phrases.say("greeting"))


def thanks(desk: Desk, _ask: Ask) -> Answer:
    return Answer(desk.phrases.say("thanks"))


def unclear(desk: Desk, _ask: Ask) -> Answer:
    return Answer(desk.phrases.say("unclear"))


def declined(desk: Desk, _ask: Ask) -> Answer:
    return Answer(desk.phrases.say("declined"))


def injection(desk: Desk, _ask: Ask) -> Answer:
    desk.toolbox.note("THOUGHT", "the message tries to change my instructions")
    return Answer(desk.phrases.say("injection"), {"error": "refused"})
