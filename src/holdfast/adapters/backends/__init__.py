"""Backends: one file each, named after the backend."""

from pkgutil import iter_modules


def backend_names() -> frozenset[str]:
    """Return the names of the backends, taken from the file names, so that none is imported.

    >>> sorted(backend_names())
    ['fake', 'local']
    """
    return frozenset(each.name.replace("_", "-") for each in iter_modules(__path__))
