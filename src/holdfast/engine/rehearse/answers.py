"""The answer of `rehearse` as JSON, to the letter of `contract.md` §2."""

from collections.abc import Mapping
from typing import Any, Final

from holdfast.core.rehearsal import Failure, Rehearsal
from holdfast.engine.rehearse.continuing import DIVERGES
from holdfast.engine.rehearse.naming import CODE

SCHEMA = 1
AGAIN: Final = "resume"
"""The stage of a second start."""


def answer_rehearse(found: Rehearsal, *, elapsed_s: float, path: str) -> dict[str, Any]:
    """Return what a rehearsal showed.

    Args:
        found: The verdict.
        elapsed_s: Time it took in all.
        path: What was rehearsed.
    """
    failures = [answer_failure(each) for each in found.failures]
    return {
        "schema": SCHEMA,
        "verb": "rehearse",
        "verdict": "pass" if found.passed else "fail",
        "path": path,
        "elapsed_s": round(elapsed_s, 3),
        "stages": [
            {
                "name": stage.name,
                "status": stage.status,
                "elapsed_s": round(stage.elapsed_s, 3),
                "because": stage.because,
            }
            for stage in found.stages
        ],
        "failure": failures[0] if failures else None,
        "failures": failures,
        "warnings": [{"code": each.code, "stage": each.stage, "message": each.message} for each in found.warnings],
        "not_rehearsed": [{"what": each.what, "because": each.because} for each in found.omitted],
        "shrunk": [{"what": each.what, "asked": each.asked, "given": each.given} for each in found.shrunk],
        "learnt": dict(found.learnt),
        "versions": dict(found.versions),
    }


def summarize_rehearsal(answer: Mapping[str, Any]) -> str:
    """Return an answer in one line.

    >>> summarize_rehearsal({"verdict": "pass", "elapsed_s": 9.3, "stages": [], "not_rehearsed": [{"what": "fp16"}]})
    'passes in 9.3 s; not rehearsed: fp16'
    """
    took = f"{answer['elapsed_s']:.1f} s"
    if answer["verdict"] != "pass":
        failure = answer["failures"][0]
        limit = "" if failure["refuses"] else f" ({failure['over'] or 'when started again'}, which forbids nothing)"
        return f"fails in {took}: {failure['class']} in `{failure['stage']}`{limit}"
    omitted = [each["what"] for each in answer["not_rehearsed"]]
    return f"passes in {took}" + (f"; not rehearsed: {', '.join(omitted)}" if omitted else "")


def refuses(failure: Failure) -> bool:
    """True if a failure forbids a run.

    Of the script's own lines one does not that is only slow, or large, on this machine; nor one that is met when the job is
    started a second time. Nor does a resumed training that differs: one that nobody stops is as good as asked for.
    """
    name = failure.cause.signature.name
    return name != DIVERGES and (name != CODE or not (failure.over or failure.stage == AGAIN))


def answer_failure(failure: Failure) -> dict[str, Any]:
    """Return why it failed."""
    cause = failure.cause
    return {
        "class": cause.signature.name,
        "title": cause.signature.title,
        "stage": failure.stage,
        "confidence": cause.confidence,
        "evidence": [{"path": each.path, "line": each.line, "text": each.text} for each in cause.evidence],
        "cause": cause.cause,
        "fix": cause.fix,
        "where": failure.where or None,
        "function": failure.function or None,
        "role": failure.role or None,
        "code": failure.code or None,
        "key": failure.key or None,
        "over": failure.over or None,
        "refuses": refuses(failure),
        "blame": failure.blame,
        "blamed_because": failure.blamed or None,
        "prevented_by": list(cause.found_by),
    }
