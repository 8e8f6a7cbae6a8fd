"""The desk: reads the conversation, lets the topics answer, and makes the response."""

import json
from collections.abc import Sequence

from support_desk.answers import Answer, Desk
from support_desk.asking import asks_in
from support_desk.memory import Entry, Said, history_of
from support_desk.offices import Office
from support_desk.playbook import Playbook
from support_desk.protocol import Json, Request
from support_desk.toolbox import Toolbox
from support_desk.topics import TOPICS
from support_desk.topics.people import if_stuck
from support_desk.usage import cost_of, usage_of
from support_desk.wording import language_of, load_phrases, normalised

MODEL = "rules-v1"


def respond(request: Request, playbook: Playbook, office: Office) -> Json:
    request = request.since(playbook.memory.customer_messages)
    history = history_of(request.messages)
    desk = _desk(request, playbook, office, history)
    output = _output(desk, request, _answers(desk, request, history))
    calls = desk.toolbox.calls
    usage = usage_of(request, playbook.prompt, output, calls)
    state = office.state()
    return {
        "output": output,
        "tool_calls": calls,
        "reasoning": desk.toolbox.reasoning,
        "usage": usage,
        "cost": cost_of(usage, playbook.prices),
        "model": MODEL,
    } | ({} if state is None else {"state": state})


def _desk(request: Request, playbook: Playbook, office: Office, history: Sequence[Entry]) -> Desk:
    customer = request.state.get("customer")
    language = language_of(reversed(request.user_texts))
    return Desk(
        playbook=playbook,
        toolbox=Toolbox(office, request.tools),
        phrases=load_phrases(language, short=playbook.style.short, seed=request.seed),
        customer=customer if isinstance(customer, dict) else {},
        said=tuple(entry for entry in history if isinstance(entry, Said)),
    )


def _answers(desk: Desk, request: Request, history: Sequence[Entry]) -> list[Answer]:
    asks = asks_in(history, desk.playbook, request.seed)
    plan = ", then ".join(ask.intent for ask in asks)
    desk.toolbox.note("PLAN", f"answer: {plan}")
    return [if_stuck(desk, ask, TOPICS[ask.intent](desk, ask)) for ask in asks]


def _output(desk: Desk, request: Request, answers: list[Answer]) -> str:
    asked = normalised(request.user_texts[-1])
    if "json" in normalised(request.system_prompt):
        return _as_json(answers, normalised(request.system_prompt))
    if "json" not in asked:
        return "\n\n".join(answer.text for answer in answers)
    preface = desk.phrases.say("json_preface") + "\n" if desk.playbook.style.json_preface else ""
    return preface + _as_json(answers, asked)


def _as_json(answers: list[Answer], asked: str) -> str:
    """The facts whose names were asked for; all of them when none was named."""
    facts = {name: fact for answer in answers for name, fact in answer.facts.items()}
    named = {name: fact for name, fact in facts.items() if name in asked}
    return json.dumps(named or facts or {"message": answers[0].text}, ensure_ascii=False)
