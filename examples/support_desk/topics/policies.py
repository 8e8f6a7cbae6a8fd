"""Questions about what the shop promises: returns, warranty, shipping."""

from support_desk.answers import Answer, Desk, failure
from support_desk.asking import Ask
from support_desk.habits import happens
from support_desk.protocol import Json
from support_desk.toolbox import Done

# What anyone at the desk knows without opening the handbook.
KNOWN: Json = {"days": 30, "payout_days": 5}


def policy_for(desk: Desk, topic: str) -> Json:
    result = desk.toolbox.call("get_policy", topic=topic)
    return dict(result.value) if isinstance(result, Done) else KNOWN


def returns_policy(desk: Desk, _ask: Ask) -> Answer:
    days = policy_for(desk, "returns")["days"]
    return Answer(desk.phrases.say("returns_policy", days=days), {"days": days})


def warranty(desk: Desk, ask: Ask) -> Answer:
    habits = desk.playbook.habits
    if happens("the warranty from memory", ask.seed, habits.warranty_from_memory_percent):
        desk.toolbox.note("THOUGHT", "I know this one by heart")
        months = habits.remembered_warranty_months
    else:
        result = desk.toolbox.call("get_policy", topic="warranty")
        if not isinstance(result, Done):
            return failure(desk, result.reason)
        months = result.value["months"]
    return Answer(desk.phrases.say("warranty", months=months), {"months": months})


def shipping(desk: Desk, _ask: Ask) -> Answer:
    result = desk.toolbox.call("get_policy", topic="shipping")
    if not isinstance(result, Done):
        return failure(desk, result.reason)
    days, fee = result.value["days"], result.value["fee"]
    return Answer(desk.phrases.say("shipping", days=days, fee=fee), {"days": days, "fee": fee})
