"""Checking one target: reading it, asking the rules, and taking out what a comment lets pass."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from msgspec import structs

from holdfast.adapters.targets import Target, read_target
from holdfast.app.check import programs
from holdfast.app.check.target_request import COMMAND_LINE, IGNORES, STANDARD_INPUT, TargetRequest, local_rows
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.core.errors import GroupedError, HoldfastError, JobError, SourceError, UsageError, flatten
from holdfast.core.facts import HUB_FACTS
from holdfast.core.finding import Finding, Rule
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.text import Place
from holdfast.engine.check.answers import CheckedTarget, UnreadableTarget, target_result
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.rule_runner import select
from holdfast.engine.check.suppress import MARK, split_suppressed
from holdfast.engine.references import references
from holdfast.results.check import ChecklistItem, TargetResult
from holdfast.rules import all_rules, rules_of_jobs

PROGRAMS = (".py", ".ipynb")


class TargetOutcome(NamedTuple):
    """The result of one target, and what it rests on.

    Attributes:
        result: What was found.
        modules: Names of the modules that were looked for beside it.
        reads_more: Whether it rests on other files too, or on what the Hub says.
    """

    result: TargetResult
    modules: frozenset[str]
    reads_more: bool = False


def check_target(request: TargetRequest, *, alone: bool = False) -> TargetOutcome:
    """Return the answer about one target. What keeps it from being read is a finding of its own.

    Args:
        request: The request.
        alone: Whether nothing else is asked about: then a target that is not there, or a job file that breaks its
            schema, is a wrong request. A script that is no Python never is.

    Raises:
        UsageError: It is, and cannot be read.
        ExceptionGroup: It is, and breaks the schema of a job file; what rules object to in the rest of the file is in it.
    """
    try:
        target = read_check_target(request)
        checked = check_rules(target, request)
    except (UsageError, ExceptionGroup) as error:
        errors = flatten(error)
        if not errors:
            raise
        if all(isinstance(each, JobError) for each in errors):
            from holdfast.app.check.broken_jobs import rule_errors  # of pydantic, which no script's check imports

            errors += rule_errors(request)
        if alone and not _is_broken_program(request.path, errors):
            raise GroupedError(str(error), errors) if errors[1:] else error from None
        return _unreadable(request, *errors)
    result = structs.replace(
        target_result(checked, edits=request.edits),
        path=request.path,
        unasked=request.hub.value if _is_passed_by(target, request) else None,
        checklist=_checklist(request, target, checked) if request.checklist else None,
    )
    return TargetOutcome(
        result, target.modules, target.reads_more or request.checklist or _looks_outside(target, request)
    )


def _unreadable(request: TargetRequest, *errors: HoldfastError) -> TargetOutcome:
    return TargetOutcome(target_result(UnreadableTarget(path=request.path, errors=errors)), frozenset())


def check_one_of_many(request: TargetRequest) -> TargetOutcome:
    """Return the answer about one of several targets; a failure of holdfast itself is a finding about that target alone."""
    outcome = outcome_of(partial(check_target, request))
    if not isinstance(outcome, Raised):
        return outcome
    what = f"holdfast failed on this file: {type(outcome.error).__name__}: {outcome.error}"
    return _unreadable(request, SourceError(what[:300], where=request.path, fix="report it, with the file"))


def read_check_target(request: TargetRequest, text: str | None = None) -> Target:
    """Read a request's target, or, in the place of what the file holds, another text.

    Raises:
        UsageError: It cannot be read.
        ExceptionGroup: It breaks the schema of a job file.
    """
    if request.path == COMMAND_LINE:
        from holdfast.adapters.targets.commands import read_line

        return read_line(request.arguments)
    return read_target(request.path, request.sets, request.arguments, text=text)


def _looks_outside(target: Target, request: TargetRequest) -> bool:
    """True if an answer rests on what is outside now, and may be another the next time."""
    if request.hub is HubAccess.WALKED:
        return _names_local(target, open_outside(target.document, request.hub))
    return any(references(document) for document in target.documents)


def check_rules(target: Target, request: TargetRequest) -> CheckedTarget:
    """Ask the rules about one target."""
    concerned: Iterable[Rule] = all_rules() if local_rows(target, request.hub) else rules_of_jobs()
    rules = list(select(concerned, only=request.only, ignore=request.ignore))
    first = [rule for rule in rules if IGNORES not in rule.needs]
    checked = _check(target, first, request)
    standing, passed = split_suppressed(checked.findings, target.documents)
    if any(MARK in document.text for document in target.documents):
        # Few files have such a comment, and only for them every rule is imported.
        from holdfast.app.check.ignores import find_unused

        standing += find_unused(target, rules, checked, passed)
    return replace(
        checked, findings=tuple(sorted(standing, key=_position)), let_pass=tuple(passed), can_place=target.can_place
    )


def _check(target: Target, rules: Sequence[Rule], request: TargetRequest) -> CheckedTarget:
    """Check a job file or a program: what the first needs, its schema and its facts, takes longer to import than a script takes to check."""
    outside = open_outside(target.document, request.hub)
    if target.job:
        from holdfast.app.check import jobs

        return jobs.check(target, target.job, rules, outside, request.hub)
    checked = programs.check(target, rules, request.resolve, outside)
    if request.hub is not HubAccess.WALKED:
        return checked
    local = _names_local(target, outside)
    open_ = (
        skip
        for skip in checked.skips
        if skip.because != request.hub.value and (local or not skip.rule.needs & HUB_FACTS)
    )
    return replace(checked, skips=tuple(open_))


def _names_local(target: Target, outside: ReferenceResolver) -> bool:
    """True if a target names data or a model of this machine."""
    named = (each for document in target.documents for each in references(document))
    return any(each.local or outside.here.holds(each.name.partition("/")[0]) for each in named)


def _is_passed_by(target: Target, request: TargetRequest) -> bool:
    """True if the Hub is not asked about a program, since it was found in a folder."""
    return request.hub is HubAccess.WALKED and target.job is None


def _checklist(request: TargetRequest, target: Target, checked: CheckedTarget) -> list[ChecklistItem]:
    from holdfast.app.check.checklists import fill_checklists  # which imports what no other check needs

    return fill_checklists(request, target, checked)


def _position(finding: Finding) -> tuple[str, int, int, int, str]:
    """Return where a finding stands in the order of its file."""
    place = finding.place or Place("")
    code = finding.rule.code if finding.rule else ""
    return place.path, place.cell or 0, place.line or 0, place.column or 0, code


def _is_broken_program(path: str, errors: Sequence[HoldfastError]) -> bool:
    return path.endswith((*PROGRAMS, STANDARD_INPUT)) and all(error.spot.line is not None for error in errors)
