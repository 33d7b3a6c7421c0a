"""Findings that several targets share: a shell script, and the script that it runs."""

from collections.abc import Collection, Sequence
from pathlib import PurePath

from msgspec import structs

from holdfast.results.check import ReportedFinding, TargetResult

Identity = tuple[str, PurePath, int | None, int | None, str]


def without_repeats(targets: Sequence[TargetResult]) -> list[TargetResult]:
    """Return the results of several targets with each finding once: at the file that it is in, else at the first that has it."""
    reported = {_identity(each) for target in targets for each in target.findings if _is_own(target, each)}
    result: list[TargetResult] = []
    for target in targets:
        kept = _not_repeated(target, reported)
        reported.update(map(_identity, kept))
        result.append(target if len(kept) == len(target.findings) else structs.replace(target, findings=kept))
    return result


def _not_repeated(target: TargetResult, reported: Collection[Identity]) -> list[ReportedFinding]:
    """Return the findings of a target, each once, without those of other files that are reported already."""
    first = {_identity(each): each for each in reversed(target.findings)}
    return [
        each
        for each in target.findings
        if first[_identity(each)] is each and (_is_own(target, each) or _identity(each) not in reported)
    ]


def _is_own(target: TargetResult, finding: ReportedFinding) -> bool:
    return PurePath(target.path) == PurePath(finding.path)


def _identity(finding: ReportedFinding) -> Identity:
    return finding.code, PurePath(finding.path), finding.line, finding.column, finding.message
