"""What the customer asks for now, put together from the whole conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from support_desk.playbook import Playbook
from support_desk.reading import Reading, read

COURTESIES = ("greeting", "thanks")


@dataclass(frozen=True, slots=True)
class Ask:
    intent: str
    reading: Reading
    message: str
    order: str | None
    seed: int


def asks_in(texts: Sequence[str], playbook: Playbook, seed: int) -> list[Ask]:
    """One for each request of the last message, as many as the playbook wants to handle."""
    readings = [read(text) for text in texts]
    now = readings[-1]
    wanted = playbook.style.requests_per_message
    orders = _orders(readings, playbook)
    return [
        Ask(intent, now, texts[-1], orders[min(index, len(orders) - 1)] if orders else None, seed)
        for index, intent in enumerate(_intents(readings, playbook)[:wanted])
    ]


def _intents(readings: Sequence[Reading], playbook: Playbook) -> tuple[str, ...]:
    now = readings[-1]
    if any(word in now.text for word in playbook.people.angry_words):
        return ("angry",)
    if now.intents:
        return now.intents
    earlier = (reading.intents for reading in reversed(readings[:-1]))
    return next((intents for intents in earlier if _is_request(intents)), ("unclear",))


def _is_request(intents: tuple[str, ...]) -> bool:
    return bool(set(intents) - {*COURTESIES, "injection"})


def _orders(readings: Sequence[Reading], playbook: Playbook) -> tuple[str, ...]:
    """The numbers of the newest message that has any, the preferred one first."""
    numbers = next((reading.orders for reading in reversed(readings) if reading.orders), ())
    return numbers if playbook.orders.which_number == "first" else numbers[::-1]
