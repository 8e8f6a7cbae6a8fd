"""What the customer asks for now, put together from the whole conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from support_desk.memory import Entry, Said, last_said
from support_desk.playbook import Playbook
from support_desk.reading import Reading, merged, orders_in

COURTESIES = ("greeting", "thanks")
# Questions of the desk's own, by the phrase that ends with one, and what a yes to it asks for.
OFFERS = {"failed_not_paid": "cancel", "failed_too_late": "human"}
# After these the desk still waits for something, so that any words may belong to the request before.
OPEN = ("need_", "failed_", "unclear")


@dataclass(frozen=True, slots=True)
class Ask:
    intent: str
    reading: Reading
    order: str | None
    seed: int


def asks_in(history: Sequence[Entry], playbook: Playbook, seed: int) -> list[Ask]:
    """One for each request of the last message, as many as the playbook wants to handle."""
    readings = [entry for entry in history if isinstance(entry, Reading)]
    orders = _orders(history, playbook)
    return [
        Ask(intent, _since_request(readings), orders[min(index, len(orders) - 1)] if orders else None, seed)
        for index, intent in enumerate(_intents(history, readings, playbook)[: playbook.style.requests_per_message])
    ]


def _intents(history: Sequence[Entry], readings: Sequence[Reading], playbook: Playbook) -> tuple[str, ...]:
    now, said = readings[-1], last_said(history[:-1])
    if any(word in now.text for word in playbook.people.angry_words):
        return ("angry",)
    offered = OFFERS.get(said or "")
    if offered and not now.orders and set(now.intents) <= {offered, *COURTESIES}:
        if now.agrees:
            return (offered,)
        if now.declines:
            return ("declined",)
    if now.intents:
        return now.intents
    if said and not said.startswith(OPEN) and not now.has_details:
        return ("unclear",)
    return next((reading.intents for reading in reversed(readings[:-1]) if _is_request(reading)), ("unclear",))


def _since_request(readings: Sequence[Reading]) -> Reading:
    """The last message together with those before it up to the one that it answers for, if it asks for nothing new."""
    start = next((at for at in reversed(range(len(readings))) if _is_request(readings[at])), len(readings) - 1)
    return merged(readings[start:])


def _is_request(reading: Reading) -> bool:
    return bool(set(reading.intents) - {*COURTESIES, "injection"})


def _orders(history: Sequence[Entry], playbook: Playbook) -> tuple[str, ...]:
    """The numbers that were spoken of last, by whomever, the preferred one first."""
    *before, now = [numbers for entry in history if (numbers := _numbers(entry)) or entry is history[-1]]
    spoken_of = before[-1] if before else ()
    if not now and _means_the_other(history[-1]):
        known = dict.fromkeys(number for numbers in before for number in numbers)
        return tuple(number for number in known if number not in spoken_of)
    numbers = now or spoken_of
    return numbers if playbook.orders.which_number == "first" else numbers[::-1]


def _numbers(entry: Entry) -> tuple[str, ...]:
    return orders_in(entry.values.get("order", "")) if isinstance(entry, Said) else entry.orders


def _means_the_other(entry: Entry) -> bool:
    return isinstance(entry, Reading) and entry.other
