"""Findings that several targets share: a shell script, and the script that it runs."""

from collections.abc import Sequence
from pathlib import PurePath

from msgspec import structs

from holdfast.results.check import ReportedFinding, TargetResult


def without_repeats(targets: Sequence[TargetResult]) -> list[TargetResult]:
    """Return the results of several targets with each finding once: at the file that it is in, else at the first that has it."""
    reported = {_identity(each) for target in targets for each in target.findings if _is_own(target, each)}
    result: list[TargetResult] = []
    for target in targets:
        alone = {_identity(each): each for each in reversed(target.findings)}
        kept = [
            each
            for each in target.findings
            if alone[_identity(each)] is each and (_is_own(target, each) or _identity(each) not in reported)
        ]
        reported |= {_identity(each) for each in kept}
        result.append(target if len(kept) == len(target.findings) else structs.replace(target, findings=kept))
    return result


def _is_own(target: TargetResult, finding: ReportedFinding) -> bool:
    return PurePath(target.path) == PurePath(finding.path)


def _identity(finding: ReportedFinding) -> tuple[str, PurePath, int | None, int | None, str]:
    return finding.code, PurePath(finding.path), finding.line, finding.column, finding.message
