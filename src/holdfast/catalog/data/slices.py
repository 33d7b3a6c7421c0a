"""Slices of splits, as datasets reads them: `train[:10%]+test[-50:]`.

Source: `datasets.arrow_reader` of 5.2, with which `tests/rules/test_hub_rules.py` and `tests/adapters/rows/test_rows_tables.py` compare what is here.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from holdfast.core.check.facts import Dataset
from holdfast.core.check.reference import Reference
from holdfast.core.errors import UsageError

NAME: Final = r"\w+(?:\.\w+)*"
"""What a split may be called."""
NUMBER: Final = r"-?\d+(?:_\d+)*"
PART: Final = re.compile(
    rf"(?P<split>{NAME})(?:\[(?:(?P<start>{NUMBER})(?P<start_unit>%?))?:(?:(?P<end>{NUMBER})(?P<end_unit>%?))?\])?"
    r"(?:\((?P<rounding>[^)]*)\))?"
)
ALL: Final = "all"
MOST_DIGITS: Final = 15
"""Digits of a number of rows."""
DROPPING: Final = "pct1_dropremainder"
ROUNDINGS: Final = (None, "closest", DROPPING)
WHOLE: Final = 100
"""Percent."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One part of a split.

    Attributes:
        split: The split's name.
        start: Where it begins, counted from the end where it is negative; None at the beginning.
        end: Where it ends, likewise.
        percent: Whether both are percent, rather than rows.
        dropping: Whether a percent is a hundredth of the rows rounded down.
        text: As it is written.
    """

    split: str
    start: int | None = None
    end: int | None = None
    percent: bool = False
    dropping: bool = False
    text: str = ""

    @property
    def needs_total(self) -> bool:
        """Whether the number of rows of the split must be known to tell which of them it takes."""
        return self.percent or any(bound is not None and bound < 0 for bound in (self.start, self.end))

    def rows(self, total: int) -> range:
        """Return the rows that it takes of a split.

        >>> Slice("train", None, 15, percent=True).rows(10), Slice("train", -2).rows(10)
        (range(0, 2), range(8, 10))
        """
        return range(self._row(self.start, 0, total), self._row(self.end, total, total))

    def _row(self, bound: int | None, otherwise: int, total: int) -> int:
        if bound is None:
            return otherwise
        at = self._share(bound, total) if self.percent else bound
        return min(max(total + at, 0) if at < 0 else at, total)

    def _share(self, percent: int, total: int) -> int:
        return percent * math.trunc(total / WHOLE) if self.dropping else round(percent * total / WHOLE)

    @property
    def span(self) -> tuple[float, float] | None:
        """From where to where it goes, in its own unit, where that is known without the number of rows."""
        start, end = self.start or 0, math.inf if self.end is None else self.end
        if start >= 0 and end >= 0:
            return start, end
        if not self.percent:
            return None
        end = min(end, WHOLE)
        return start + WHOLE * (start < 0), end + WHOLE * (end < 0)

    @property
    def exceeds_whole(self) -> bool:
        """Whether it names more than 100 percent."""
        return self.percent and any(abs(bound or 0) > WHOLE for bound in (self.start, self.end))


def parse_slices(split: str) -> tuple[Slice, ...]:
    """Return the parts of a split.

    >>> [part.split for part in parse_slices("train[:10%]+test")]
    ['train', 'test']

    Raises:
        UsageError: It is one that datasets refuses.
    """
    return tuple(_parse(part, split) for part in re.split(r"\s*\+\s*", split))


def _parse(part: str, split: str) -> Slice:
    found = PART.fullmatch(part)
    if found is None or found["rounding"] not in ROUNDINGS:
        fix = "write `train[:10%]`, `train[:100]`, or a name"
        raise UsageError(f"no such slice of a split: {part!r}", where=split, fix=fix)
    if any(len(found[name] or "") > MOST_DIGITS for name in ("start", "end")):
        raise UsageError(f"no dataset has as many rows: {part[:40]!r}", where=split[:80], fix="name fewer rows")
    start, end, percent = _bound(found["start"]), _bound(found["end"]), "%" in (found["start_unit"], found["end_unit"])
    parsed = Slice(found["split"], start, end, percent, found["rounding"] == DROPPING, part)
    if parsed.exceeds_whole:
        raise UsageError(f"more than 100 percent: {part!r}", where=split, fix="name a share between -100 and 100")
    if found["rounding"] and not percent:
        raise UsageError(f"rows are not rounded: {part!r}", where=split, fix="leave the rounding out")
    return parsed


def _bound(text: str | None) -> int | None:
    return int(text) if text else None


def read_slices(split: str) -> tuple[Slice, ...]:
    """Return the parts of a split; nothing where datasets refuses one of them, or it is rounded in a way of its own.

    >>> [part.split for part in read_slices("train[:10%]+test")], read_slices("train[:5k]")
    (['train', 'test'], ())
    """
    try:
        parts = parse_slices(split)
    except UsageError:
        return ()
    return () if any(part.dropping for part in parts) else parts


def split_lengths(reference: Reference, dataset: Dataset) -> dict[str, int]:
    """Return the numbers of rows of the splits that a mention asks for; nothing if one of them is not known."""
    there = dataset.configs.get(reference.config or dataset.default_config or "", {})
    parts = read_slices(reference.split or "")
    found = {part.split: rows for part in parts if part.split in there and (rows := there[part.split].rows) is not None}
    return {} if reference.files or any(part.split not in found for part in parts) else found


def count_rows(reference: Reference, dataset: Dataset) -> int | None:
    """Return the number of rows that a reference asks for; None if that is unknown."""
    lengths = split_lengths(reference, dataset)
    parts = read_slices(reference.split or "")
    return sum(len(part.rows(lengths[part.split])) for part in parts) if lengths else None


def overlap(one: Slice, other: Slice) -> bool:
    """True if two slices surely share rows, however many the split has; as long as it has enough to fill them.

    >>> overlap(Slice("train"), Slice("train", None, 100)), overlap(Slice("train", None, 90, True), Slice("train", 90, None, True))
    (True, False)
    """
    if one.split != other.split:
        return False
    if any(part.start is None and part.end is None for part in (one, other)):
        return not _is_empty(one) and not _is_empty(other)
    spans = one.span, other.span
    if one.percent != other.percent or spans[0] is None or spans[1] is None:
        return False
    return max(spans[0][0], spans[1][0]) < min(spans[0][1], spans[1][1])


def _is_empty(part: Slice) -> bool:
    return part.span is not None and part.span[0] >= part.span[1]
