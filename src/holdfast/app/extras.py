"""Extras of the package: what a verb needs beyond the base installation."""

from collections.abc import Sequence
from importlib.util import find_spec

from holdfast.adapters.environment.extras import install_command
from holdfast.core.errors import UsageError


def require_extra(extra: str, needed: Sequence[str], what: str) -> None:
    """Look whether the modules of an extra are installed.

    Args:
        extra: The extra that brings them.
        needed: The modules.
        what: What needs them, as the subject of a sentence.

    Raises:
        UsageError: One is not.
    """
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise UsageError(f"{what} needs {', '.join(missing)}", where="this environment", fix=install_command(extra))
