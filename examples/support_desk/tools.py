"""What the desk can do in the shop: one function for each tool, and the table of them."""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from support_desk.shop import Record, Shop
from support_desk.wording import normalised

HANDBOOK = Path(__file__).parent / "handbook.toml"
BEFORE_DISPATCH = ("new", "processing")
RETURN_WORDS = re.compile(r"refund|return|rückgabe|返品|返金")
DAYS = re.compile(r"(\d+)\s*(?:days|tage|日)")


class ToolError(Exception):
    """The shop says no; `reason` is a code, the message is for people."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Backoffice:
    shop: Shop
    context: tuple[str, ...]

    def use(self, tool: str, arguments: Mapping[str, str]) -> Any:
        return TOOLS[tool](self, **arguments)

    def state(self) -> Record:
        return self.shop.state()


def get_order(office: Backoffice, order_id: str) -> Record:
    order = _order(office, order_id)
    order.setdefault("days_since_purchase", _days_since(office, order.get("ordered_at")))
    return {"order_id": order_id, **order}


def get_policy(office: Backoffice, topic: str, code: str | None = None) -> Record:
    if topic == "discounts":
        return _discount(office, code or "")
    policy = dict(tomllib.loads(HANDBOOK.read_text("utf-8"))[topic])
    if topic == "returns" and (days := _days_in_context(office.context)) is not None:
        policy |= {"days": days, "source": "context"}
    return {"topic": topic, "source": "handbook", **policy}


def search_products(office: Backoffice, query: str, max_price: str | None = None) -> list[Record]:
    text = normalised(query)
    products = office.shop.rows("products")
    scores = {sku: _score(product, text) for sku, product in products.items()}
    best = max(scores.values(), default=0)
    found = [sku for sku, score in scores.items() if score == best > 0]
    limit = Decimal(max_price or "Infinity")
    return [_listing(sku, products[sku]) for sku in found if _price(products[sku]) <= limit]


def check_stock(office: Backoffice, sku: str) -> Record:
    product = office.shop.get("products", sku)
    if product is None:
        raise ToolError("not_found", f"no product {sku}")
    return {"sku": sku, "stock": product.get("stock", 0), "restock_on": product.get("restock_on")}


def create_refund(office: Backoffice, order_id: str, amount: str, reason: str) -> Record:
    order = _order(office, order_id)
    if (office.shop.setting("services") or {}).get("payments") == "down":
        raise ToolError("payments_down", "503: the payment provider does not answer")
    if order.get("refunded"):
        raise ToolError("already_refunded", f"order {order_id} is refunded")
    if reason == "return":
        office.shop.change("orders", order_id, refunded=True)
    refund = {"order": order_id, "amount": amount, "reason": reason}
    return {"refund_id": office.shop.add("refunds", "R", refund), **refund}


def cancel_order(office: Backoffice, order_id: str) -> Record:
    _order_before_dispatch(office, order_id)
    office.shop.change("orders", order_id, status="cancelled")
    return {"order_id": order_id, "status": "cancelled"}


def update_address(office: Backoffice, order_id: str, address: str) -> Record:
    _order_before_dispatch(office, order_id)
    office.shop.change("orders", order_id, address=address)
    return {"order_id": order_id, "address": address}


def send_invoice(office: Backoffice, order_id: str, email: str) -> Record:
    _order(office, order_id)
    mail = {"kind": "invoice", "order": order_id, "to": email}
    return {"mail_id": office.shop.add("mails", "M", mail), **mail}


def escalate(office: Backoffice, topic: str, priority: str, summary: str, order_id: str | None = None) -> Record:
    ticket = {"topic": topic, "priority": priority, "summary": summary, "order": order_id}
    return {"ticket_id": office.shop.add("tickets", "T", ticket), **ticket}


Tool = Callable[..., Any]
TOOLS: Mapping[str, Tool] = MappingProxyType(
    {
        "get_order": get_order,
        "get_policy": get_policy,
        "search_products": search_products,
        "check_stock": check_stock,
        "create_refund": create_refund,
        "cancel_order": cancel_order,
        "update_address": update_address,
        "send_invoice": send_invoice,
        "escalate": escalate,
    }
)


def _order(office: Backoffice, order_id: str) -> Record:
    order = office.shop.get("orders", order_id)
    if order is None:
        raise ToolError("not_found", f"no order {order_id}")
    return order


def _order_before_dispatch(office: Backoffice, order_id: str) -> Record:
    order = _order(office, order_id)
    if order.get("status") not in BEFORE_DISPATCH:
        raise ToolError("dispatched", f"order {order_id} is {order.get('status')}")
    return order


def _days_since(office: Backoffice, ordered_at: str | None) -> int | None:
    today = office.shop.setting("today")
    if ordered_at is None or today is None:
        return None
    return (date.fromisoformat(today) - date.fromisoformat(ordered_at[:10])).days


def _days_in_context(documents: tuple[str, ...]) -> int | None:
    for document in documents:
        text = normalised(document)
        if RETURN_WORDS.search(text) and (days := DAYS.search(text)):
            return int(days[1])
    return None


def _discount(office: Backoffice, code: str) -> Record:
    discount = office.shop.get("discounts", code)
    if discount is None:
        raise ToolError("unknown_code", f"no discount code {code}")
    today = str(office.shop.setting("today") or "")
    return {"topic": "discounts", "code": code, **discount, "expired": _ended(discount, today)}


def _ended(discount: Record, today: str) -> bool:
    return bool(today) and today > str(discount.get("valid_until") or "9999-12-31")


def _score(product: Record, text: str) -> int:
    words = [*str(product["name"]).split(), *product.get("keywords", [])]
    return sum(normalised(word) in text for word in words)


def _price(product: Record) -> Decimal:
    return Decimal(str(product["price"]))


def _listing(sku: str, product: Record) -> Record:
    fields = ("name", "price", "currency", "stock", "restock_on")
    return {"sku": sku} | {name: product[name] for name in fields if name in product}
