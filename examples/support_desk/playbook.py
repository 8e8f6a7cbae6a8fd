"""Playbooks: the prompt and the settings that make up one version of the desk."""

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent / "playbooks"


@dataclass(frozen=True, slots=True)
class Identity:
    check_owner: bool


@dataclass(frozen=True, slots=True)
class Refunds:
    trust_stated_amount: bool
    per_item: bool
    retries: int
    hand_over_failures: bool


@dataclass(frozen=True, slots=True)
class Orders:
    which_number: Literal["first", "last"]
    double_check: bool
    trust_address_form: bool
    date_words: list[str]


@dataclass(frozen=True, slots=True)
class Products:
    trust_search: bool


@dataclass(frozen=True, slots=True)
class People:
    angry_words: list[str]
    hand_over_second_failure: bool


@dataclass(frozen=True, slots=True)
class Memory:
    customer_messages: int


@dataclass(frozen=True, slots=True)
class Style:
    short: bool
    json_preface: bool
    requests_per_message: int


@dataclass(frozen=True, slots=True)
class Habits:
    warranty_from_memory_percent: int
    remembered_warranty_months: int


@dataclass(frozen=True, slots=True)
class Prices:
    input_per_1000: Decimal
    output_per_1000: Decimal


@dataclass(frozen=True, slots=True)
class Playbook:
    name: str
    prompt: str
    identity: Identity
    refunds: Refunds
    orders: Orders
    products: Products
    people: People
    memory: Memory
    style: Style
    habits: Habits
    prices: Prices


def playbook_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_playbook(name: str) -> Playbook:
    table: dict[str, Any] = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    prices = {key: Decimal(price) for key, price in table["prices"].items()}
    return Playbook(
        name=name,
        prompt=table["prompt"],
        identity=Identity(**table["identity"]),
        refunds=Refunds(**table["refunds"]),
        orders=Orders(**table["orders"]),
        products=Products(**table["products"]),
        people=People(**table["people"]),
        memory=Memory(**table["memory"]),
        style=Style(**table["style"]),
        habits=Habits(**table["habits"]),
        prices=Prices(**prices),
    )
