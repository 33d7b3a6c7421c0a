"""What can be chosen from: each package's releases as a set of bits, and what each of them needs.

Bit 0 of a set stands for something outside the history: a release before the first known, a repository, a folder. Bit
i + 1 stands for the i-th release. What bit 0 needs in its turn is not known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, reduce
from itertools import pairwise
from operator import or_
from typing import Final, NamedTuple

from holdfast.catalog.api.history import History, at, run_of
from holdfast.core.environment.requirement import RequirementProblem, parse_metadata
from holdfast.core.environment.versions import admits, admits_older, counts, normalized

Choices = int
OUTSIDE: Final[Choices] = 1
LINUX: Final = {
    "os_name": "posix",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
}
"""Where training jobs run, for markers."""


class Need(NamedTuple):
    """One thing that a release needs.

    Attributes:
        name: The name to install, normalized.
        specifier: The versions that do.
        extras: Of it.
    """

    name: str
    specifier: str
    extras: frozenset[str] = frozenset()

    @property
    def package(self) -> str:
        """The name under which the history would know it."""
        return self.name.replace("-", "_")


class Era(NamedTuple):
    """Releases that need the same.

    Attributes:
        choices: Which.
        needs: What.
    """

    choices: Choices
    needs: tuple[Need, ...]


@dataclass(frozen=True, kw_only=True)
class PackageReleases:
    """The releases of one package, for one Python.

    Attributes:
        history: The package's.
        python: `3.12`.
        extras: The requested extras.
        outside: Version of what stands outside the history, where it has a number; empty otherwise.
        anything: Whether what stands outside may be of any version: a repository, a folder.
        limit: Versions it may have if it is needed at all.
        before: The day from which on releases do not count, as `YYYY-MM-DD`; empty if all do.
    """

    history: History
    python: str
    extras: frozenset[str] = frozenset()
    outside: str = ""
    anything: bool = False
    limit: str
    before: str

    def fitting(self, specifier: str) -> Choices:
        """Return the releases that a specifier admits."""
        return _releases_within(self.history, specifier) | (OUTSIDE if self._outside_fits(specifier) else 0)

    def _outside_fits(self, specifier: str) -> bool:
        if self.anything:
            return True
        return admits(specifier, self.outside) if self.outside else admits_older(specifier, self.history.versions[0])

    @property
    def outside_is_newer(self) -> bool:
        """Whether what stands outside the history is newer than all in it."""
        return bool(self.outside) and not admits(f"<={self.history.versions[-1]}", self.outside)

    @cached_property
    def everything(self) -> Choices:
        """Return all available releases: those that run with this Python, are old enough, and are within the limit."""
        found = OUTSIDE
        for releases, needed in self.history.stretches(self.history.about.get("python")):
            found |= releases << 1 if not needed or admits(needed, self.python) else 0
        return found & self.fitting(self.limit) & self._old_enough() if self.limit or self.before else found

    def _old_enough(self) -> Choices:
        """Return the releases from before the cutoff date; one without a date counts."""
        dates = self.history.about.get("dates", ())
        late = (2 << index for index, date in enumerate(dates) if self.before and date >= self.before)
        return ~reduce(or_, late, 0)

    @cached_property
    def eras(self) -> tuple[Era, ...]:
        """Return the releases by what they need."""
        return _eras(self.history, self.python, self.extras)


@lru_cache(maxsize=256)  # the packages with a history, for the Pythons and extras of a folder's projects
def _eras(history: History, python: str, extras: frozenset[str]) -> tuple[Era, ...]:
    about, count = history.about, len(history.versions)
    changes = [about.get("requires"), about.get("extras") if extras else None]
    starts = {0, *(start for each in changes if isinstance(each, list) for start, _ in each)}
    ends = pairwise(sorted(starts | {count}))
    return tuple(Era(run_of(start, end) << 1, tuple(_needs(history, start, python, extras))) for start, end in ends)


def _needs(history: History, index: int, python: str, extras: frozenset[str]) -> Iterator[Need]:
    yield from _read(tuple(at(history.about.get("requires"), index) or ()), python, "")
    offered = at(history.about.get("extras"), index) or {}
    todo, done = sorted(extras), set[str]()
    while todo:
        extra = todo.pop()
        done.add(extra)
        for need in _read(tuple(_named(offered, extra)), python, extra):
            if need.package == history.package:  # `trl[peft]`, of an extra that gathers others
                todo += need.extras - done
            else:
                yield need


@cache
def _releases_within(history: History, specifier: str) -> Choices:
    """Return the releases that fit a specifier; bit 0 is left out."""
    return sum(2 << index for index, version in enumerate(history.versions) if admits(specifier, version))


def _named(offered: Mapping[str, list[str]], extra: str) -> list[str]:
    return next((needed for name, needed in offered.items() if normalized(name) == extra), [])


@cache
def _read(texts: tuple[str, ...], python: str, extra: str) -> tuple[Need, ...]:
    """Return the needs that apply, from requirements as a release states them."""
    environment = environment_of(python) | {"extra": extra}
    return tuple(need for need, marker in map(_parsed, texts) if need and counts(marker, environment))


def environment_of(python: str) -> dict[str, str]:
    """Return the values that markers compare with."""
    return {**LINUX, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}


@cache
def _parsed(text: str) -> tuple[Need | None, str]:
    """Return a requirement of a release with its marker; none of one that names an address."""
    found = parse_metadata(text)
    if isinstance(found, RequirementProblem) or found.url:
        return None, ""
    return Need(found.name, found.specifier, found.extras), found.marker
