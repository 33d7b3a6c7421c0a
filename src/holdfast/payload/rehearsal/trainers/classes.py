"""Methods of a class and of all that are made from it, in whose place something of a rehearsal is put."""

from typing import Any

from ..telling import wrap


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

    base.__init_subclass__ = classmethod(prepare)  # type: ignore[arg-type]


def _below(base: Any) -> list[Any]:
    children: list[Any] = base.__subclasses__()
    return [each for child in children for each in (child, *_below(child))]
