"""Answers about runs and checkpoints as JSON, to the letter of `contract.md` §2."""

from collections.abc import Iterable
from typing import Any

from holdfast.core.checkpoint import Wholeness
from holdfast.core.event import AttemptState, RunState, Stage
from holdfast.engine.answers import SCHEMA


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
