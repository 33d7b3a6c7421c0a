"""Saying what is wrong with a job before it costs anything, and explaining the rules."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.adapters.datasets import LocalDatasets
from holdfast.adapters.machine import LocalMachine
from holdfast.adapters.models import LocalModels
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import Target, read_target
from holdfast.core.errors import UsageError, flatten
from holdfast.core.finding import Finding, Skip
from holdfast.core.job import job_schema
from holdfast.engine.answers import Checked, Unread, answer_check
from holdfast.engine.check import needed_facts, run_rules, select
from holdfast.engine.gather import Sources, gather
from holdfast.engine.pages import render_keys, render_page
from holdfast.rules import all_rules

Answer = dict[str, Any]


def check(
    targets: Sequence[str],
    *,
    sets: Sequence[str] = (),
    only: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool = False,
) -> Answer:
    """Say what is wrong with jobs before they cost anything.

    Args:
        targets: Job files.
        sets: Overrides, `KEY=VALUE`.
        only: Prefixes of the rule codes to ask; all where none is given.
        ignore: Prefixes of the rule codes to leave out.
        strict: Whether a rule that could not be asked counts as a failure.

    Raises:
        UsageError: The only target cannot be read.
        ExceptionGroup: Of a JobError for everything wrong with the only target's schema.
    """
    begun = time.perf_counter()
    checked = [_check_path(path, sets, only, ignore, alone=len(targets) == 1) for path in targets]
    return answer_check(checked, elapsed_s=time.perf_counter() - begun, strict=strict)


def _check_path(
    path: str, sets: Sequence[str], only: Sequence[str], ignore: Sequence[str], *, alone: bool
) -> Checked | Unread:
    """Check one of several targets; that one cannot be read does not keep the others from being checked."""
    try:
        return check_target(_read_job(path, sets), only=only, ignore=ignore)
    except (UsageError, ExceptionGroup) as error:
        if alone or not (errors := flatten(error)):
            raise
        return Unread(path=path, errors=tuple(errors))


def _read_job(path: str, sets: Sequence[str]) -> Target:
    asked = read_target(path, sets)
    if asked.job is None:
        raise UsageError("`check` does not read scripts yet", where=path, fix="name job files (.yaml)")
    return asked


def check_target(asked: Target, *, only: Sequence[str] = (), ignore: Sequence[str] = ()) -> Checked:
    """Ask the rules about one target. A script is read by rules that are still to come: none are asked."""
    results = list(_ask(asked, tuple(only), tuple(ignore)))
    return Checked(
        document=asked.document,
        method=asked.job.method.value if asked.job else None,
        findings=tuple(result for result in results if isinstance(result, Finding)),
        skips=tuple(result for result in results if isinstance(result, Skip)),
        place_edits=JobFileReader().place_edits,
    )


def _ask(asked: Target, only: tuple[str, ...], ignore: tuple[str, ...]) -> Iterator[Finding | Skip]:
    if asked.job is None:
        return
    rules = list(select(all_rules(), only=only, ignore=ignore))
    sources = Sources(datasets=LocalDatasets(), machines=LocalMachine(), models=LocalModels())
    yield from run_rules(rules, asked.document, gather(needed_facts(rules), asked.job, sources))


def explain(code: str) -> Answer:
    """Give a rule's page, or the schema of a job file.

    Raises:
        UsageError: There is no such rule.
    """
    if code == "job":
        schema = job_schema()
        return {"schema": 1, "verb": "explain", "about": schema, "text": render_keys(schema)}
    for rule in all_rules():
        if code.upper() == rule.code or code.lower() == rule.name:
            return {"schema": 1, "verb": "explain", "about": rule.summary(), "text": render_page(rule)}
    known = ", ".join(rule.code for rule in all_rules())
    raise UsageError(f"no rule is called {code!r}", where="holdfast explain", fix=f"use one of {known}, or `job`")
