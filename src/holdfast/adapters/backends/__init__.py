"""Backends: one file or package each, named after the backend."""

from pkgutil import iter_modules


def backend_names() -> frozenset[str]:
    """Return the names of the backends, taken from their names, so that none is imported.

    >>> sorted(backend_names())
    ['fake', 'hf-jobs', 'local']
    """
    return frozenset(each.name.replace("_", "-") for each in iter_modules(__path__))
