"""Import that fails in this combination of versions.

## What it does
Checks the versions that the job will use for pairs whose import is known to fail, although each package has the
imported names: trl's trainers import parts of transformers that later releases removed, or assume that optional
packages are installed.

## Why is this bad
No release of trl but 0.12.2 sets an upper bound for transformers. A script that pins only trl gets the newest
transformers, and ends in its first lines: with it, `trl==0.9.6` to `0.22.2` cannot import `DPOTrainer`. `GRPOTrainer`
needed `requests` until trl 1.14.1. trl never required that package, and no dependency has installed it since datasets
5.1. This case is a warning, because another package may install it.

## Fix safety
There is no fix: only you know which of the two versions to change.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.calls.import_failures import ImportFailure, import_failures
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Import
from holdfast.core.job.document import Document

LIKELY = frozenset({"requests", "vllm", "liger-kernel"})
"""Packages that other packages often install, so that the requirements do not show their absence."""
REPAIRS = "unsloth"
"""A package that corrects, when it is imported, which optional packages trl finds."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each import that fails with these versions."""
    for failure in import_failures():
        if _occurs(job, api, failure):
            for each in job.imports:
                if _is_of(api, each, failure) and not each.guard.tolerates("ImportError"):
                    yield _finding(api, each, failure)


def _occurs(job: Document, api: Api, failure: ImportFailure) -> bool:
    """True if an import fails with these versions and requirements, and nothing that the program imports repairs it."""
    if not failure.concerns(api) or _is_required(job.get("environment.requirements", ()), failure.lacks):
        return False
    return not failure.lacks or all(each.module.partition(".")[0] != REPAIRS for each in job.imports)


def _finding(api: Api, each: Import, failure: ImportFailure) -> Finding:
    pair = ", ".join(f"{package} {api.versions[package]}" for package in ("trl", *failure.others))
    message = f"`{each.name}` cannot be imported with {pair}: {failure.error}; {failure.instead}"
    milder = Severity.WARNING if failure.lacks in LIKELY else None
    return Finding("imports", message, severity=milder, place=each.place)


def _is_of(api: Api, each: Import, failure: ImportFailure) -> bool:
    if each.name != failure.name.rpartition(".")[2]:
        return False
    path = f"{each.module}.{each.name}"
    return path == failure.name or (api.home(path) is not None and api.home(path) == api.home(failure.name))


def _is_required(requirements: Any, package: str) -> bool:
    listed = requirements if isinstance(requirements, list | tuple) else ()
    return bool(package) and any(str(each).lower().replace("_", "-").startswith(package) for each in listed)


SCRIPT = """
from trl import DPOConfig, DPOTrainer
"""
REWARDS = SCRIPT.replace("DPO", "GRPO")

RULE = Rule(
    code="IMP106",
    name="failing-import",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Run: each trainer of every release of trl from 0.9.2 to 1.16.0, imported beside transformers 5.23.0, huggingface_hub "
        "2.4.0 and datasets 5.2.0; `catalog/tables/import_failures.toml`. The first release of transformers that breaks each was "
        "read in its wheel and run too: 5.0.0 or 5.3.0."
    ),
    bad=(
        Case(script=SCRIPT, versions={"trl": "0.19.1", "transformers": "5.23.0"}, at="imports"),
        Case(
            script=REWARDS,
            versions={"trl": "1.10.0", "transformers": "5.23.0", "datasets": "5.2.0", "huggingface_hub": "2.4.0"},
            at="imports",
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT, versions={"trl": "0.19.1", "transformers": "4.53.3"}),
        Case(script=SCRIPT.replace("DPO", "SFT"), versions={"trl": "0.19.1", "transformers": "5.23.0"}),
        Case(script=f"import unsloth{SCRIPT}", versions={"trl": "0.24.0", "transformers": "5.23.0"}),
    ),
    kinds=PROGRAMS,
)
