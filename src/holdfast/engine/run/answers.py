"""Answers about runs and checkpoints as JSON, to the letter of `contract.md` §2."""

from collections.abc import Iterable
from typing import Any

from holdfast.core.checkpoint import Wholeness
from holdfast.core.event import AttemptState, Delivered, RunState, Stage
from holdfast.engine.check.answers import SCHEMA


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
        "refused_by": state.refused_by or None,
        "attempts": [_attempt(attempt) for attempt in state.attempts],
        "metrics": dict(newest.metrics) if newest else {},
        "folder": state.folder,
        "output": f"{state.folder}/model" if succeeded and "method" in state.about else None,
        "pushed": _pushed(state) if succeeded else None,
        "deliveries": [_delivery(state, found) for found in state.deliveries.values()],
        "cost_usd": 0.0,
        "asked": dict(state.about),
        "started_at": state.started_s,
    }


def answer_runs(runs: Iterable[tuple[str, RunState, bool]]) -> dict[str, Any]:
    """Return a list of runs, each as `answer_run` gives it, with whether a process supervises it."""
    told = [{**answer_run(run, state), "supervised": supervised} for run, state, supervised in runs]
    return {"schema": SCHEMA, "verb": "runs", "runs": told}


def _pushed(state: RunState) -> str | None:
    """Return the repository that a run was pushed to: the one it was asked to push to, else the one its script chose."""
    asked: str | None = state.about.get("pushed")
    return asked or next(iter(state.deliveries), None)


def _delivery(state: RunState, found: Delivered) -> dict[str, Any]:
    folder = state.pushes.get(found.repository, {}).get("folder")
    return {"repository": found.repository, "verdict": found.verdict, "because": found.because, "folder": folder}


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
    """True if a checkpoint is whole."""
    return {"schema": SCHEMA, "verb": "verify", **wholeness.as_json()}
