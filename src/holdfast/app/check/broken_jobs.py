"""Asking the rules about a job file that breaks its schema, so that all its mistakes are reported at once."""

from collections.abc import Iterable
from typing import Final

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.targets import Target, read_text
from holdfast.adapters.targets.jobs import read_valid_part
from holdfast.app.check import jobs
from holdfast.app.check.target_request import IGNORES, TargetRequest
from holdfast.app.hub_access import open_outside
from holdfast.core.check.finding import Finding, Rule, Severity
from holdfast.core.errors import RuleError, Spot, UsageError
from holdfast.core.job_file.valid_job import NAMED, ValidPart
from holdfast.engine.check.rule_runner import select, severity_of
from holdfast.engine.check.suppress import split_suppressed
from holdfast.rules import rules_of_jobs

WRITTEN: Final = frozenset({"job", "api"})
"""What a rule needs that asks for nothing outside the file."""


def rule_errors(request: TargetRequest) -> list[RuleError]:
    """Return the errors that rules find in what is valid of a job file, in the order of the file."""
    try:
        part = read_valid_part(read_text(request.path), request.path, request.sets)
    except UsageError:
        return []
    errors = [] if part is None else [_error(finding) for finding in _findings(part, request)]
    return sorted(errors, key=lambda error: (error.spot.line or 0, error.spot.column or 0))


def _findings(part: ValidPart, request: TargetRequest) -> list[Finding]:
    target = Target(documents=(part.document,), job=part.job, place_edits=JobFileReader().place_edits)
    rules = _askable(select(rules_of_jobs(), only=request.only, ignore=request.ignore), part)
    checked = jobs.check(target, part.job, list(rules), open_outside(part.document, request.hub), request.hub)
    standing, _ = split_suppressed(checked.findings, target.documents)
    return [finding for finding in standing if severity_of(finding) is Severity.ERROR]


def _askable(rules: Iterable[Rule], part: ValidPart) -> Iterable[Rule]:
    """Return the rules that can be checked: where the model or the dataset is broken, only those that look for neither."""
    only_written = bool(part.hidden.intersection(NAMED))
    return [rule for rule in rules if IGNORES not in rule.needs and (rule.needs <= WRITTEN or not only_written)]


def _error(finding: Finding) -> RuleError:
    rule, place = finding.rule, finding.place
    if rule is None or place is None:
        raise TypeError("the engine names the rule and the place of each finding")
    return RuleError(
        finding.message,
        rule,
        where=Spot.of(place),
        fix=finding.fix.title if finding.fix else f"see `holdfast explain {rule.code}`",
    )
