"""Answers of the verbs as JSON, to the letter of `contract.md` §2."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.catalog.train_arguments import versions
from holdfast.core.checkpoint import Wholeness
from holdfast.core.document import Document, Edit
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.event import AttemptState, RunState, Stage
from holdfast.core.finding import Finding, Fix, Skip
from holdfast.core.text import TextEdit
from holdfast.engine.check import severity_of, verdict

SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the rules said of one target.

    Attributes:
        document: What was asked about.
        method: The job's method, where it has one.
        findings: What they object to.
        skips: Those that could not be asked.
        place_edits: Turns a fix into edits of the document's text.
    """

    document: Document
    method: str | None
    findings: tuple[Finding, ...]
    skips: tuple[Skip, ...]
    place_edits: Callable[[Document, Iterable[Edit]], tuple[TextEdit, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A target among several that could not be read, and why."""

    path: str
    errors: tuple[HoldfastError, ...]


def answer_check(
    checked: Sequence[Checked | Unread], *, elapsed_s: float = 0.0, strict: bool = False
) -> dict[str, Any]:
    """Return what the rules said of each target. With `strict`, a skip fails like an error."""
    failed = any(
        isinstance(one, Unread) or verdict(one.findings) == "fail" or (strict and one.skips) for one in checked
    )
    return {
        "schema": SCHEMA,
        "verb": "check",
        "verdict": "fail" if failed else "pass",
        "elapsed_s": round(elapsed_s, 3),
        "targets": [_unread(one) if isinstance(one, Unread) else _target(one) for one in checked],
    }


def _unread(target: Unread) -> dict[str, Any]:
    """Return a target's errors as findings, so that they stand beside those of the others."""
    findings = [
        {
            "code": "SYN001",
            "name": "unreadable-target",
            "severity": "error",
            "message": f"{error.what}; {error.fix}",
            "key": "",
            "path": error.spot.path,
            "line": error.spot.line,
            "column": error.spot.column,
            "end_line": None,
            "end_column": None,
            "why": "What cannot be read can be neither checked nor run.",
            "source": "the schema of a job file: `holdfast explain job`",
            "fix": None,
        }
        for error in target.errors
    ]
    return {"path": target.path, "kind": "job", "method": None, "resolved": {}, "findings": findings, "skipped": []}


def _target(checked: Checked) -> dict[str, Any]:
    return {
        "path": checked.document.path,
        "kind": checked.document.kind,
        "method": checked.method,
        "resolved": _versions() if checked.document.kind == "job" else {},
        "findings": [_finding(checked, finding) for finding in checked.findings],
        "skipped": [
            {"code": skip.rule.code, "missing": list(skip.missing), "because": skip.because} for skip in checked.skips
        ],
    }


def _versions() -> dict[str, str]:
    """Return the versions that the rules for job files speak of."""
    return {name: version for name, version in versions().items() if name != "date"}


def _finding(checked: Checked, finding: Finding) -> dict[str, Any]:
    rule, place = finding.rule, finding.place or checked.document.place(finding.key)
    return {
        "code": rule.code if rule else "",
        "name": rule.name if rule else "",
        "severity": severity_of(finding).value,
        "message": finding.message,
        "key": finding.key,
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
        "why": rule.why if rule else "",
        "source": rule.source if rule else "",
        "fix": _fix(checked, finding.fix) if finding.fix else None,
    }


def _fix(checked: Checked, fix: Fix) -> dict[str, Any] | None:
    """Return a fix as edits of the text; None where its key is not written there, but came from `--set`, say."""
    try:
        edits = checked.place_edits(checked.document, fix.edits)
    except UsageError:
        return None
    return {
        "safe": fix.safe,
        "title": fix.title,
        "edits": [{"start": list(edit.start), "end": list(edit.end), "text": edit.text} for edit in edits],
    }


def answer_run(run: str, state: RunState, verb: str = "run") -> dict[str, Any]:
    """Return one run."""
    newest = state.current
    succeeded = state.stage is Stage.SUCCEEDED
    return {
        "schema": SCHEMA,
        "verb": verb,
        "run": run,
        "stage": state.stage.value,
        "because": state.because,
        "attempts": [_attempt(attempt) for attempt in state.attempts],
        "metrics": dict(newest.metrics) if newest else {},
        "folder": state.folder,
        "output": f"{state.folder}/model" if succeeded and "method" in state.about else None,
        "pushed": state.about.get("pushed") if succeeded else None,
        "cost_usd": 0.0,
        "asked": dict(state.about),
        "started_at": state.started_s,
    }


def answer_runs(runs: Iterable[tuple[str, RunState]]) -> dict[str, Any]:
    """Return a list of runs, each as `answer_run` gives it."""
    return {"schema": SCHEMA, "verb": "runs", "runs": [answer_run(run, state) for run, state in runs]}


def _attempt(attempt: AttemptState) -> dict[str, Any]:
    return {
        "number": attempt.number,
        "backend": attempt.backend,
        "id": attempt.id,
        "stage": attempt.stage.value,
        "steps": attempt.steps,
        "max_steps": attempt.max_steps,
        "resume_from": attempt.resume_from,
        "exit_code": attempt.exit_code,
        "diagnosis": None,
        "remedy": None,
    }


def answer_verify(wholeness: Wholeness) -> dict[str, Any]:
    """Return whether a checkpoint is whole."""
    return {"schema": SCHEMA, "verb": "verify", **wholeness.as_json()}


def exit_code(answer: Mapping[str, Any]) -> int:
    """Return the exit code that an answer stands for."""
    if "verdict" in answer:
        return int(answer["verdict"] not in ("pass", "whole"))
    return int(answer.get("stage") in ("failed", "cancelled"))
