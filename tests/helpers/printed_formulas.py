"""What a formula gives that a plan prints, read as a person would: `2 states x 8.19 B trained parameters x 4 bytes / 8 processes`."""

import re

UNITS = {"k": 1e3, "M": 1e6, "B": 1e9, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "s": 1}
BYTES = ("B", "")
"""A unit without a label: bytes, not billions."""
TOKEN = re.compile(r" (x|/|\+|-) |([()])")
FACTOR = re.compile(r"([\d,]*\.?\d+(?:e-\d+)?)(?: (k|M|B|kB|MB|GB|TB|s)\b)?(?: (\D.*))?")


def evaluate(printed: str) -> float:
    """Return the number that a printed formula gives. What stands before the last colon says what it is."""
    tokens = [part.strip() for part in TOKEN.split(printed.rpartition(": ")[2]) if part and part.strip()]
    value = _sum(tokens)
    assert not tokens, (printed, tokens)
    return value


def _sum(tokens: list[str]) -> float:
    value = _product(tokens)
    while tokens and tokens[0] in "+-":
        sign = 1 if tokens.pop(0) == "+" else -1
        value += sign * _product(tokens)
    return value


def _product(tokens: list[str]) -> float:
    value = _factor(tokens)
    while tokens and tokens[0] in "x/":
        value = value * _factor(tokens) if tokens.pop(0) == "x" else value / _factor(tokens)
    return value


def _factor(tokens: list[str]) -> float:
    part = tokens.pop(0)
    if part == "(":
        value = _sum(tokens)
        assert tokens.pop(0) == ")"
        return value
    found = FACTOR.fullmatch(part)
    assert found, part
    number, unit, label = found.groups()
    return float(number.replace(",", "")) * (1 if (unit, label or "") == BYTES else UNITS.get(unit, 1))
