"""Gathering the facts that rules ask for, each at most once, from whoever knows them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from threading import Thread
from typing import Generic, TypeVar

from holdfast.core.errors import SourceError
from holdfast.core.outcome import Raised, outcome_of
from holdfast.engine.check.rule_runner import MissingFact

T = TypeVar("T")


def gather(
    names: Iterable[str], facts: object, *, otherwise: str | None = None, awaited: Collection[str] = ()
) -> dict[str, object | MissingFact]:
    """Return each named fact, or why there is none.

    Args:
        names: The facts' names.
        facts: What has each as a property, which may raise SourceError.
        otherwise: Why a fact is missing that it does not have.
        awaited: Names of facts that may have to be waited for; all of them are waited for at once.

    Raises:
        AttributeError: A rule names a fact that does not exist, and `otherwise` is not given.
    """
    names = sorted(names)
    slow = [name for name in names if name in awaited]
    found = dict(zip(slow, run_concurrently([partial(_fetched, facts, name, otherwise) for name in slow]), strict=True))
    return {name: found[name] if name in found else _fetched(facts, name, otherwise) for name in names}


def run_concurrently(works: Sequence[Callable[[], T]]) -> list[T]:
    """Do several things at once, and return the result of each, in order."""
    if len(works) < 2:  # noqa: PLR2004 - one needs no thread
        return [work() for work in works]
    done = [_Work(work) for work in works]
    threads = [Thread(target=each.do) for each in done]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [each.result() for each in done]


class _Work(Generic[T]):
    """Something to do in a thread of its own. The standard library's pools take longer to import than many a check to wait."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._outcome: list[T | Raised] = []

    def do(self) -> None:
        self._outcome.append(outcome_of(self._work))

    def result(self) -> T:
        (outcome,) = self._outcome
        if isinstance(outcome, Raised):
            raise outcome.error
        return outcome


def _fetched(facts: object, name: str, otherwise: str | None) -> object | MissingFact:
    if otherwise is not None and not hasattr(type(facts), name):
        return MissingFact(otherwise)
    try:
        fact: object = getattr(facts, name)
    except SourceError as error:
        return MissingFact(error.what)
    return fact
