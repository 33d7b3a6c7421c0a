"""A cache of one entry: the outcome of the last call, for rules that ask the same in a row."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

from holdfast.core.outcome import Raised, outcome_of

Asked = ParamSpec("Asked")
Each = TypeVar("Each")


def cache_last_call(function: Callable[Asked, Iterable[Each]]) -> Callable[Asked, tuple[Each, ...]]:
    """Return the function with a cache of its last outcome, which is used while the arguments stay the same objects.

    Documents are long, so two of them are never compared. An exception is cached too, and raised again.

    >>> letters = cache_last_call(list)
    >>> letters("ab") is letters("ab"), letters("ab")
    (True, ('a', 'b'))
    """
    last: list[tuple[tuple[object, ...], tuple[Each, ...] | Raised]] = []

    @wraps(function)
    def remembering(*args: Asked.args, **kwargs: Asked.kwargs) -> tuple[Each, ...]:
        arguments = (*args, *kwargs.values())
        if not (last and _are_same(last[0][0], arguments)):
            last[:] = [(arguments, outcome_of(lambda: tuple(function(*args, **kwargs))))]
        outcome = last[0][1]
        if isinstance(outcome, Raised):
            raise outcome.error.with_traceback(None)
        return outcome

    return remembering


def _are_same(ones: tuple[object, ...], others: tuple[object, ...]) -> bool:
    return len(ones) == len(others) and all(one is other for one, other in zip(ones, others, strict=True))
