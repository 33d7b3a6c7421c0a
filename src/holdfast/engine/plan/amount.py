"""Amounts that carry the formula by which they were computed, so that a plan prints what it did."""

from dataclasses import dataclass

from holdfast.core.plan.estimate import MemoryTerm, TermName
from holdfast.engine.units import render_count, render_counted

EXACT_FROM = 1000
"""Bytes or seconds from which on all digits before the point are shown; smaller ones may have a fraction."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number and its formula. Parts of a sum that are zero are left out of it.

    >>> weights = counted(8_190_735_360, "parameters") * size(2)
    >>> (weights + size(0)) / whole(8, "process")
    Amount(value=2047683840.0, formula='8.19 B parameters x 2 bytes / 8 processes', is_sum=False)

    Attributes:
        value: The number.
        formula: What gives it.
        is_sum: Whether the formula is a sum or a difference, which needs brackets in a product.
    """

    value: float
    formula: str
    is_sum: bool = False

    def __add__(self, other: "Amount") -> "Amount":
        if not other.value or not self.value:
            return self if self.value else other
        return Amount(self.value + other.value, f"{self.formula} + {other.formula}", is_sum=True)

    def __mul__(self, other: "Amount") -> "Amount":
        return Amount(self.value * other.value, f"{self._factor} x {other._factor}")

    def __truediv__(self, other: "Amount") -> "Amount":
        """Return a share of the amount; one share is all of it."""
        return self if other.value == 1 else Amount(self.value / other.value, f"{self._factor} / {other._factor}")

    def beyond(self, other: "Amount") -> "Amount":
        """Return what the amount has more than another; nothing if it has less."""
        if self.value <= other.value:
            return NOTHING
        subtracted = f"({other.formula})" if other.is_sum else other.formula
        return Amount(self.value - other.value, f"{self.formula} - {subtracted}", is_sum=True) if other.value else self

    def term(self, name: TermName, what: str = "") -> MemoryTerm:
        """Return the amount as a term of memory.

        Args:
            name: The purpose.
            what: What it is, if the formula does not say so.
        """
        return MemoryTerm(name, round(self.value), f"{what}: {self.formula}" if what else self.formula)

    @property
    def _factor(self) -> str:
        return f"({self.formula})" if self.is_sum else self.formula


def counted(count: float, what: str) -> Amount:
    """Return a large count with three digits.

    >>> counted(494_032_768, "parameters").formula
    '494 M parameters'
    """
    return Amount(count, f"{render_count(count)} {what}")


def whole(count: int, what: str) -> Amount:
    """Return a count with all digits, and its noun in the plural if needed.

    >>> whole(8192, "token").formula, whole(1, "step").formula
    ('8,192 tokens', '1 step')
    """
    return Amount(count, render_counted(count, what))


def size(each: float) -> Amount:
    """Return bytes of an element or a token.

    >>> size(0.515869).formula, size(485536).formula
    ('0.5159 bytes', '485,536 bytes')
    """
    number = f"{each:,.0f}" if each >= EXACT_FROM else f"{each:.4g}"
    return Amount(each, f"{number} {'byte' if each == 1 else 'bytes'}")


def seconds(each: float) -> Amount:
    """Return the time that one of several takes, with three digits at least.

    >>> seconds(0.05071).formula, seconds(1253.4).formula
    ('0.0507 s', '1,253 s')
    """
    return Amount(each, f"{each:,.0f} s" if each >= EXACT_FROM else f"{each:.3g} s")


NOTHING = size(0)
