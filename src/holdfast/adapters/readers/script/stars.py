"""Names that come from `from … import *`."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

from holdfast.catalog.api.history import load_history
from holdfast.core.calls import LibraryName
from holdfast.core.expressions import UNKNOWN


def resolve_starred(modules: Sequence[str], name: str) -> Any:
    """Return what a name stands for that no statement binds but an import of all names.

    Of several modules, the last one that has the name gives it. Which names a module has is known of the libraries in the catalog,
    whatever their release. The standard library has none of theirs.

    Args:
        modules: The modules, in the order of their imports; an empty name is a module beside the script that was not found.
        name: The name.
    """
    if len(modules) == 1:
        return LibraryName(f"{modules[0]}.{name}") if modules[0] else UNKNOWN
    for module in reversed(modules):
        exports = _exports(module)
        if exports is None:
            return UNKNOWN
        if name in exports:
            return LibraryName(f"{module}.{name}")
    return UNKNOWN


def _exports(module: str) -> Collection[str] | None:
    """Return the names that a module has in any release, as far as they matter; None if they are not known."""
    package = module.partition(".")[0]
    history = load_history(package) if package else None
    if history:
        return history.exports(module)
    return () if package in sys.stdlib_module_names else None
