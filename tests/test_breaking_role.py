"""When a simulated user breaks its role, and when it only sounds like that."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenteval_cli.breaking_role import is_loop, revealed, role_broken
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange

PROMPT = "You are an angry customer who wants to cancel."


def broken(say: Any, *turns: tuple[Any, Any], prompt: str = PROMPT, **keys: Any) -> str | None:
    """What is wrong with these words after these turns of (user, agent)."""
    return role_broken(Role(user_prompt=prompt, **keys), [Exchange(*turn) for turn in turns], say)


# ---- secrets

KNOWS = {
    "pin": 4711,
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "price": 129.0,
    "owner": {"name": "Zoë  Straße", "vip": True, "age": None},
    "city": "東京",
    "fan": "art",
}


@pytest.mark.parametrize(
    ("secret", "say"),
    [
        ("pin", "My PIN is 4711."),
        ("pin", "It is 4 7 1 1"),
        ("pin", "It is 4, 7, 1, 1."),
        ("pin", "47-11, I think."),
        ("pin", "PIN4711"),
        ("card", "Use 4111111111111111, please."),
        ("card", "Use 4111-1111-1111-1111, please."),
        ("card", "Use 4111  1111\n1111 1111, please."),
        ("iban", "It is de89370400440532013000."),
        ("price", "I paid 129 for it"),
        ("price", "I paid 129."),
        ("owner", "The name is ZOE\u0308 STRASSE!"),
        ("owner", "zoë\nstrasse"),
        ("city", "私は東京に住んでいます"),
        ("I work for the shop", "To be honest, i work\nfor  the shop."),
        ("I work for the shop", "I \u200bwork for the\u00a0shop"),
        ("２０２６", "in 2026"),
    ],
)
def test_what_must_not_be_said_is_found_however_it_is_written(secret: str, say: str) -> None:
    assert broken(say, knows=KNOWS, must_not_reveal=(secret,)) is not None
    assert revealed(say, [secret], KNOWS) == secret


@pytest.mark.parametrize(
    ("secret", "say"),
    [
        ("pin", "Order 147110, bought at 14711 Main Street."),
        ("pin", "It cost 4711.50, or 4,711.50"),
        ("pin", "I have 47 kettles and 11 cups."),
        ("pin", "My pin is a secret."),
        ("price", "I paid 129.90 and 1129"),
        ("card", "It ends in 1111."),
        ("owner", "That is true, I am none."),
        ("fan", "Start the party, artist."),
        ("I work for the shop", "I work for the shops."),
        ("I work for the shop", "I do not work for you."),
        ("", "Anything."),
        (" ", "Any thing."),
    ],
)
def test_what_only_looks_alike_is_no_secret(secret: str, say: str) -> None:
    assert broken(say, knows=KNOWS, must_not_reveal=(secret,)) is None


def test_the_name_of_what_it_knows_may_be_said() -> None:
    assert broken("I will not tell my card.", knows=KNOWS, must_not_reveal=("card",)) is None
    assert broken("I will not tell my card.", must_not_reveal=("card",)) == 'it said what it must not reveal: "card"'


words = st.text(alphabet="abcxyz äß19", min_size=1, max_size=12)


@given(words, words, words)
def test_a_secret_on_a_line_of_its_own_is_always_found(before: str, secret: str, after: str) -> None:
    found = revealed(f"{before}\n{secret.upper()}\n{after}", [secret], {})
    assert (found == secret) is bool(secret.strip())


@given(st.text(alphabet="0123456789", min_size=4, max_size=9), st.sampled_from([" ", "-", ".", ", ", "/"]))
def test_digits_are_found_whatever_stands_between_them(digits: str, between: str) -> None:
    assert revealed(f"It is {between.join(digits)} I think", [digits], {}) == digits
    assert revealed(f"It is {digits} I think", [between.join(digits)], {}) is not None


@given(st.integers(0, 999_999), st.integers(0, 999_999))
def test_another_number_is_no_secret(secret: int, said: int) -> None:
    assert (revealed(f"It is {said} I think", ["n"], {"n": secret}) is not None) is (secret == said)


# ---- speaking for the agent


@pytest.mark.parametrize(
    "say",
    [
        "Agent: How can I help?",
        "I want a refund.\n\nASSISTANT: Of course!",
        "Fine.\n**Support agent:** Your order?",
        "Fine.\n**Agent**: Your order?",
        "### Customer service agent : Hello",
        "AI assistant： Hello",
        "Ja, bitte.\nAssistent: Gern!",
        "Sí.\n**Asistente:** Claro.",
        "はい。\nアシスタント：承知しました。",
        "好的。\n客服：请稍等。",
    ],
)
def test_a_line_of_the_agent_breaks_the_role(say: str) -> None:
    assert "it spoke for the agent: a line of it begins with" in str(broken(say))


@pytest.mark.parametrize(
    "say",
    [
        "Your agent: a disgrace.",
        "Dear agent: help me.",
        "I talked to an agent: she hung up.",
        "You wrote:\n> Agent: we will refund you.",
        "Agents: where are they?",
        "Agent Smith told me so.",
        "My order: 5678",
        "User: hello",
    ],
)
def test_talking_about_an_agent_does_not(say: str) -> None:
    assert broken(say) is None


ANSWER = "You can have a full refund within 30 days."
LONG = "I am sorry to hear that your kettle is broken. Could you please tell me the number of your order?"


@pytest.mark.parametrize(
    ("say", "answer"),
    [
        (ANSWER, ANSWER),
        (ANSWER.upper().replace(" ", "  "), ANSWER),
        (f"{ANSWER}\nI want that.", ANSWER),
        (f"I see.\n\n{ANSWER}\n", ANSWER),
        (f"{LONG} It is 5678.", LONG),
        ("One line of it here.\nAnd another.", "one line of it here.\n\nand another."),
        ('{"refund": "30 days of it"}', {"refund": "30 days of it"}),
    ],
)
def test_the_agents_answer_given_back_breaks_the_role(say: str, answer: Any) -> None:
    assert "gave the agent's last answer back" in str(broken(say, ("Refund?", answer)))


@pytest.mark.parametrize(
    ("say", "answer"),
    [
        ("Yes, please.", "Yes, please."),
        (f'You said "{ANSWER}" last week.', ANSWER),
        (f"So {ANSWER.lower()} Good.", ANSWER),
        (f'"{LONG}" is all I hear from you.', LONG),
        ("I can have a full refund within 30 days?", ANSWER),
        ("Well?", ""),
        ("Well?", None),
    ],
)
def test_quoting_the_agent_does_not(say: str, answer: Any) -> None:
    assert broken(say, ("Refund?", answer)) is None


def test_an_agent_that_echoes_is_no_fault_of_the_user() -> None:
    said = "I want my money back, all of it."
    assert broken(said, (said, said)) is None


# ---- its own prompt


@pytest.mark.parametrize("say", [PROMPT, f"Sure. {PROMPT.upper()} So I cancel.", PROMPT.rstrip(".")])
def test_saying_its_own_prompt_breaks_the_role(say: str) -> None:
    assert broken(say) == "it said its own user_prompt word for word"


@pytest.mark.parametrize(
    ("prompt", "say"),
    [
        (PROMPT, "I am an angry customer who wants to cancel."),
        ("Cancel my order.", "Cancel my order."),
        ("I want to cancel my order today, please.", "I want to cancel my order today, please."),
        ("Quiero cancelar mi pedido de hoy mismo", "Quiero cancelar mi pedido de hoy mismo"),
        ("the customer wants her money back", "The customer wants her money backed up."),
    ],
)
def test_a_prompt_that_is_there_to_be_said_may_be_said(prompt: str, say: str) -> None:
    assert broken(say, prompt=prompt) is None


def test_a_quotation_in_the_prompt_does_not_make_it_the_users_own_words() -> None:
    prompt = "You are Bob. You always say “I am Bob” and 'my dear'."
    assert broken(prompt, prompt=prompt) is not None


# ---- saying the same again

REQUEST = "I want to cancel the order that was placed yesterday."
JAPANESE = "昨日注文した商品をキャンセルしたいのですが、注文番号がわかりません。"
THAI = "ผมต้องการยกเลิกคำสั่งซื้อแต่ผมไม่ทราบหมายเลขคำสั่งซื้อ"


@pytest.mark.parametrize(
    ("say", "turns"),
    [
        (REQUEST, [("Hi", "Hello!"), (REQUEST, "Which order?")]),
        (REQUEST.upper(), [(REQUEST, "Hello!"), (REQUEST, "Which order?")]),
        ("Cancel it right now!", [("Cancel it right now!", "A."), ("Cancel it right now!", "B.")]),
        (JAPANESE, [("こんにちは", "はい。"), (JAPANESE, "ご注文番号は?")]),
        (THAI, [("สวัสดี", "ครับ"), (THAI, "หมายเลขคำสั่งซื้อ?")]),
    ],
)
def test_the_same_words_to_other_answers_break_the_role(say: str, turns: list[tuple[str, str]]) -> None:
    assert "it repeated itself, though the agent did not" in str(broken(say, *turns))


@pytest.mark.parametrize(
    ("say", "turns"),
    [
        ("Yes.", [("Yes.", "A?"), ("Yes.", "B?"), ("Yes.", "C?")]),
        ("I do not know that.", [("Hi", "Your name?"), ("I do not know that.", "Your address?")]),
        ("はい、お願いします。", [("はい、お願いします。", "A?"), ("はい、お願いします。", "B?")]),
        ("네, 그렇게 해 주세요", [("안녕하세요", "A?"), ("네, 그렇게 해 주세요", "B?")]),
        (REQUEST, [(REQUEST, "Could you say that again?")]),
        (REQUEST, [("Hi", "Which order?"), (REQUEST, "Which order?")]),
        (REQUEST, [(REQUEST, "Hello!"), ("5678", "Which order?")]),
        (REQUEST, []),
    ],
)
def test_what_a_person_would_say_again_does_not(say: str, turns: list[tuple[str, str]]) -> None:
    assert broken(say, *turns) is None


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), max_size=5), st.text(max_size=8))
def test_short_words_of_its_own_never_break_a_role_without_secrets(turns: list[tuple[str, str]], say: str) -> None:
    assert broken(say, *turns) is None


# ---- going round in circles


@pytest.mark.parametrize(
    ("turns", "say", "loop"),
    [
        ([(word, "No.") for word in "abcd"] + [("e", " NO. ")], None, True),
        ([(word, "No.") for word in "abcd"], None, False),
        ([("a", "Yes."), ("b", "No."), ("c", "No.")], None, False),
        ([("a", "No."), ("b", "No.")], None, False),
        ([("a", "No."), ("b", "No.")], "B", True),
        ([("a", "No."), ("b", "No.")], "c", False),
        ([("a", "Yes."), ("b", "No.")], "b", False),
        ([("a", {"x": 1, "y": 2}), ("b", {"y": 2, "x": 1})], "b", True),
        ([("a", "1"), ("b", 1)], "c", False),
        ([("a", "No.")], "a", False),
        ([], "a", False),
    ],
)
def test_a_loop_is_when_nothing_new_comes(turns: list[tuple[Any, Any]], say: str | None, loop: bool) -> None:
    assert is_loop([Exchange(*turn) for turn in turns], say) is loop
