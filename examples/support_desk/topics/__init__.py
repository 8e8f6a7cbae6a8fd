"""One function for each thing a customer can want, and the table of them."""

from collections.abc import Mapping
from types import MappingProxyType

from support_desk.answers import Topic
from support_desk.topics import courtesy, orders, people, policies, products, refunds

TOPICS: Mapping[str, Topic] = MappingProxyType(
    {
        "greeting": courtesy.greeting,
        "thanks": courtesy.thanks,
        "unclear": courtesy.unclear,
        "declined": courtesy.declined,
        "injection": courtesy.injection,
        "status": orders.status,
        "cancel": orders.cancel,
        "address": orders.address,
        "invoice": orders.invoice,
        "refund": refunds.refund,
        "duplicate": refunds.duplicate,
        "returns_policy": policies.returns_policy,
        "warranty": policies.warranty,
        "shipping": policies.shipping,
        "product": products.product,
        "discount": products.discount,
        "human": people.human,
        "angry": people.angry,
        "trouble": people.trouble,
    }
)
