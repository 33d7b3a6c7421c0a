"""A cache of one entry: the result of the last call, for rules that ask the same in a row."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import ParamSpec, TypeVar

Asked = ParamSpec("Asked")
Each = TypeVar("Each")


def cache_last_call(function: Callable[Asked, Iterable[Each]]) -> Callable[Asked, tuple[Each, ...]]:
    """Return the function with its last answer remembered, for as long as it is asked with the very same arguments.

    Arguments are the same when they are one object: documents are long, and no two of them are compared.

    >>> letters = cache_last_call(list)
    >>> letters("ab") is letters("ab"), letters("ab")
    (True, ('a', 'b'))
    """
    last: list[tuple[tuple[object, ...], tuple[Each, ...]]] = []

    @wraps(function)
    def remembering(*args: Asked.args, **kwargs: Asked.kwargs) -> tuple[Each, ...]:
        asked = (*args, *kwargs.values())
        for before, answer in last:
            if len(before) == len(asked) and all(one is other for one, other in zip(before, asked, strict=True)):
                return answer
        answer = tuple(function(*args, **kwargs))
        last[:] = [(asked, answer)]
        return answer

    return remembering
