"""One package's history: what each of its releases holds, a line a thing, parsed when it is requested."""

import json
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from holdfast.catalog.api.entries import exported, whole
from holdfast.catalog.api.folders import FOLDER
from holdfast.core.job.api import Span

DETAILED: Final = frozenset({"c ", "f "})
"""Heads of entries that have parameters."""

Releases = int
"""A set of releases: bit i stands for the i-th, the oldest first."""


@dataclass(frozen=True)
class History:
    r"""What one package's releases hold.

    Attributes:
        package: Its importable name.
        text: The file: a line `<head>\t<json>` for each thing.
    """

    package: str
    text: str = field(repr=False)
    _entries: dict[str, Any] = field(default_factory=dict[str, Any], init=False, repr=False, compare=False)

    def entry(self, head: str) -> Mapping[str, Any] | None:
        """Return the entry under a head, such as `c trl.trainer.sft_config.SFTConfig`; None if there is none."""
        if head not in self._entries:
            self._entries[head] = self._parsed(head)
        found: Mapping[str, Any] | None = self._entries[head]
        return found

    def _parsed(self, head: str) -> Any:
        start = self.text.find(f"\n{head}\t")
        if start < 0:
            return None
        start += len(head) + 2
        end = self.text.find("\n", start)
        entry = json.loads(self.text[start : end if end >= 0 else None])
        return whole(entry, self.entry) if head[:2] in DETAILED else entry

    @cached_property
    def about(self) -> Mapping[str, Any]:
        """What the file says of the package as a whole."""
        return self.entry("@") or {}

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """Its releases, oldest first."""
        return tuple(self.about.get("versions", ()))

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {plain_version(version): index for index, version in enumerate(self.versions)}

    def index(self, version: str) -> int | None:
        """Return the position of a version among the releases; None if it is none of them."""
        return self._index.get(plain_version(version))

    def releases(self, ranges: str) -> Releases:
        """Return the releases that ranges such as `3-7,9-` name."""
        return _releases(ranges, len(self.versions))

    def stretches(self, changes: Any) -> Iterator[tuple[Releases, Any]]:
        """Yield each stretch of releases for which something is the same, and what it is, by its changes."""
        if not isinstance(changes, list):
            yield run_of(0, len(self.versions)), changes
            return
        for (start, value), after in zip_longest(changes, changes[1:]):
            yield run_of(start, after[0] if after else len(self.versions)), value

    def when(self, changes: Any, values: Container[str]) -> Releases:
        """Return the releases for which changes give one of these values."""
        return sum(releases for releases, value in self.stretches(changes) if value in values)

    def spans(self, releases: Releases) -> Iterator[Span]:
        """Yield the runs of consecutive releases in a set, oldest first."""
        count, index = len(self.versions), 0
        while releases >> index:
            index += _trailing_zeros(releases >> index)
            end = index + _trailing_zeros(~(releases >> index))
            goes_on = end >= count
            last, after = (None, None) if goes_on else (self.versions[end - 1], self.versions[end])
            yield Span(self.package, self.versions[index], last, after)
            index = end

    def exports(self, module: str) -> Mapping[str, tuple[tuple[Releases, str], ...]]:
        """Return each name that a module ever had: in which releases, and the path where it was defined then."""
        key = f"names of {module}"
        if key not in self._entries:
            self._entries[key] = self._read_exports(module)
        found: Mapping[str, tuple[tuple[Releases, str], ...]] = self._entries[key]
        return found

    def _read_exports(self, module: str) -> dict[str, tuple[tuple[Releases, str], ...]]:
        table: dict[str, tuple[tuple[Releases, str], ...]] = {}
        for ranges, names in (self.entry(f"m {module}") or {}).get("n", {}).items():
            releases = self.releases(ranges)
            for name, home, there in exported(names):
                table[name] = (*table.get(name, ()), (releases, f"{home or module}.{there}"))
        return table


def at(changes: Any, index: int) -> Any:
    """Return the value at a release, by its changes; what never changes may be written as its value alone.

    >>> at([[0, "a"], [4, "b"]], 5), at([[3, "a"]], 1), at("a", 1)
    ('b', None, 'a')
    """
    if not isinstance(changes, list):
        return changes
    value = None
    for start, given in changes:
        if start > index:
            break
        value = given
    return value


def is_in(releases: Releases, index: int) -> bool:
    """True if a release is in a set of them."""
    return bool(releases >> index & 1)


def run_of(start: int, end: int) -> Releases:
    """Return the releases from one position up to another.

    >>> bin(run_of(1, 3))
    '0b110'
    """
    return (1 << end) - (1 << start) if end > start else 0


def plain_version(version: str) -> str:
    """Return a version without what does not tell releases apart: trailing zeros.

    >>> plain_version("4.57.0") == plain_version("4.57"), plain_version("0.10")
    (True, '0.10')
    """
    version = version.strip().removeprefix("v")
    while version.endswith(".0"):
        version = version[:-2]
    return version


@cache
def load_history(package: str, folder: Path = FOLDER) -> History | None:
    """Return a package's history, by its importable name; None if there is none.

    Args:
        package: Its importable name.
        folder: Where the files `<package>.history` lie.
    """
    file = folder / f"{package}.history"
    return History(package, "\n" + file.read_bytes().decode()) if file.is_file() else None


@cache
def _releases(ranges: str, count: int) -> Releases:
    found = 0
    for part in ranges.split(",") if ranges else ():
        first, dash, last = part.partition("-")
        start = int(first)
        end = (int(last) + 1 if last else count) if dash else start + 1
        found |= run_of(start, end)
    return found


def _trailing_zeros(number: int) -> int:
    return (number & -number).bit_length() - 1
