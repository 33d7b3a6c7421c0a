"""Calls whose outcome is not known, because of the code around them: what a rule would report of them is a skip, not a pass.

The rules pass over a call in a branch on a library's version, and over all calls of a program that lets another package replace
the libraries' classes. They are run again on the program without these guards: an error that appears only then depends on
something that the source does not show.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from holdfast.core.check.finding import Finding, Severity, Skip
from holdfast.core.job.calls import AttributeRead, Call, Guard, Import
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import severity_of

Item = TypeVar("Item", Import, Call, AttributeRead)
"""What a guard may stand around."""


def undecided(documents: Iterable[Document], run: Callable[[Document], Iterable[Finding | Skip]]) -> Iterator[Skip]:
    """Yield a skip for each rule that finds an error only without the guards.

    Args:
        documents: What the program says of each job that it trains.
        run: Runs the rules on a document that have reported nothing of the program yet.
    """
    reported = set[str]()
    for document in documents:
        reasons = _reasons(document)
        for finding in _errors(run(_unguarded(document))) if reasons else ():
            if finding.rule and finding.rule.code not in reported:
                reported.add(finding.rule.code)
                yield Skip(finding.rule, (finding.key,), (_nearest_reason(reasons, finding),))


def _errors(results: Iterable[Finding | Skip]) -> Iterator[Finding]:
    return (each for each in results if isinstance(each, Finding) and severity_of(each) is Severity.ERROR)


def _is_open_question(guard: Guard) -> bool:
    """True if a guard keeps the rules from judging what may well run."""
    return bool(guard.because) and not guard.unreachable and not guard.in_handler


def _reasons(document: Document) -> dict[int, str]:
    """Return why nothing is said of a line, by line."""
    items: tuple[Import | Call | AttributeRead, ...] = (*document.imports, *document.calls, *document.reads)
    return {each.place.line or 0: each.guard.because for each in items if _is_open_question(each.guard)}


def _nearest_reason(reasons: dict[int, str], finding: Finding) -> str:
    """Return the reason of the line that is nearest to a finding."""
    line = (finding.place.line if finding.place else 0) or 0
    return reasons[min(reasons, key=lambda each: abs(each - line))]


def _unguarded(document: Document) -> Document:
    """Return a document of which everything may be said that may run."""
    return replace(
        document,
        imports=tuple(_opened(each) for each in document.imports),
        calls=tuple(_opened(each) for each in document.calls),
        reads=tuple(_opened(each) for each in document.reads),
    )


def _opened(item: Item) -> Item:
    if not _is_open_question(item.guard):
        return item
    return replace(item, guard=replace(item.guard, because=""))
