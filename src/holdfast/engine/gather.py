"""Gathering the facts that rules ask for, each at most once, from whoever knows them."""

from collections.abc import Iterable

from holdfast.core.errors import SourceError
from holdfast.engine.check import Missing


def gather(names: Iterable[str], facts: object, *, otherwise: str | None = None) -> dict[str, object | Missing]:
    """Return each named fact, or why there is none.

    Args:
        names: The facts' names.
        facts: What has each as a property, which may raise SourceError.
        otherwise: Why a fact is missing that it does not have.

    Raises:
        AttributeError: A rule names a fact that nobody can find, and `otherwise` is not given.
    """
    return {name: _fetched(facts, name, otherwise) for name in names}


def _fetched(facts: object, name: str, otherwise: str | None) -> object | Missing:
    if otherwise is not None and not hasattr(type(facts), name):
        return Missing(otherwise)
    try:
        fact: object = getattr(facts, name)
    except SourceError as error:
        return Missing(error.what)
    return fact
