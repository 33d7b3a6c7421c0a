"""A training is stopped for its loss only where its weights are proven lost, and goes on from before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.run.event import Diagnosed, Liveness, RunRequested, RunStage, Starting, Stopper, StopRequested
from holdfast.core.run.requested_job import RequestedJob
from holdfast.engine.recover.checkpoints import usable_steps
from holdfast.engine.run.drive import drive
from holdfast.engine.run.supervise import Limits
from tests.engine.run.test_supervise import dependencies
from tests.helpers.failed_jobs import diagnosed, make_job, plan_of
from tests.helpers.fakes import FakeBackend, FakeStore, Look

Said = dict[str, Any]
FINITE, NO_GRADIENT, NOTHING = "finite", "no gradient", "nothing"
SAID: dict[str, Said] = {
    FINITE: {"loss": 2.0, "grad_norm": 1.0},
    NO_GRADIENT: {"loss": 2.0, "grad_norm": None, "nan": ["grad_norm"]},
    NOTHING: {"loss": 0.0, "grad_norm": None, "nan": ["grad_norm"]},
    "not a number": {"loss": None, "grad_norm": None, "nan": ["grad_norm", "loss"]},
    "not logged": {},
}


def look(kind: str, step: int) -> Look:
    """Return what is seen of an attempt that does a step."""
    return Look(answer=Liveness.ALIVE, reports=[{"event": "step", "step": step, "max_steps": 99, **SAID[kind]}])


def play(
    kinds: Sequence[str], job: Any, *, config: Said | None = None, method: str | None = "sft", then: Sequence[Look] = ()
) -> FakeStore:
    """Drive a run through the steps of an attempt, which ends when it is asked to, and what follows."""
    store = FakeStore()
    store.append("r", [RunRequested(at_s=1.0, folder="/r", about=RequestedJob(job="job", method=method))])
    begin = Look(
        answer=Liveness.ALIVE, reports=[{"event": "start", "step": 0, "max_steps": 99, "config": config or {}}]
    )
    end = Look(
        answer=Liveness.ENDED, exit_code=143, reports=[{"event": "end", "status": "stopped", "because": "SIGTERM"}]
    )
    looks = [begin, *(look(kind, step) for step, kind in enumerate(kinds, 1)), end, *then]

    def diagnose(number: int, now_s: float) -> Diagnosed:
        return diagnosed("nan-loss-silent-success", attempt=number, at_s=now_s)

    given_ = replace(dependencies(FakeBackend(looks), store), diagnose=diagnose, plan=plan_of(job))
    drive("r", Limits(attempts=3), given_)
    return store


def stops(store: FakeStore) -> list[Stopper]:
    """Return who asked the attempts to end."""
    return [event.by for _, event in store.rows if isinstance(event, StopRequested)]


LOST = [FINITE, FINITE, NO_GRADIENT, NOTHING, NOTHING, NOTHING]


@pytest.mark.parametrize(
    ("kinds", "config", "method", "stopped"),
    [
        (LOST, {}, "sft", True),
        ([FINITE, "not a number", "not a number", "not logged", "not a number"], {}, "sft", True),
        (LOST[:-1], {}, "sft", False),
        ([FINITE, NO_GRADIENT, NO_GRADIENT, NO_GRADIENT, NO_GRADIENT, NO_GRADIENT], {}, "sft", False),
        ([NOTHING, NOTHING, FINITE, NOTHING, NOTHING, FINITE], {}, "sft", False),
        (LOST, {"fp16": True}, "sft", False),
        (LOST, {"deepspeed": {"stage": 2}}, "sft", False),
        (LOST, {}, None, False),
    ],
)
def test_only_lost_weights_stop_a_training(kinds: list[str], config: Said, method: str | None, stopped: bool) -> None:
    """Not a step that the scaler of float16 passes over, nor one that is followed by a loss, nor a script."""
    assert stops(play(kinds, make_job(), config=config, method=method)) == [Stopper.NAN] * stopped


@given(st.lists(st.sampled_from([*SAID]), max_size=30))
def test_a_training_with_a_finite_gradient_in_each_three_logged_steps_is_never_stopped(kinds: list[str]) -> None:
    """Whatever else it logs."""
    healthy = [each for number, kind in enumerate(kinds) for each in ([kind, FINITE] if number % 2 else [kind])]

    assert not stops(play(healthy, make_job()))


def test_the_batch_is_left_out_where_the_job_permits_it() -> None:
    """The next attempt begins before it; checkpoints that were saved since are not continued from."""
    done = Look(answer=Liveness.ENDED, exit_code=0, reports=[{"event": "end", "status": "finished"}])
    saved = Look(answer=Liveness.ALIVE, reports=[{"event": "checkpoint", "step": 6, "path": "/c/checkpoint-6"}])
    store = play(LOST, make_job(recover={"allow": ["skip_batches"]}), then=[saved, look(FINITE, 7), done])
    events = [event for _, event in store.rows]
    ended = [event for event in events if isinstance(event, Starting)]

    assert len(ended) == 2
    assert [step for step in (2, 3, 4) if usable_steps(events).has(step)] == [2]
    assert usable_steps(events).has(6)


def test_without_permission_the_run_ends_and_says_what_would_help() -> None:
    """It trains nothing any more."""
    store = play(LOST, make_job())
    closed = store.rows[-1][1]

    assert getattr(closed, "stage", None) is RunStage.FAILED
    assert "since step 3, neither the gradients nor the loss are finite" in closed.because  # type: ignore[union-attr]
    assert "(`skip_batches`)" in closed.because  # type: ignore[union-attr]


@pytest.mark.parametrize(("accumulation", "max_steps", "kept"), [(2, 99, True), (1, 99, False), (2, 98, False)])
def test_an_attempt_that_does_not_keep_the_promise_is_stopped(accumulation: int, max_steps: int, kept: bool) -> None:
    """By what the trainer reports of its batches and steps; no other attempt follows."""

    def begin(batch: int, accumulation: int, steps: int) -> Look:
        config = {"per_device_train_batch_size": batch, "gradient_accumulation_steps": accumulation}
        return Look(
            answer=Liveness.ALIVE, reports=[{"event": "start", "max_steps": steps, "config": config, "world_size": 2}]
        )

    store = FakeStore()
    failed = Look(answer=Liveness.ENDED, exit_code=1, reports=[{"event": "end", "status": "failed"}])
    alive = Look(answer=Liveness.ALIVE)

    def diagnose(number: int, now_s: float) -> Diagnosed:
        return diagnosed("cuda-oom-train-step", attempt=number, at_s=now_s)

    backend = FakeBackend([begin(4, 1, 99), failed, begin(2, accumulation, max_steps), alive])
    state = drive(
        "r", Limits(attempts=3), replace(dependencies(backend, store), diagnose=diagnose, plan=plan_of(make_job()))
    )

    assert len(state.attempts) == 2
    assert stops(store) == [Stopper.PROMISE] * (not kept)
