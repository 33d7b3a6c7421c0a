"""What was asked before in this process, and asking in threads that nobody waits for longer than it may take."""

import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from holdfast.adapters.hub.wire import TRY_AGAIN
from holdfast.core.errors import SourceError
from holdfast.core.outcome import Raised, outcome_of

T = TypeVar("T")
KEPT_S: Final = 300.0
"""For how long an answer is taken for true: longer than any check, shorter than a day of a process that goes on checking."""
FAILED_S: Final = 30.0
"""For how long a question that was not answered is not asked again."""
TOO_LONG: Final = "the Hub took longer than {seconds:g} s in all"


class ResponseCache:
    """Answers by question. Who asks what is being asked already waits for that answer."""

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[float, Future[Any]]] = {}
        self._lock = Lock()

    def find(self, question: Hashable, work: Callable[[], T]) -> Future[T]:
        """Return the answer to a question, perhaps one that is still to come.

        Args:
            question: What tells it from all others.
            work: Finds the answer, where it is not known.
        """
        with self._lock:
            at_s, answer = self._known.get(question, (0.0, None))
            if answer is None or _is_stale(answer, at_s):
                answer = start(work)
                self._known[question] = (time.monotonic(), answer)
        return answer


def _is_stale(answer: Future[Any], at_s: float) -> bool:
    age_s = time.monotonic() - at_s
    failed = answer.done() and answer.exception() is not None
    return age_s > (FAILED_S if failed else KEPT_S)


def start(work: Callable[[], T]) -> Future[T]:
    """Do work in a thread that keeps nobody from leaving, and return its result to come: an error of ours, if any.

    Those of the standard library's pools are waited for when Python ends, so that a host that hangs would hang it.
    """
    result: Future[T] = Future()

    def run() -> None:
        outcome = outcome_of(work)
        if isinstance(outcome, Raised):
            error = outcome.error
            result.set_exception(error if isinstance(error, SourceError) else _unexpected_error(error))
        else:
            result.set_result(outcome)

    Thread(target=run, daemon=True, name="holdfast-hub").start()
    return result


def wait(answer: Future[T], deadline_s: float, timeout_s: float) -> T:
    """Return an answer once it is there.

    Args:
        answer: The answer to come.
        deadline_s: When it is too late, on the monotonic clock.
        timeout_s: How long that was from the beginning, for people.

    Raises:
        SourceError: There is none, or not in time.
    """
    try:
        return answer.result(timeout=max(0.0, deadline_s - time.monotonic()))
    except TimeoutError:
        raise SourceError(TOO_LONG.format(seconds=timeout_s), where="the Hub", fix=TRY_AGAIN) from None


def together(works: Sequence[Callable[[], Any]], deadline_s: float, timeout_s: float) -> list[Any]:
    """Do several things at once, and return the result of each: a SourceError where there is none."""
    results = [start(work) for work in works]
    return [_result(each, deadline_s, timeout_s) for each in results]


def _result(answer: Future[Any], deadline_s: float, timeout_s: float) -> Any:
    try:
        return wait(answer, deadline_s, timeout_s)
    except SourceError as error:
        return error


def _unexpected_error(error: Exception) -> SourceError:
    """Return an error of ours for any other, without its text, which may hold the token."""
    return SourceError(f"asking the Hub failed: {type(error).__name__}", where="the Hub", fix=TRY_AGAIN)
