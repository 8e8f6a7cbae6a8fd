"""Paying money back: for goods that come back, and for charges made twice."""

from dataclasses import dataclass
from decimal import Decimal

from support_desk.answers import Answer, Desk, Money, Order, failure, order_for
from support_desk.asking import Ask
from support_desk.protocol import Json
from support_desk.toolbox import Done, Failed
from support_desk.topics.people import hand_over, with_colleague
from support_desk.topics.policies import policy_for
from support_desk.wording import normalised

UNBOOKED = ("payments_down", "no_answer")


@dataclass(frozen=True, slots=True)
class Payment:
    order: str
    money: Money
    payout_days: int
    reason: str = "return"

    @property
    def phrase(self) -> str:
        return "refunded" if self.reason == "return" else "charge_refunded"


def refund(desk: Desk, ask: Ask) -> Answer:
    stated = ask.reading.amount
    if desk.playbook.refunds.trust_stated_amount and stated is not None and ask.order:
        payout_days = policy_for(desk, "returns")["payout_days"]
        return _pay_back(desk, ask, Payment(ask.order, Money(str(stated), "EUR"), payout_days))
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order() as order:
            return _refund_if_allowed(desk, ask, order)


def duplicate(desk: Desk, ask: Ask) -> Answer:
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order() as order:
            extra = _second_charge(order)
    if extra is None:
        return Answer(desk.phrases.say("charged_once", order=order.number))
    payout_days = policy_for(desk, "returns")["payout_days"]
    money = Money(extra, order.currency)
    return _pay_back(desk, ask, Payment(order.number, money, payout_days, "duplicate_charge"))


def _refund_if_allowed(desk: Desk, ask: Ask, order: Order) -> Answer:
    policy = policy_for(desk, "returns")
    refusal = _why_not(order, policy["days"])
    if refusal is not None:
        return failure(desk, refusal, order=order.number, days=policy["days"])
    money = Money(str(_amount(desk, ask, order)), order.currency)
    return _pay_back(desk, ask, Payment(order.number, money, policy["payout_days"]))


def _why_not(order: Order, window: int) -> str | None:
    if order.refunded:
        return "already_refunded"
    if not order.paid:
        return "not_paid"
    return "too_late" if order.days is not None and order.days > window else None


def _amount(desk: Desk, ask: Ask, order: Order) -> Decimal:
    named = [item for item in order.items if normalised(str(item["name"])) in ask.reading.text]
    if desk.playbook.refunds.per_item and named:
        return sum((Decimal(str(item["price"])) for item in named), Decimal(0))
    return order.total


def _second_charge(order: Order) -> str | None:
    repeated = [amount for amount in order.charges if order.charges.count(amount) > 1]
    return repeated[-1] if repeated else None


def _pay_back(desk: Desk, ask: Ask, payment: Payment) -> Answer:
    if desk.recall(payment.phrase, order=payment.order):
        return failure(desk, "already_refunded", order=payment.order)
    if earlier := desk.recall("refund_handed_over"):
        return with_colleague(desk, earlier.values["ticket"])
    result = _book(desk, payment)
    if isinstance(result, Failed):
        return _not_booked(desk, ask, result, payment.order)
    text = desk.phrases.say(payment.phrase, order=payment.order, money=payment.money, days=payment.payout_days)
    return Answer(text, _facts(result.value))


def _book(desk: Desk, payment: Payment) -> Done | Failed:
    tries = 1 + desk.playbook.refunds.retries
    for _ in range(tries):
        result = desk.toolbox.call(
            "create_refund",
            order_id=payment.order,
            amount=payment.money.amount,
            reason=payment.reason,
        )
        if isinstance(result, Done) or result.reason not in UNBOOKED:
            break
    return result


def _not_booked(desk: Desk, ask: Ask, result: Failed, number: str) -> Answer:
    if result.reason in UNBOOKED and desk.playbook.refunds.hand_over_failures:
        return hand_over(desk, ask, "refund", "high", "refund_handed_over")
    return failure(desk, result.reason, order=number)


def _facts(refund: Json) -> Json:
    return {"order": refund["order"], "amount": refund["amount"], "refunded": True}
