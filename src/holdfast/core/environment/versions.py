"""Versions, specifiers and markers as PEP 440 and PEP 508 spell them; the plain ones without `packaging`.

Plain are versions of numbers alone, and comparisons with them: nearly all that are released and declared. They take a
twentieth of the time, and nothing needs to be imported. What is not plain goes to `packaging`, imported only then.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final

Numbers = tuple[int, ...]
"""A version of numbers alone, without zeros at its end: `4.46.0` is (4, 46)."""
Bounds = tuple[Numbers | None, Numbers | None]
"""The lowest and the highest version that may be meant; None if there is none. Exclusive ends count as inclusive."""

RELEASE_NUMBERS: Final = 3
"""Numbers in the version of a release of torch, transformers, TRL, peft, datasets and accelerate."""
PLAIN: Final = re.compile(r"v?(\d+(?:\.\d+)*)")
CLAUSE: Final = re.compile(r"(>=|<=|===|==|!=|~=|<|>)\s*([^\s,]+)")
MARKER: Final = re.compile(r"""\s*(\w+)\s*(==|!=|<=|>=|<|>)\s*(['"])([^'"]*)\3\s*""")
COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
LOWER: Final = frozenset({">=", ">", "==", "~=", "==="})
UPPER: Final = frozenset({"<=", "<", "==", "==="})


def normalized(name: str) -> str:
    """Return a package's name as an index spells it.

    >>> normalized("Huggingface_Hub")
    'huggingface-hub'
    """
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def numbers(version: str) -> Numbers | None:
    """Return the numbers of a version; None if it has more than numbers.

    >>> numbers("4.46.0"), numbers("5.0.0rc1")
    ((4, 46), None)
    """
    found = PLAIN.fullmatch(version.strip())
    return _without_zeros(found[1]) if found else None


@cache
def clauses(specifier: str) -> tuple[tuple[str, str], ...]:
    """Return the operators and versions of a specifier."""
    return tuple((operator, version) for operator, version in CLAUSE.findall(specifier))


def admits(specifier: str, version: str) -> bool:
    """True if a version fits a specifier, pre-releases included; what cannot be read fits.

    >>> admits(">=4.46,!=4.57.*", "4.57.6"), admits("~=0.12.1", "0.12.2")
    (False, True)
    """
    number, wanted = numbers(version), _plain_clauses(specifier)
    if number is None or wanted is None:
        return _admits_unusual(specifier, version)
    return all(_holds(operator, text, number) for operator, text in wanted)


def can_meet(specifiers: Iterable[str]) -> bool:
    """True if some version may fit all specifiers; only what is sure is denied.

    >>> can_meet([">=0.22,<0.24", "==0.19.1"]), can_meet([">=2", "<3", "!=2.5"])
    (False, True)
    """
    together = ",".join(filter(None, specifiers))
    pins = [version for operator, version in clauses(together) if operator == "==" and "*" not in version]
    if pins:
        return admits(together, pins[0])
    low, high = bounds(together)
    if low is None or high is None:
        return True
    return admits(together, spelled(low)) if low == high else low < high


@cache
def admits_older(specifier: str, than: str) -> bool:
    """True if a specifier may admit something older than a version.

    >>> admits_older(">=4.20,<5", "4.36"), admits_older("!=4.40,>=4.40", "4.36")
    (True, False)
    """
    lowest, _ = bounds(specifier)
    return lowest is None or lowest < (_leading(than) or ())


@cache
def admits_newer(specifier: str, than: str) -> bool:
    """True if a specifier may admit something newer than a version."""
    _, highest = bounds(specifier)
    return highest is None or highest > (_leading(than) or ())


@cache
def bounds(specifier: str) -> Bounds:
    """Return the lowest and the highest version that a specifier may admit.

    >>> bounds(">=4.46,<5"), bounds("~=1.2.0"), bounds("!=3")
    (((4, 46), (5,)), ((1, 2), (1, 3)), (None, None))
    """
    lows = [_leading(version) for operator, version in clauses(specifier) if operator in LOWER]
    highs = [_ceiling(operator, version) for operator, version in clauses(specifier)]
    return max((low for low in lows if low is not None), default=None), min(
        (high for high in highs if high is not None), default=None
    )


def counts(marker: str, environment: Mapping[str, str]) -> bool:
    """True if a requirement with this marker counts; one that cannot be judged does.

    Args:
        marker: Empty if there is none.
        environment: The values of its variables.

    >>> counts('python_version < "3.11"', {"python_version": "3.12"})
    False
    """
    if not marker:
        return True
    ways = [
        [_holds_here(part, environment) for part in re.split(r"\band\b", way)] for way in re.split(r"\bor\b", marker)
    ]
    if any(None in way for way in ways):
        return _counts_unusual(marker, environment)
    return any(map(all, ways))


def _holds_here(comparison: str, environment: Mapping[str, str]) -> bool | None:
    """True if one comparison of a marker holds: of versions if both are some, else of texts; None if it is not plain."""
    found = MARKER.fullmatch(comparison)
    if found is None or found[1] not in environment:
        return None
    ours, theirs, compare = environment[found[1]], found[4], COMPARE[found[2]]
    one, other = numbers(ours), numbers(theirs)
    return bool(compare(ours, theirs) if one is None or other is None else compare(one, other))


def spelled(number: Numbers) -> str:
    """Return a version of numbers as text."""
    return ".".join(map(str, number)) or "0"


def spelled_release(number: Numbers) -> str:
    """Return a version as its release calls itself: `peft==0.18` installs what says that it is 0.18.0.

    >>> spelled_release((0, 18)), spelled_release((2, 13, 1))
    ('0.18.0', '2.13.1')
    """
    return spelled((*number, *(0,) * (RELEASE_NUMBERS - len(number))))


@cache
def _plain_clauses(specifier: str) -> tuple[tuple[str, str], ...] | None:
    """Return the clauses if all compare with numbers alone."""
    parts = [part.strip() for part in specifier.split(",") if part.strip()]
    found = [CLAUSE.fullmatch(part) for part in parts]
    pairs = [(each[1], each[2]) for each in found if each]
    return tuple(pairs) if len(pairs) == len(parts) and all(_is_plain(*pair) for pair in pairs) else None


def _is_plain(operator: str, version: str) -> bool:
    if operator in {"==", "!="}:
        return numbers(version.removesuffix(".*")) is not None
    return operator != "===" and numbers(version) is not None and (operator != "~=" or "." in version)


def _holds(operator: str, text: str, number: Numbers) -> bool:
    if text.endswith(".*"):
        return _begins(number, text.removesuffix(".*")) is (operator == "==")
    bound = numbers(text) or ()
    if operator == "~=":
        return number >= bound and _begins(number, text.rpartition(".")[0])
    return bool(COMPARE[operator](number, bound))


def _begins(number: Numbers, prefix: str) -> bool:
    """True if a version begins with the numbers of a text, each of them counted."""
    wanted = tuple(map(int, prefix.removeprefix("v").split(".")))
    return (number + (0,) * len(wanted))[: len(wanted)] == wanted


def _ceiling(operator: str, text: str) -> Numbers | None:
    """Return the highest version that one clause may admit."""
    found = PLAIN.match(text)
    if found is None:
        return None
    if operator == "~=" or text.endswith(".*"):
        kept = list(map(int, found[1].split(".")))
        kept = kept[:-1] if operator == "~=" else kept
        return (*kept[:-1], kept[-1] + 1) if kept and operator in {"~=", "=="} else None
    return _without_zeros(found[1]) if operator in UPPER else None


def _leading(version: str) -> Numbers | None:
    """Return the numbers with which a version begins."""
    found = PLAIN.match(version)
    return _without_zeros(found[1]) if found else None


def _without_zeros(text: str) -> Numbers:
    found = tuple(map(int, text.split(".")))
    while found and not found[-1]:
        found = found[:-1]
    return found


@cache
def _admits_unusual(specifier: str, version: str) -> bool:
    specifiers, versions = import_module("packaging.specifiers"), import_module("packaging.version")
    try:
        return bool(specifiers.SpecifierSet(specifier).contains(versions.Version(version), prereleases=True))
    except (specifiers.InvalidSpecifier, versions.InvalidVersion):
        return True


def _counts_unusual(marker: str, environment: Mapping[str, str]) -> bool:
    markers = import_module("packaging.markers")
    try:
        return bool(markers.Marker(marker).evaluate(dict(environment)))
    except (markers.InvalidMarker, markers.UndefinedComparison, markers.UndefinedEnvironmentName, ValueError):
        return True
