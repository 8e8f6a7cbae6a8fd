"""Questions about goods: what there is, what it costs, whether it is there, and discounts."""

from support_desk.answers import Answer, Desk, failure
from support_desk.asking import Ask
from support_desk.protocol import Json
from support_desk.toolbox import Done, Failed

MOST_SHOWN = 3


def product(desk: Desk, ask: Ask) -> Answer:
    result = desk.toolbox.call("search_products", query=ask.reading.text, max_price=ask.reading.limit)
    found = result.value[:MOST_SHOWN] if isinstance(result, Done) else []
    if not found:
        return Answer(desk.phrases.say("no_product"), {"products": []})
    products = [listing | _stock(desk, listing) for listing in found]
    text = " ".join(_line(desk, item) for item in products)
    return Answer(text, {"products": [_fact(item) for item in products]})


def discount(desk: Desk, ask: Ask) -> Answer:
    code = ask.reading.code
    if code is None:
        return Answer(desk.phrases.say("need_code"))
    result = desk.toolbox.call("get_policy", topic="discounts", code=code)
    if isinstance(result, Failed):
        return failure(desk, result.reason, code=code)
    offer = result.value
    key = "code_expired" if offer["expired"] else "code_valid"
    day = desk.phrases.day(offer["valid_until"])
    text = desk.phrases.say(key, code=code, percent=offer["percent"], day=day)
    return Answer(text, {"code": code, "valid": not offer["expired"]})


def _stock(desk: Desk, listing: Json) -> Json:
    if desk.playbook.products.trust_search:
        return {}
    result = desk.toolbox.call("check_stock", sku=listing["sku"])
    return dict(result.value) if isinstance(result, Done) else {"stock": None}


def _line(desk: Desk, item: Json) -> str:
    money = f"{item['price']} {item.get('currency', 'EUR')}"
    stock = item.get("stock", 0)
    if stock is None:
        return desk.phrases.say("stock_unknown", name=item["name"], money=money)
    if stock:
        return desk.phrases.say("in_stock", name=item["name"], money=money, stock=stock)
    if item.get("restock_on"):
        day = desk.phrases.day(item["restock_on"])
        return desk.phrases.say("back_on", name=item["name"], money=money, day=day)
    return desk.phrases.say("sold_out", name=item["name"], money=money)


def _fact(item: Json) -> Json:
    return {name: item.get(name) for name in ("sku", "name", "price", "stock")}
