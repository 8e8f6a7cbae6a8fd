"""Where an order is, cancelling it, sending it elsewhere, and its invoice."""

from support_desk.answers import Answer, Desk, Order, failure, order_for
from support_desk.asking import Ask
from support_desk.toolbox import Failed


def status(desk: Desk, ask: Ask) -> Answer:
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order() as order:
            return Answer(_status_text(desk, ask, order), _facts(order))


def cancel(desk: Desk, ask: Ask) -> Answer:
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order(status="cancelled") as order:
            pass
        case Order() as order:
            result = desk.toolbox.call("cancel_order", order_id=order.number)
            if isinstance(result, Failed):
                return failure(desk, result.reason, order=order.number)
    text = desk.phrases.say("cancelled", order=order.number)
    return Answer(text, {"order": order.number, "status": "cancelled"})


def address(desk: Desk, ask: Ask) -> Answer:
    new = ask.reading.address
    if new is None:
        return Answer(desk.phrases.say("need_address"))
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order() as order:
            result = desk.toolbox.call("update_address", order_id=order.number, address=new)
    if isinstance(result, Failed) and not desk.playbook.orders.trust_address_form:
        return failure(desk, result.reason, order=order.number)
    text = desk.phrases.say("address_changed", order=order.number, address=new)
    return Answer(text, {"order": order.number, "address": new})


def invoice(desk: Desk, ask: Ask) -> Answer:
    match order_for(desk, ask):
        case Answer() as answer:
            return answer
        case Order() as order:
            email = str(desk.customer.get("email", ""))
            result = desk.toolbox.call("send_invoice", order_id=order.number, email=email)
    if isinstance(result, Failed):
        return failure(desk, result.reason, order=order.number)
    text = desk.phrases.say("invoice_sent", order=order.number, email=email)
    return Answer(text, {"order": order.number, "email": email})


def _status_text(desk: Desk, ask: Ask, order: Order) -> str:
    state = desk.phrases.status(order.status)
    label = f"{order.number} ({_goods(order)})" if order.items else order.number
    asked_for_day = any(word in ask.reading.text for word in desk.playbook.orders.date_words)
    if not (asked_for_day and order.delivery_on):
        return desk.phrases.say("status", order=label, status=state)
    day = desk.phrases.day(order.delivery_on)
    return desk.phrases.say("status_with_day", order=label, status=state, day=day)


def _goods(order: Order) -> str:
    return ", ".join(str(item["name"]) for item in order.items)


def _facts(order: Order) -> dict[str, object]:
    return {
        "order": order.number,
        "status": order.status,
        "total": str(order.total),
        "currency": order.currency,
        "refunded": order.refunded,
        "delivery": order.delivery_on,
    }
