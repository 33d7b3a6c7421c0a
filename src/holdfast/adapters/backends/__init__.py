"""Places an attempt can run. One file each, named for the backend."""

from pkgutil import iter_modules


def backend_names() -> frozenset[str]:
    """Return the names of the backends, from the files' names: none is imported.

    >>> sorted(backend_names())
    ['local']
    """
    return frozenset(each.name.replace("_", "-") for each in iter_modules(__path__))
