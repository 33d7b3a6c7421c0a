"""The search for releases that fit together: the best for the package that is requested first, then for the next."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from holdfast.core.environment.versions import can_meet
from holdfast.engine.resolve.releases import OUTSIDE, Choices, Era, Need, PackageReleases

Domains = Mapping[str, Choices]
MOST_STEPS: Final = 5_000
"""Choices to try before giving up; real requirements need fewer than a hundred."""


class Stretch(NamedTuple):
    """An era whose needs can be met.

    Attributes:
        era: The era.
        leaves: What it leaves of each package with a history that it needs.
    """

    era: Era
    leaves: tuple[tuple[str, Choices], ...]


class SearchLimitError(Exception):
    """The search has taken too many steps."""


@dataclass
class Search:
    """What fits together.

    Attributes:
        shelves: What there is of each package that has a history.
        others: Specifiers that are declared for packages without one, by normalized name.
        oldest: Packages of which the oldest release is to be taken; of all others the newest.
    """

    release_index: Mapping[str, PackageReleases]
    others: Mapping[str, str]
    oldest: frozenset[str]
    _steps: int = 0
    _stretches: dict[str, tuple[Stretch, ...]] = field(default_factory=dict[str, tuple[Stretch, ...]])

    def first(self, domains: Domains) -> Domains | None:
        """Return one choice of each package that is needed; None if nothing fits together.

        Args:
            domains: What each declared package may be, in the order of their importance.

        Raises:
            SearchLimitError: It would take too long to tell.
        """
        narrowed = self._narrowed(domains)
        if narrowed is None or not self._others_fit(narrowed):
            return None
        undecided = next((name for name, choices in narrowed.items() if choices.bit_count() > 1), None)
        if undecided is None:
            return narrowed
        for choice in self._by_preference(undecided, narrowed[undecided]):
            self._steps += 1
            if self._steps > MOST_STEPS:
                raise SearchLimitError
            found = self.first({**narrowed, undecided: choice})
            if found is not None:
                return found
        return None

    def needs(self, package: str, choices: Choices) -> tuple[Need, ...]:
        """Return the needs of a package's one chosen release; those of releases outside the history are unknown."""
        return next((era.needs for era, _ in self._possible(package) if era.choices & choices), ())

    def stated(self, package: str, choices: Choices) -> tuple[Need, ...]:
        """Return the same whether or not it can be met."""
        return next((era.needs for era in self.release_index[package].eras if era.choices & choices), ())

    def ever_needed(self, package: str) -> frozenset[str]:
        """Return the packages with a history that some release of a package needs."""
        needs = (need.package for era in self.release_index[package].eras for need in era.needs)
        return frozenset(name for name in needs if name in self.release_index)

    def _possible(self, package: str) -> tuple[Stretch, ...]:
        """Return the eras of a package whose needs can be met beside what is declared of packages without a history."""
        if package not in self._stretches:
            self._stretches[package] = tuple(self._find_possible(self.release_index[package]))
        return self._stretches[package]

    def _find_possible(self, releases: PackageReleases) -> Iterator[Stretch]:
        for era in releases.eras:
            others = ((need.specifier, self.others[need.name]) for need in era.needs if need.name in self.others)
            if all(map(can_meet, others)):
                known = [need for need in era.needs if need.package in self.release_index]
                leaves = tuple((need.package, self._left_by(need)) for need in known)
                yield Stretch(Era(era.choices & releases.everything, era.needs), leaves)

    def _left_by(self, need: Need) -> Choices:
        shelf = self.release_index[need.package]
        return shelf.everything & shelf.fitting(need.specifier)

    def _narrowed(self, domains: Domains) -> Domains | None:
        """Return the domains without what cannot be, and with what all that remains needs; None if one is empty."""
        current, before = dict(domains), None
        while current != before:
            before = dict(current)
            for package in before:
                if not self._narrow(package, current):
                    return None
        return current

    def _narrow(self, package: str, domains: dict[str, Choices]) -> bool:
        """Take from one package's domain what cannot be, and hand on what it needs; tell whether anything is left."""
        kept, handed_on = domains[package] & OUTSIDE, list[dict[str, Choices]]()
        for stretch in self._possible(package):
            choices = stretch.era.choices & domains[package]
            needed = _needed(stretch, domains) if choices else None
            if needed is not None:
                kept |= choices
                handed_on.append(needed)
        domains[package] = kept
        if not kept & OUTSIDE:
            domains.update(_needed_by_all(handed_on))
        return bool(kept)

    def _others_fit(self, domains: Domains) -> bool:
        """True if the packages without a history can meet all that the decided releases ask of them."""
        specifiers_of = {name: [specifier] for name, specifier in self.others.items()}
        for package, choices in domains.items():
            for need in self.needs(package, choices) if choices.bit_count() == 1 else ():
                specifiers_of.setdefault(need.name, []).append(need.specifier)
        return all(can_meet(sorted(set(specifiers))) for specifiers in specifiers_of.values())

    def _by_preference(self, package: str, choices: Choices) -> Iterator[Choices]:
        """Yield each choice alone: from the newest or the oldest on, and last what stands outside the history."""
        known, outside = choices & ~OUTSIDE, choices & OUTSIDE
        while known:
            best = known & -known if package in self.oldest else 1 << (known.bit_length() - 1)
            yield best
            known &= ~best
        if outside:
            yield outside


def _needed(stretch: Stretch, domains: Domains) -> dict[str, Choices] | None:
    """Return the domains that remain of the packages that an era needs; None if one is empty."""
    left: dict[str, Choices] = {}
    for package, choices in stretch.leaves:
        before = left.get(package, domains.get(package))
        left[package] = choices if before is None else before & choices
        if not left[package]:
            return None
    return left


def _needed_by_all(each_needs: Sequence[dict[str, Choices]]) -> Iterator[tuple[str, Choices]]:
    """Yield the packages that every era needs, with the choices that at least one leaves."""
    for name in each_needs[0] if each_needs else ():
        if all(name in needed for needed in each_needs):
            yield name, reduce(or_, (needed[name] for needed in each_needs))
