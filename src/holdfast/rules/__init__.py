"""Knowledge about jobs that fail: one file per rule. A new file is discovered automatically.

The rules in `rows` check the rows themselves. They apply to datasets, and to jobs and scripts whose rows can be read
here: no other check imports them.
"""

from functools import cache
from importlib import import_module
from pkgutil import ModuleInfo, iter_modules
from types import MappingProxyType
from typing import Final

from holdfast.core.check.finding import Rule

AREAS: Final = MappingProxyType(
    {
        "ARG": "arguments",
        "CMB": "combinations of arguments",
        "DAT": "datasets and their rows",
        "DEP": "dependencies and versions",
        "DST": "distributed training",
        "EVL": "evaluation",
        "HUB": "the Hub: repositories, tokens, pushes",
        "IMP": "imports",
        "JOB": "job files and submitted jobs",
        "MOD": "models and tokenizers",
        "PRC": "precision and kernels",
        "REP": "reproducibility",
        "RES": "memory, disk, time and cost",
        "RSM": "checkpoints and resuming",
        "RWD": "rewards",
        "SYN": "unreadable files and ignore comments",
        "TRK": "tracking",
    }
)
"""What the rules of an area are about, by the three letters with which their codes begin."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Return every rule, sorted by code."""
    return tuple(sorted((*rules_of_jobs(), *rules_of_rows()), key=lambda rule: rule.code))


@cache
def rules_of_jobs() -> tuple[Rule, ...]:
    """Return the rules about what a job says, and about what it names, sorted by code."""
    return _rules_in(__name__)


@cache
def rules_of_rows() -> tuple[Rule, ...]:
    """Return the rules about rows of datasets, and what tokenizers and reward functions make of them, sorted by code."""
    return _rules_in(f"{__name__}.rows")


@cache
def find_rule(code: str) -> Rule:
    """Return one rule by its code; the others are not imported.

    Raises:
        KeyError: There is no such rule.

    >>> find_rule("ARG101").name
    'renamed-argument'
    """
    packages = (__name__, f"{__name__}.rows")
    modules = {each.name[:6].upper(): f"{package}.{each.name}" for package in packages for each in _modules_in(package)}
    rule: Rule = import_module(modules[code]).RULE
    return rule


@cache
def rule_names() -> dict[str, str]:
    """Return the name of each rule by its code, from the files' names: no rule is imported.

    >>> rule_names()["ARG101"]
    'renamed-argument'
    """
    packages = (__name__, f"{__name__}.rows")
    names = sorted(each.name for package in packages for each in _modules_in(package))
    return {code.upper(): name.replace("_", "-") for code, _, name in (each.partition("_") for each in names)}


def _modules_in(package: str) -> list[ModuleInfo]:
    return [each for each in iter_modules(import_module(package).__path__) if not each.ispkg]


def _rules_in(package: str) -> tuple[Rule, ...]:
    """Import every module of a package and return its `RULE`, sorted by code."""
    modules = [import_module(f"{package}.{each.name}") for each in _modules_in(package)]
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))
