"""Checking one target: reading it, running the rules, and taking out the findings that comments suppress."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from msgspec import structs

from holdfast.adapters.targets import Target, read_target
from holdfast.app.check import programs
from holdfast.app.check.script_rows import rows_at_hand
from holdfast.app.check.target_request import (
    COMMAND_LINE,
    IGNORES,
    INSPECTED,
    TargetRequest,
    local_rows,
    refuse_overrides,
)
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.core.check.facts import HUB_FACTS
from holdfast.core.check.finding import Finding, Rule
from holdfast.core.errors import GroupedError, HoldfastError, JobError, SourceError, UsageError, flatten
from holdfast.core.job.target_kind import target_kind
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.text.places import Place
from holdfast.engine.check.answers import UNREADABLE, CheckedTarget, UnreadableTarget, target_result
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.rule_runner import run_rules, select
from holdfast.engine.check.suppress import MARK, Ignore, split_suppressed
from holdfast.engine.check.unused_ignores import IgnoreUsage, unused_ignores
from holdfast.engine.references import references
from holdfast.results.check import ChecklistItem, TargetResult
from holdfast.rules import all_rules, rules_of_jobs


class TargetOutcome(NamedTuple):
    """The result of one target, and what it depends on.

    Attributes:
        result: The result.
        modules: Names of the modules that were looked for next to the target.
        reads_more: Whether it also depends on other files or on the Hub.
    """

    result: TargetResult
    modules: frozenset[str]
    reads_more: bool = False


def check_target(request: TargetRequest, *, alone: bool = False) -> TargetOutcome:
    """Return the result of one target. If the target cannot be read, this is a finding too.

    Args:
        request: The request.
        alone: Whether this is the only target. Then a target that does not exist, or a job file that breaks its schema,
            raises an error. A script that is not valid Python never does.

    Raises:
        UsageError: The only target cannot be read.
        ExceptionGroup: The only target is a job file that breaks its schema; contains also what rules find in its valid part.
    """
    try:
        target = read_check_target(request)
        checked = check_rules(target, request)
    except (UsageError, ExceptionGroup) as error:
        return _unreadable(request, *_reading_errors(error, request, alone=alone))
    result = structs.replace(
        target_result(checked, edits=request.edits),
        path=request.path,
        unasked=request.hub.because if _is_passed_by(target, request) else None,
        checklist=_checklist(request, target, checked) if request.checklist else None,
        scenario=target.scenario,
    )
    return TargetOutcome(
        result, target.modules, target.reads_more or request.checklist or _looks_outside(target, request)
    )


def _reading_errors(
    error: UsageError | ExceptionGroup[Exception], request: TargetRequest, *, alone: bool
) -> list[HoldfastError]:
    """Return the errors of a target that cannot be read.

    Raises:
        UsageError: As for `check_target`.
        ExceptionGroup: As for `check_target`.
    """
    errors = flatten(error)
    if not errors:
        raise error
    errors += _errors_in_valid_part(errors, request)
    if alone and not _is_broken_program(request.path, errors):
        raise GroupedError(str(error), errors) if errors[1:] else error from None
    return errors


def _errors_in_valid_part(errors: Sequence[HoldfastError], request: TargetRequest) -> Sequence[HoldfastError]:
    """Return what rules find in the valid part of a job file that breaks its schema."""
    if not all(isinstance(each, JobError) for each in errors):
        return ()
    from holdfast.app.check.broken_jobs import rule_errors  # of pydantic, which no script's check imports

    return rule_errors(request)


def _unreadable(request: TargetRequest, *errors: HoldfastError) -> TargetOutcome:
    return TargetOutcome(target_result(UnreadableTarget(path=request.path, errors=errors)), frozenset())


def check_one_of_many(request: TargetRequest) -> TargetOutcome:
    """Return the result of one of several targets; an error in holdfast itself becomes a finding of that target."""
    outcome = outcome_of(partial(check_target, request))
    if not isinstance(outcome, Raised):
        return outcome
    what = f"holdfast failed on this file: {type(outcome.error).__name__}: {outcome.error}"
    return _unreadable(request, SourceError(what[:300], where=request.path, fix="report it, with the file"))


def read_check_target(request: TargetRequest, text: str | None = None) -> Target:
    """Read the target of a request; if a text is given, it replaces the content of the file.

    Raises:
        UsageError: It cannot be read.
        ExceptionGroup: It breaks the schema of a job file.
    """
    if request.path == COMMAND_LINE:
        from holdfast.adapters.targets.commands import read, read_line

        refuse_overrides(request.path, request.sets)
        return read_line(request.arguments) if text is None else read(text, COMMAND_LINE, (), ())
    return read_target(request.path, request.sets, request.arguments, text=text)


def _looks_outside(target: Target, request: TargetRequest) -> bool:
    """True if a result depends on more than the file, and may be different the next time."""
    if request.hub is HubAccess.WALKED:
        return _names_local(target, open_outside(target.document, request.hub))
    return any(references(document) for document in (*target.documents, *target.by_default))


def check_rules(target: Target, request: TargetRequest) -> CheckedTarget:
    """Run the rules on one target."""
    concerned: Iterable[Rule] = all_rules() if _has_rows(target, request) else rules_of_jobs()
    rules = list(select(concerned, only=request.only, ignore=request.ignore))
    first = [rule for rule in rules if IGNORES not in rule.needs]
    checked = _check(target, first, request)
    standing, passed = split_suppressed(checked.findings, target.documents)
    if any(MARK in document.text for document in target.documents):
        standing += _find_unused(target, rules, checked, passed)
    return replace(
        checked,
        findings=tuple(_distinct(sorted(standing, key=_position))),
        suppressed=tuple(passed),
        can_place=target.can_place,
        path=request.path,
    )


def _distinct(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Return findings without those that say what one before them says of the same place: data that cannot be read concerns two rules."""
    distinct: dict[tuple[str, str], Finding] = {}
    for each in findings:
        distinct.setdefault((each.message, str(each.place)), each)
    return distinct.values()


