"""One set of requirements, made ready for the search; and if nothing fits, which of them are to blame."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from holdfast.catalog.api import load_history, packages
from holdfast.core.environment.versions import can_meet
from holdfast.engine.resolve.releases import OUTSIDE, Choices, PackageReleases
from holdfast.engine.resolve.resolution import Constraint
from holdfast.engine.resolve.search import Domains, Search
from holdfast.engine.resolve.uncertainty import number_outside, why_outside


class ReleaseIndex(Mapping[str, PackageReleases]):
    """The shelves of all packages with a history, each filled when it is requested."""

    def __init__(self, names: Iterable[str], fill: Callable[[str], PackageReleases]) -> None:
        self._names, self._fill = frozenset(names), fill
        self._filled: dict[str, PackageReleases] = {}

    def __getitem__(self, name: str) -> PackageReleases:
        if name not in self._filled:
            if name not in self._names:
                raise KeyError(name)
            self._filled[name] = self._fill(name)
        return self._filled[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, kw_only=True)
class ResolverInput:
    """Requirements, and the releases that might meet them.

    Attributes:
        wishes: What is declared, by importable name.
        python: The Python that runs it.
        date: Of the history.
        folder: Where the histories lie.
        limits: What is declared only for the case that something needs it.
        before: The day from which on releases do not count; empty if all do.
        lowest: Whether the lowest release that a declared range admits is requested.
    """

    wishes: Mapping[str, Constraint]
    python: str
    date: str
    folder: Path
    limits: Mapping[str, Constraint]
    before: str
    lowest: bool = False

    @cached_property
    def release_index(self) -> Mapping[str, PackageReleases]:
        """What there is of each package with a history."""
        return ReleaseIndex(packages(self.folder), self._shelf)

    @cached_property
    def outside(self) -> Mapping[str, str]:
        """The declared packages that are no release of the history, and why."""
        reasons = {
            name: why_outside(name, wish, self.release_index[name], self.date)
            for name, wish in self.wishes.items()
            if name in self.release_index
        }
        return {name: why for name, why in reasons.items() if why}

    @cached_property
    def search(self) -> Search:
        """What finds releases that fit together."""
        declared = {**self.limits, **self.wishes}
        others = {wish.first.name: wish.specifier for name, wish in declared.items() if name not in self.release_index}
        oldest = frozenset(name for name, wish in self.wishes.items() if self.lowest and wish.has_floor)
        return Search(self.release_index, others, oldest)

    def solved(self) -> Domains | None:
        """Return one choice of each package that is needed; None if nothing fits together.

        Raises:
            SearchLimitError: It would take too long to tell.
        """
        domains = {name: self.admitted(name) for name in self.wishes if name in self.release_index}
        return self.search.first(domains) if all(domains.values()) else None

    def newest(self, package: str) -> Choices:
        """Return the newest release of a package that runs with this Python."""
        return 1 << (self.release_index[package].everything.bit_length() - 1)

    def outside_because(self, package: str) -> str:
        """Return why a package is no release of the history."""
        oldest = self.release_index[package].history.versions[0]
        return self.outside.get(package, f"only releases older than {oldest}, the oldest known, fit the rest")

    def may_be_newer(self, package: str) -> bool:
        """True if a package may be a release newer than the history, and ask for less than those in it."""
        return package in self.outside and self.release_index[package].outside_is_newer

    def admitted(self, package: str) -> Choices:
        """Return the releases that a package's own requirements admit."""
        if package in self.outside:
            free = self.wishes[package].url or self.wishes[package].hidden
            return OUTSIDE if free or can_meet([self.wishes[package].specifier]) else 0
        shelf = self.release_index[package]
        return shelf.everything & shelf.fitting(self.wishes[package].specifier)

    def blamed(self) -> tuple[str, ...]:
        """Return the fewest declared packages that cannot be had together."""
        kept = {name: wish for name, wish in self.wishes.items() if self._may_conflict(name, wish)}
        for name in tuple(kept):
            fewer = {other: wish for other, wish in kept.items() if other != name}
            if replace(self, wishes=fewer).solved() is None:
                kept = fewer
        return tuple(kept)

    def _may_conflict(self, name: str, wish: Constraint) -> bool:
        """False of a declared package that no other concerns: a lock has hundreds of them."""
        return name in self.release_index or wish.first.name in self._ever_needed or not can_meet([wish.specifier])

    @cached_property
    def _ever_needed(self) -> frozenset[str]:
        """The names to install of all that a release of the history needs."""
        eras = (era for releases in self.release_index.values() for era in releases.eras)
        return frozenset(need.name for era in eras for need in era.needs)

    def conflict(self, blamed: Iterable[str]) -> str:
        """Return in words that some declared packages cannot be had together, and why."""
        texts = [f"`{self.wishes[name].first.text or name}`" for name in blamed] or ["what is declared"]
        which = " and ".join(texts) if len(texts) > 1 else f"{texts[0]} with Python {self.python}"
        why = "; ".join(self._quarrels(blamed))
        return f"{which} cannot be installed" + (f" together: {why}" if why else " together" if len(texts) > 1 else "")

    def _quarrels(self, blamed: Iterable[str]) -> Iterator[str]:
        """Yield the requirements of a requested release that conflict with the other requirements."""
        for name in (each for each in blamed if each in self.release_index):
            choices = self.admitted(name)
            if choices == OUTSIDE or choices.bit_count() != 1:
                continue
            version = self.version(name, choices)
            for need in self.search.stated(name, choices):
                wish = self.wishes.get(need.package)
                if wish and not self._agree(need.package, need.specifier):
                    yield f"{name} {version} needs {need.name}{need.specifier}"

    def _agree(self, package: str, specifier: str) -> bool:
        if package in self.release_index:
            return bool(self.admitted(package) & self.release_index[package].fitting(specifier))
        return can_meet((self.wishes[package].specifier, specifier))

    def version(self, package: str, choice: Choices) -> str:
        """Return the release that a choice stands for."""
        return self.release_index[package].history.versions[choice.bit_length() - 2]

    def _shelf(self, package: str) -> PackageReleases:
        history = load_history(package, self.folder)
        if history is None:
            raise KeyError(package)
        wish, limit = self.wishes.get(history.package), self.limits.get(history.package)
        plain = PackageReleases(
            history=history,
            python=self.python,
            limit=limit.specifier if limit else "",
            before=self.before,
        )
        if wish is None:
            return plain
        known = plain.fitting(wish.specifier) & ~OUTSIDE
        number = "" if known else number_outside(wish)
        return replace(plain, extras=wish.extras, outside=number, anything=bool(wish.url or wish.hidden))
