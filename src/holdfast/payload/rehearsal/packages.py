"""Which packages the job has: those of this environment, and those that its own environment has and this one lacks."""

import importlib.util
from collections.abc import Iterable

_elsewhere: set[str] = set()


def declare_elsewhere(modules: Iterable[str]) -> None:
    """Take modules for installed, although they cannot be imported here: the job's own environment has them."""
    _elsewhere.update(modules)


def is_installed(module: str) -> bool:
    """True if the job can import a module."""
    return module in _elsewhere or importlib.util.find_spec(module) is not None
