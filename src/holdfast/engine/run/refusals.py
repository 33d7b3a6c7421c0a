"""Why a run was refused before it was started, from what `check` or the rehearsal said of its job."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that forbids a run.

    Attributes:
        code: The rule, or the class of failure.
        message: What is wrong.
        where: The line: `train.py:12`; None where none is to blame.
        fix: What to do; None where nobody knows.
    """

    code: str
    message: str
    where: str | None = None
    fix: str | None = None


def reasons_of_check(answer: Mapping[str, Any], codes: Collection[str]) -> Iterator[Reason]:
    """Yield the findings that forbid a run.

    Args:
        answer: Of `check`.
        codes: The rules that it was refused for; others were consented to.
    """
    for target in answer["targets"]:
        for finding in target["findings"]:
            if finding["severity"] == "error" and finding["code"] in codes:
                where = f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]
                fix = finding["fix"]["title"] if finding["fix"] else None
                yield Reason(finding["code"], finding["message"], where, fix)


def reasons_of_rehearsal(answer: Mapping[str, Any]) -> Iterator[Reason]:
    """Yield the failures of a rehearsal that forbid a run.

    Args:
        answer: Of `rehearse`.
    """
    for failure in answer["failures"]:
        if failure["refuses"]:
            yield Reason(failure["class"], failure["cause"], failure["where"], failure["fix"])
