"""Matchers in arguments, state and fields: a plain value means equals, a one-key mapping may be an operator.

Objects match as subsets unless asked to be exact. Every operator answers with the words of its failure, or None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from agenteval_cli.compare import ABSENT, Difference, child, first_difference, kind_of, shown
from agenteval_cli.mentions import Ambiguous
from agenteval_cli.patterns import pattern_fault, search
from agenteval_cli.problems import did_you_mean

Path = tuple[str | int, ...]
Operator = Callable[[Any, Any], "str | None"]

JSON_TYPES = ("null", "boolean", "number", "integer", "string", "array", "object")


def mismatch(expected: Any, actual: Any, *, exact: bool = False, path: str = "$") -> Difference | None:
    """The first place where `actual` does not satisfy the matcher `expected`; None where it does.

    Raises PatternTimeoutError where a regex could not be decided in time.
    """
    return next(mismatches(expected, actual, exact=exact, path=path), None)


def mismatches(expected: Any, actual: Any, *, exact: bool = False, path: str = "$") -> Iterator[Difference]:
    """Every place where `actual` does not satisfy the matcher `expected`, in the order of the matcher.

    Raises PatternTimeoutError where a regex could not be decided in time.
    """
    operator = operator_of(expected)
    if operator is not None:
        if words := OPERATORS[operator](expected[operator], actual):
            yield Difference(path, expected, actual, words)
    elif isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _object_mismatches(expected, actual, exact=exact, path=path)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (want, got) in enumerate(zip(expected, actual, strict=True)):
            yield from mismatches(want, got, exact=exact, path=f"{path}[{index}]")
    elif difference := first_difference(expected, actual, path):
        yield difference


def operator_of(value: Any) -> str | None:
    """The operator of a one-key mapping such as `{gt: 129}`, or None for plain values."""
    if isinstance(value, dict) and len(value) == 1:
        (key,) = value
        return key if key in OPERATORS else None
    return None


def nearly_operator(value: Any) -> str | None:
    """In words, the operator that the key of a one-key mapping is nearly; None where it is one, or none at all."""
    if not isinstance(value, dict) or len(value) != 1 or operator_of(value) is not None:
        return None
    (key,) = value
    near = "" if key.startswith("$") else did_you_mean(key, OPERATORS, cutoff=0.87)  # $state points into the state
    return f"'{key}' is no operator, so that the mapping itself is compared{near}" if near else None


def faults(expected: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """What is wrong with a matcher itself, found before anything runs: (path inside it, sentence)."""
    operator = operator_of(expected)
    if operator is not None:
        yield from operator_faults(operator, expected[operator], (*path, operator))
    elif isinstance(expected, dict):
        for key, value in expected.items():
            if isinstance(value, dict | list):
                yield from faults(value, (*path, key))
    elif isinstance(expected, list):
        for index, value in enumerate(expected):
            if isinstance(value, dict | list):
                yield from faults(value, (*path, index))


def operator_faults(operator: str, operand: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """What is wrong with the operand of one operator."""
    check = _OPERAND_FAULTS.get(operator)
    words = check(operand) if check else None
    if words:
        yield path, f"{operator}: {words}; to compare with the mapping itself write {{equals: …}}"
    elif operator == "any_of":
        for index, value in enumerate(operand):
            yield from faults(value, (*path, index))
    elif operator in ("not", "length"):
        yield from faults(operand, path)


def _object_mismatches(
    expected: Mapping[str, Any], actual: Mapping[str, Any], *, exact: bool, path: str
) -> Iterator[Difference]:
    for key, value in expected.items():
        yield from mismatches(value, actual.get(key, ABSENT), exact=exact, path=child(path, key))
    extra = next((key for key in actual if key not in expected), None) if exact else None
    if extra is not None:
        yield Difference(child(path, extra), ABSENT, actual[extra])


def _equals(operand: Any, actual: Any) -> str | None:
    difference = first_difference(operand, actual)
    return str(difference) if difference else None


def _not(operand: Any, actual: Any) -> str | None:
    if actual is ABSENT and operator_of(operand) not in ("present", "absent", "any"):
        return f"expected a value other than {shown(operand)}, got nothing"
    found = mismatch(operand, actual)
    if found is not None and isinstance(found.words, Ambiguous):
        return f"{found.words}, so that it may be what it must not"
    return None if found else f"expected anything but {shown(operand)}, got {shown(actual)}"


def _any_of(operand: list[Any], actual: Any) -> str | None:
    if any(mismatch(choice, actual) is None for choice in operand):
        return None
    return f"expected one of {shown(operand)}, got {shown(actual)}"


def _ordered(words: str, holds: Callable[[float, float], bool]) -> Operator:
    def check(operand: float, actual: Any) -> str | None:
        if kind_of(actual) == "number" and holds(actual, operand):
            return None
        return f"expected a number {words} {shown(operand)}, got {shown(actual)}"

    return check


def _between(operand: list[float], actual: Any) -> str | None:
    low, high = operand
    if kind_of(actual) == "number" and low <= actual <= high:
        return None
    return f"expected a number from {shown(low)} to {shown(high)}, got {shown(actual)}"


def _approx(operand: Mapping[str, float], actual: Any) -> str | None:
    value, within = operand["value"], operand["within"]
    if _is_finite(actual) and abs(Fraction(actual) - Fraction(value)) <= Fraction(within):
        return None
    return f"expected {shown(value)} ± {shown(within)}, got {shown(actual)}"


def _regex(operand: str, actual: Any) -> str | None:
    if isinstance(actual, str) and search(operand, actual):
        return None
    return f"expected text matching /{operand}/, got {shown(actual)}"


def _contains(operand: Any, actual: Any) -> str | None:
    if isinstance(actual, str) and isinstance(operand, str):
        found = operand in actual
    else:
        found = isinstance(actual, list) and any(mismatch(operand, item) is None for item in actual)
    return None if found else f"expected something that contains {shown(operand)}, got {shown(actual)}"


def _type(operand: str | list[str], actual: Any) -> str | None:
    wanted = [operand] if isinstance(operand, str) else operand
    kind = kind_of(actual)
    whole = _is_finite(actual) and actual == int(actual)
    if kind in wanted or (whole and "integer" in wanted):
        return None
    return f"expected {' or '.join(wanted)}, got {kind} {shown(actual)}"


def _length(operand: Any, actual: Any) -> str | None:
    if not isinstance(actual, str | list | Mapping):
        return f"expected something with a length, got {shown(actual)}"
    found = mismatch(operand, len(actual))
    return f"length: {found}" if found else None


def _present(_operand: bool, actual: Any) -> str | None:
    return "expected a value, got nothing" if actual is ABSENT else None


def _absent(_operand: bool, actual: Any) -> str | None:
    return None if actual is ABSENT else f"expected nothing, got {shown(actual)}"


def _money(operand: Any, actual: Any) -> str | None:
    from agenteval_cli.money import mismatch as money_mismatch

    return _with_actual(money_mismatch(operand, actual), actual)


def _date(operand: Any, actual: Any) -> str | None:
    from agenteval_cli.dates import mismatch as date_mismatch

    return _with_actual(date_mismatch(operand, actual), actual)


def _with_actual(words: str | None, actual: Any) -> str | None:
    return type(words)(f"{words}; got {shown(actual)}") if words else None


def _schema(operand: Any, actual: Any) -> str | None:
    from agenteval_cli.case_schemas import first_fault

    return "expected a value, got nothing" if actual is ABSENT else first_fault(operand, actual)


OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "equals": _equals,
        "not": _not,
        "any_of": _any_of,
        "gt": _ordered("over", lambda a, b: a > b),
        "gte": _ordered("of at least", lambda a, b: a >= b),
        "lt": _ordered("under", lambda a, b: a < b),
        "lte": _ordered("of at most", lambda a, b: a <= b),
        "between": _between,
        "approx": _approx,
        "regex": _regex,
        "contains": _contains,
        "type": _type,
        "length": _length,
        "present": _present,
        "absent": _absent,
        "any": _present,
        "schema": _schema,
        "money": _money,
        "date": _date,
    }
)


def _is_finite(value: Any) -> bool:
    return kind_of(value) == "number" and value == value and abs(value) != float("inf")  # noqa: PLR0124  # NaN


def _is_number(operand: Any) -> bool:
    return kind_of(operand) == "number"


def _number_fault(operand: Any) -> str | None:
    return None if _is_number(operand) else f"{shown(operand)} is not a number"


def _true_fault(operand: Any) -> str | None:
    return None if operand is True else "only true makes sense here"


def _between_fault(operand: Any) -> str | None:
    good = (
        isinstance(operand, list) and len(operand) == 2 and all(map(_is_number, operand)) and operand[0] <= operand[1]
    )
    return None if good else "write [lowest, highest]"


def _approx_fault(operand: Any) -> str | None:
    good = (
        isinstance(operand, Mapping) and set(operand) == {"value", "within"} and all(map(_is_number, operand.values()))
    )
    return None if good and operand["within"] >= 0 else "write {value: …, within: …}, within at least 0"


def _any_of_fault(operand: Any) -> str | None:
    return None if isinstance(operand, list) and operand else "write a list of values"


def _regex_fault(operand: Any) -> str | None:
    return pattern_fault(operand) if isinstance(operand, str) else f"{shown(operand)} is not a pattern"


def _type_fault(operand: Any) -> str | None:
    names = operand if isinstance(operand, list) else [operand]
    wrong = [name for name in names if name not in JSON_TYPES]
    if not names:
        return "write at least one type"
    return f"{shown(wrong[0])} is not one of {', '.join(JSON_TYPES)}" if wrong else None


def _money_fault(operand: Any) -> str | None:
    from agenteval_cli.money import wanted

    return _value_error(wanted, operand)


def _date_fault(operand: Any) -> str | None:
    from agenteval_cli.dates import wanted

    return _value_error(wanted, operand)


def _value_error(read: Callable[[Any], object], operand: Any) -> str | None:
    try:
        read(operand)
    except ValueError as error:
        return str(error)
    return None


def _schema_fault(operand: Any) -> str | None:
    from agenteval_cli.case_schemas import schema_fault

    return schema_fault(operand)


_OPERAND_FAULTS: Mapping[str, Callable[[Any], str | None]] = {
    **dict.fromkeys(("gt", "gte", "lt", "lte"), _number_fault),
    **dict.fromkeys(("present", "absent", "any"), _true_fault),
    "between": _between_fault,
    "approx": _approx_fault,
    "any_of": _any_of_fault,
    "regex": _regex_fault,
    "type": _type_fault,
    "schema": _schema_fault,
    "money": _money_fault,
    "date": _date_fault,
}
