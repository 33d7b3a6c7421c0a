"""What we know of jobs that fail. One file a rule; a new file is found by itself."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from holdfast.core.finding import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Import every module of this package and return its `RULE`, sorted by code."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))
