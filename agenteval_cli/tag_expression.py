"""Tag expressions, as `billing and not (slow or "needs care")`.

expression = term {"or" term}     term = factor {"and" factor}     factor = "not" factor | "(" expression ")" | tag

A tag of several words, or one that is called `not`, stands in quotes of either kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from agenteval_cli.errors import UsageError

Holds = Callable[[Collection[str]], bool]
_TOKEN = re.compile(r"""\s*("[^"]*"|'[^']*'|\(|\)|[^\s()]+)""")
_QUOTES = ('"', "'")
_OPERATORS = frozenset({"and", "or", "not", "(", ")"})


def is_word(tag: str) -> bool:
    """Whether an expression can name that tag as it is, without quotes."""
    return _TOKEN.findall(tag) == [tag] and tag not in _OPERATORS and not tag.startswith(_QUOTES)


def as_term(tag: str) -> str | None:
    """The tag as an expression names it, in quotes where it takes them; None for one with quotes of both kinds."""
    if is_word(tag):
        return tag
    return next((f"{quote}{tag}{quote}" for quote in _QUOTES if quote not in tag), None)


def tag_expression(text: str) -> Holds:
    """Whether a case with certain tags is meant. Raises UsageError where the text is not an expression."""
    parser = _Parser(text)
    holds = parser.expression()
    if parser.peek() is not None:
        raise parser.fault()
    return holds


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def peek(self) -> str | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, word: str) -> bool:
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def fault(self) -> UsageError:
        found = self.peek()
        where = f"at '{found}'" if found else "at its end"
        return UsageError(
            f"--tag '{self.text}' cannot be read {where}; write it as: billing and not (slow or 'two words')"
        )

    def expression(self) -> Holds:
        choices = [self.term()]
        while self.take("or"):
            choices.append(self.term())
        return lambda tags: any(holds(tags) for holds in choices)

    def term(self) -> Holds:
        factors = [self.factor()]
        while self.take("and"):
            factors.append(self.factor())
        return lambda tags: all(holds(tags) for holds in factors)

    def factor(self) -> Holds:
        if self.take("not"):
            inner = self.factor()
            return lambda tags: not inner(tags)
        if self.take("("):
            inner = self.expression()
            if not self.take(")"):
                raise self.fault()
            return inner
        tag = self.peek()
        if tag is None or tag in (")", "and", "or") or _is_open(tag):
            raise self.fault()
        self.at += 1
        meant = tag[1:-1] if tag.startswith(_QUOTES) else tag
        return lambda tags: meant in tags


def _is_open(token: str) -> bool:
    """Whether it begins with a quote that nothing closes."""
    return token.startswith(_QUOTES) and (len(token) == 1 or token[0] != token[-1])