def _has_rows(target: Target, request: TargetRequest) -> bool:
    """True if the rows that a target trains on can be read here."""
    if target.job:
        return local_rows(target, request.hub) is not None
    outside = open_outside(target.document, request.hub)
    return any(rows_at_hand(document, outside) for document in target.documents)


def _check(target: Target, rules: Sequence[Rule], request: TargetRequest) -> CheckedTarget:
    """Check a job file or a program. What job files need takes longer to import than it takes to check a script."""
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
        if skip.because != request.hub.because and (local or not skip.rule.needs & HUB_FACTS)
    )
    return replace(checked, skips=tuple(open_))


def _names_local(target: Target, outside: ReferenceResolver) -> bool:
    """True if a target names data or a model on this machine."""
    documents = (*target.documents, *target.by_default)
    named = (each for document in documents for each in references(document))
    return any(each.local or outside.here.holds(each.name.partition("/")[0]) for each in named)


def _is_passed_by(target: Target, request: TargetRequest) -> bool:
    """True if the Hub is not contacted about a program because it was found in a folder."""
    return request.hub is HubAccess.WALKED and target.job is None


def _checklist(request: TargetRequest, target: Target, checked: CheckedTarget) -> list[ChecklistItem]:
    from holdfast.app.check.checklists import fill_checklists  # which imports what no other check needs

    return fill_checklists(request, target, checked)


def _position(finding: Finding) -> tuple[str, int, int, int, str]:
    """Return the key by which findings are sorted: in the order of the file."""
    place = finding.place or Place("")
    code = finding.rule.code if finding.rule else ""
    return place.path, place.cell or 0, place.line or 0, place.column or 0, code


def _is_broken_program(path: str, errors: Sequence[HoldfastError]) -> bool:
    return target_kind(path).is_program and all(error.spot.line is not None for error in errors)


def _find_unused(
    target: Target, rules: Iterable[Rule], checked: CheckedTarget, passed: Sequence[tuple[Finding, Ignore]]
) -> list[Finding]:
    """Return the findings of the rules about ignore comments.

    Args:
        target: The target.
        rules: All rules that are checked.
        checked: What they found, but for those about comments.
        passed: What comments let pass, each with the comment.
    """
    rules = list(rules)
    known = (UNREADABLE, *(rule.code for rule in all_rules()))
    decided = IgnoreUsage(known=known, undecided=frozenset(_undecided(target, rules, checked)), passed=passed)
    facts = {IGNORES: tuple(unused_ignores(target.documents, decided))}
    judging = [rule for rule in rules if IGNORES in rule.needs]
    texts = {document.path: document for document in target.documents}.values()
    results = (result for document in texts for result in run_rules(judging, document, facts))
    return [result for result in results if isinstance(result, Finding)]


def _undecided(target: Target, rules: Sequence[Rule], checked: CheckedTarget) -> Iterator[str]:
    """Yield the codes of the rules that were not checked, so that their findings are not known."""
    decided = {rule.code for rule in rules if not rule.needs & (INSPECTED | {IGNORES})}
    kinds = {document.kind for document in target.documents}
    yield from (rule.code for rule in all_rules() if rule.code not in decided and rule.kinds & kinds)
    yield from (skip.rule.code for skip in checked.skips)
