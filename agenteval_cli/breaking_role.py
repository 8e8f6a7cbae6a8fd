"""Whether a simulated user still plays its role: pure, and rather too patient than unjust.

What it says here is a finding about the simulator, which makes an attempt ungraded. So words that a person could say in
its place are let pass: a short answer given twice, the agent's words in a sentence, a number that only looks alike.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agenteval_cli.compare import shown
from agenteval_cli.similarity import UNSPACED
from agenteval_cli.simulation import Role
from agenteval_cli.talk import Exchange

_SHORTEST_ANSWER = 20  # characters of an answer that is repeated; "Yes, please." is nobody's own
_OPENING_ANSWER = 60  # characters of an answer that one's own words begin with
_SHORTEST_PROMPT = 5  # words
_LONG, _SHORT = 8, 4  # words that are not said twice in a row, and not three times
_STUCK = 5  # answers
_UNSPACED_WORD = 3  # characters that count as a word where no spaces stand between words
_SHORTEST_CODE = 4  # letters and digits of what is told whatever stands between them
_WITHOUT_SPACES = 0x0E00  # from Thai on there are scripts that put no spaces between words

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WORD = re.compile(r"[^\W_]+")
_SEPARATORS = re.compile(r"[\s.,\-\u2010-\u2015/()_]{0,3}\Z")  # what may stand between the parts of a code
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|(?<!\w)'[^']*'(?!\w)")
_LABEL = re.compile(
    r"""^[ \t*_\#-]*
    (?: (?:ai|support|customer|service|services|care|success|help|desk|helpdesk|sales|billing|refund|returns
        |order|booking|travel|shop|store|bank|virtual|digital|live|human|chat|online) [ ]+ ){0,3}
    (?: agente? | assistante? | assistent(?:in|e)? | asistente | chatbot
        | エージェント | アシスタント | 客服 | 助手 | 助理 )
    [ \t*_]* [:：]""",
    re.VERBOSE | re.MULTILINE,
)
# Who writes a prompt in the first person has written what is to be said.
_FIRST_PERSON = re.compile(
    r"(?<!\w)(?:i|i'(?:m|ve|d|ll)|my|me|we|our|ich|meine?n?|wir|je|j'\w+|mon|ma|mes|nous|yo|mis?|quiero|io|mi[oa]|vorrei"
    r"|eu|meu|minha|quero|ik|mijn)(?!\w)"
)


def role_broken(role: Role, talk: Sequence[Exchange], say: Any) -> str | None:
    """Why what the user says after these turns breaks its role, in words; None where it does not."""
    text = _text(say)
    return (
        _revelation(role, text)
        or _agents_label(text)
        or _agents_answer(talk, text)
        or _own_prompt(role, text)
        or _repetition(talk, text)
    )


def is_loop(talk: Sequence[Exchange], say: Any = None) -> bool:
    """Whether nothing new comes: the agent's last five answers are the same.

    Or its last two are, and the user is about to say the same words again; None is nothing. The same answer to three
    different questions may be the right one.
    """
    if len(talk) < 2 or not _same(talk[-1].agent, talk[-2].agent):
        return False
    last = [exchange.agent for exchange in talk[-_STUCK:]]
    is_stuck = len(last) == _STUCK and all(_same(answer, last[0]) for answer in last)
    return is_stuck or (say is not None and _same(say, talk[-1].user))


def revealed(text: str, must_not_reveal: Sequence[str], knows: Mapping[str, Any]) -> str | None:
    """The first that is said of what must not be: texts, or names under `knows` whose values are meant."""
    said = _normal(text)
    for item in must_not_reveal:
        values = _leaves(knows[item]) if item in knows else (item,)
        if any(_says(said, _normal(value)) for value in values):
            return item
    return None


def _revelation(role: Role, text: str) -> str | None:
    item = revealed(text, role.must_not_reveal, role.knows)
    return None if item is None else f"it said what it must not reveal: {shown(item)}"


def _leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a value. Yes, no and nothing are in every conversation."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(int(value)) if value == int(value) else str(value)


def _says(said: str, secret: str) -> bool:
    return bool(secret) and (_has_word(said, secret) or _has_code(said, secret))


def _has_word(said: str, secret: str) -> bool:
    """Whether the secret is there, not as a part of a longer word or number."""
    start = said.find(secret)
    while start >= 0:
        if _stands_alone(said, start, start + len(secret)):
            return True
        start = said.find(secret, start + 1)
    return False


def _stands_alone(said: str, start: int, end: int) -> bool:
    before, after = said[max(0, start - 2) : start][::-1], said[end : end + 2]
    return not _goes_on(said[start], before) and not _goes_on(said[end - 1], after)


def _goes_on(edge: str, beside: str) -> bool:
    """Whether the edge of a secret and what stands beside it, nearest first, are one word or number."""
    if edge.isdigit():
        return beside[:1].isdigit() or (beside[:1] in {".", ","} and beside[1:].isdigit())
    return edge.isalpha() and beside[:1].isalpha() and max(edge, beside[0]) < chr(_WITHOUT_SPACES)


def _has_code(said: str, secret: str) -> bool:
    """Whether words one after the other make up a secret with digits: 5678 in "5 6 7 8", DE89 3704 in DE893704."""
    code = "".join(_WORD.findall(secret))
    if len(code) < _SHORTEST_CODE or not any(map(str.isdigit, code)):
        return False
    words = list(_WORD.finditer(said))
    ends = (_end_of(code, said, words[first : first + len(code)]) for first in range(len(words)))
    return any(end and _stands_alone(said, word.start(), end) for word, end in zip(words, ends, strict=True))


def _end_of(code: str, said: str, words: Sequence[re.Match[str]]) -> int | None:
    """Where the code ends that these words begin with, one after the other; None where they do not."""
    made, end = "", words[0].start()
    for word in words:
        if not _SEPARATORS.match(said[end : word.start()]):
            return None
        made, end = made + word[0], word.end()
        if not code.startswith(made):
            return None
        if made == code:
            return end
    return None


def _agents_label(text: str) -> str | None:
    found = _LABEL.search(_unstyled(text))
    return f"it spoke for the agent: a line of it begins with {shown(found[0].strip())}" if found else None


def _agents_answer(talk: Sequence[Exchange], text: str) -> str | None:
    """Its own words may have come back to it before; then it is the agent that repeats."""
    if not talk:
        return None
    last = _text(talk[-1].agent)
    answer, said = _normal(last), _normal(text)
    if len(answer) < _SHORTEST_ANSWER or any(answer == _normal(_text(exchange.user)) for exchange in talk):
        return None
    begins = len(answer) >= _OPENING_ANSWER and said.startswith(answer)
    if said == answer or begins or _lines(last) in _lines(text):
        return "it gave the agent's last answer back as its own words"
    return None


def _lines(text: str) -> str:
    """The lines that have something, each between line breaks."""
    return "".join(f"\n{line}" for line in map(_normal, text.splitlines()) if line) + "\n"


def _own_prompt(role: Role, text: str) -> str | None:
    prompt = _normal(role.user_prompt).rstrip(".!?")
    is_to_be_said = _FIRST_PERSON.search(_QUOTED.sub(" ", prompt.replace("’", "'")))
    if len(prompt.split()) < _SHORTEST_PROMPT or is_to_be_said or not _has_word(_normal(text), prompt):
        return None
    return "it said its own user_prompt word for word"


def _repetition(talk: Sequence[Exchange], text: str) -> str | None:
    """A short answer may be the right one twice; after the first answer, or the same one again, so may any."""
    times = _times_before(talk, text) if len(talk) > 1 else 0
    words = _length(text)
    if (times >= 1 and words >= _LONG) or (times >= 2 and words >= _SHORT):
        return f"it repeated itself, though the agent did not: {shown(text)}"
    return None


def _length(text: str) -> int:
    """About how many words it has; a sentence of Japanese or Thai has no spaces, and is not one word."""
    return max(len(text.split()), sum(map(len, UNSPACED.findall(text))) // _UNSPACED_WORD)


def _times_before(talk: Sequence[Exchange], text: str) -> int:
    """How often in a row it has said this already, each time getting another answer than the one before."""
    times = 0
    while times < len(talk):
        place = len(talk) - 1 - times
        nothing_new = place > 0 and _same(talk[place].agent, talk[place - 1].agent)
        if nothing_new or not _same(talk[place].user, text):
            break
        times += 1
    return times


def _same(one: Any, other: Any) -> bool:
    return bool(one == other and type(one) is type(other)) or _normal(_text(one)) == _normal(_text(other))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _unstyled(text: str) -> str:
    """Without what nobody sees and without case, line by line as it was."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold())


def _normal(text: str) -> str:
    return " ".join(_unstyled(text).split())
