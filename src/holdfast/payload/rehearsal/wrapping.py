"""Taking the place of functions and methods of libraries, wherever they are known by name, as soon as they are there."""

import functools
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any


def raised_by(call: Callable[[], object]) -> Exception | None:
    """Return what a call raises, of code that may raise anything; None if it returns."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller reports it
        return error
    return None


def reporting(report: Callable[[Exception], object]) -> AbstractContextManager[None]:
    """Return a context that calls a function with what its block raises, and lets it propagate."""
    context: AbstractContextManager[None] = _runtime().Reporting(report)
    return context


def when_imported(name: str, then: Callable[[Any], object]) -> None:
    """Have `then` called with a module: now if it is imported, else as soon as something imports it."""
    _runtime().when_imported(name, then)


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Have `around` called in place of a function, with the function before its arguments; nothing if it has none.

    A classmethod stays one: `around(original, cls, ...)`, where `original` takes the class first.
    """
    kept = vars(owner).get(name) if isinstance(owner, type) else None
    if isinstance(kept, classmethod):
        original = kept.__func__

        @functools.wraps(original)
        def bound(cls: Any, *args: Any, **kwargs: Any) -> Any:
            return around(original, cls, *args, **kwargs)

        setattr(owner, name, classmethod(bound))
    elif hasattr(owner, name):
        _runtime().wrap(owner, name, around)
        if isinstance(kept, staticmethod):
            setattr(owner, name, staticmethod(vars(owner)[name]))


def wrap_everywhere(module: Any, name: str, around: Callable[..., Any]) -> None:
    """Have `around` called in place of a module's function, also where others have imported it already."""
    original = getattr(module, name)
    wrap(module, name, around)
    replace_everywhere(name, original, getattr(module, name))


def replace_everywhere(name: str, old: object, new: object) -> None:
    """Put something in place of what modules have imported from one another under a name."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if type(names) is dict and names.get(name) is old:
            names[name] = new


def every_class(base: Any, name: str, around: Any) -> None:
    """Wrap a method of a class and of those made from it, now and later; the wrappers of ancestors act too."""
    for each in [base, *_below(base)]:
        if name in vars(each):
            wrap(each, name, around)
    before = base.__init_subclass__.__func__ if "__init_subclass__" in vars(base) else None

    def prepare(cls: Any, **kwargs: Any) -> None:
        if before is not None:
            before(cls, **kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        if name in vars(cls):
            wrap(cls, name, around)

    base.__init_subclass__ = classmethod(prepare)  # type: ignore[arg-type]  # a classmethod by its signature


def _below(base: Any) -> list[Any]:
    children: list[Any] = base.__subclasses__()
    return [each for child in children for each in (child, *_below(child))]


def _runtime() -> Any:
    """Return the runtime, which `__main__` has loaded."""
    return sys.modules["holdfast_runtime_source"]
