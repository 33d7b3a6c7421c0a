"""Running rules on a program whose number of processes is not known.

Without a launcher, it is one process, and what is wrong then is reported. If that is right for other numbers, it is a warning that names the wrong ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.check.finding import Finding, Severity, Skip

COUNTS: Final = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64)
"""The numbers that are tried: one machine's, and those of several."""
NAMED: Final = 8
"""Up to so many are named: those of one machine."""


def check_one_process(run: Callable[[int], Iterable[Finding | Skip]]) -> Iterator[Finding | Skip]:
    """Yield the findings for one process; a finding that other numbers do not have is a warning.

    Args:
        run: Runs them for a number of processes.
    """
    alone = list(run(COUNTS[0]))
    others = _with_other_counts(alone, run)
    for result in alone:
        if isinstance(result, Skip):
            yield result
            continue
        also = [any(_is_same(result, each) for each in found) for found in others]
        yield (
            result
            if all(also)
            else _only_for(result, [1, *(n for n, holds in zip(COUNTS[1:], also, strict=True) if holds)])
        )


def check_any_count(run: Callable[[int], Iterable[Finding | Skip]]) -> Iterator[Finding]:
    """Yield the findings that are the same for every number of processes, for a launcher that does not show its number.

    Args:
        run: Runs them for a number of processes.
    """
    first = list(run(COUNTS[0]))
    others = _with_other_counts(first, run)
    for result in first:
        if isinstance(result, Finding) and all(_is_found_as(result, each) for each in others):
            yield result


def _with_other_counts(
    alone: Iterable[Finding | Skip], run: Callable[[int], Iterable[Finding | Skip]]
) -> list[list[Finding | Skip]]:
    """Return the results for the other numbers of processes; none if nothing was found with the first, since none would be reported."""
    is_found = any(isinstance(each, Finding) for each in alone)
    return [list(run(count)) for count in COUNTS[1:]] if is_found else []


def _is_found_as(one: Finding, results: Sequence[Finding | Skip]) -> bool:
    return any(_is_same(one, each) and isinstance(each, Finding) and one.message == each.message for each in results)


def _is_same(one: Finding, other: Finding | Skip) -> bool:
    return isinstance(other, Finding) and (one.rule, one.key, one.place) == (other.rule, other.key, other.place)


def _only_for(finding: Finding, counts: Sequence[int]) -> Finding:
    """Return a finding that some numbers of processes have as the warning that it is."""
    *first, last = (str(count) for count in counts if count <= NAMED)
    named = f"{', '.join(first)} or {last} processes" if first else f"{last} process"
    message = f"{finding.message} (with {named}; nothing says how many there will be)"
    return replace(finding, severity=Severity.WARNING, message=message)
