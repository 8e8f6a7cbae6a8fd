"""What topics work with: the desk, an order as looked up, and the answer they give."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from support_desk.asking import Ask
from support_desk.memory import Said
from support_desk.playbook import Playbook
from support_desk.protocol import Json
from support_desk.toolbox import Done, Failed, Toolbox
from support_desk.wording import Phrases


@dataclass(frozen=True, slots=True)
class Desk:
    playbook: Playbook
    toolbox: Toolbox
    phrases: Phrases
    customer: Json
    said: tuple[Said, ...]

    def recall(self, phrase: str, **values: str) -> Said | None:
        """The last answer that said this; None where none did, as far as the desk remembers."""
        told = (said for said in reversed(self.said) if said.phrase == phrase)
        return next((said for said in told if values.items() <= said.values.items()), None)


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    facts: Json = field(default_factory=dict)


Topic = Callable[[Desk, Ask], Answer]


@dataclass(frozen=True, slots=True)
class Money:
    amount: str
    currency: str

    def __str__(self) -> str:
        return f"{self.amount} {self.currency}"


@dataclass(frozen=True, slots=True)
class Order:
    number: str
    customer: str | None
    total: Decimal
    currency: str
    status: str
    paid: bool
    refunded: bool
    days: int | None
    delivery_on: str | None
    items: list[Json]
    charges: list[str]


def order_from(number: str, record: Json) -> Order:
    return Order(
        number=number,
        customer=record.get("customer"),
        total=Decimal(str(record.get("total", "0"))),
        currency=record.get("currency", "EUR"),
        status=record.get("status", "new"),
        paid=record.get("paid", True),
        refunded=record.get("refunded", False),
        days=record.get("days_since_purchase"),
        delivery_on=record.get("delivery_on"),
        items=record.get("items", []),
        charges=record.get("charges", []),
    )


def order_for(desk: Desk, ask: Ask) -> Order | Answer:
    """The order the customer speaks of, or the answer that says why we cannot speak of it."""
    if ask.order is None:
        return Answer(desk.phrases.say("need_number"))
    looks = 2 if desk.playbook.orders.double_check else 1
    results = [desk.toolbox.call("get_order", order_id=ask.order) for _ in range(looks)]
    match results[-1]:
        case Failed(reason):
            return failure(desk, reason, order=ask.order)
        case Done(record):
            return _if_theirs(desk, order_from(ask.order, record))


def failure(desk: Desk, reason: str, **values: Any) -> Answer:
    return Answer(desk.phrases.say(f"failed_{reason}", **values), {"error": reason})


def _if_theirs(desk: Desk, order: Order) -> Order | Answer:
    owner, asking = order.customer, desk.customer.get("id")
    if desk.playbook.identity.check_owner and None not in (owner, asking) and owner != asking:
        desk.toolbox.note("THOUGHT", "this order belongs to another customer")
        return failure(desk, "not_yours")
    return order
