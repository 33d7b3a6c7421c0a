"""An attempt whose loss spikes is ended only if its job says so, and the next one continues from before the spike."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from holdfast.core.job_file.job import Job
from holdfast.core.run.event import Diagnosed, Liveness, Reported, RunRequested, Starting, Stopper, StopRequested
from holdfast.core.run.loss_spike import LEARNT, SPIKE_LOSSES
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState
from holdfast.engine.recover.checkpoints import usable_steps
from holdfast.engine.recover.spoilt_steps import ends_spikes
from holdfast.engine.run.drive import drive
from holdfast.engine.run.supervise import Limits
from tests.engine.run.test_supervise import dependencies
from tests.helpers.failed_jobs import diagnosed, make_job, plan_of
from tests.helpers.fakes import FakeBackend, FakeStore, Look

CALM, HIGH = [1.0, 1.2, 0.9, 1.1] * (LEARNT // 4), [9.0] * SPIKE_LOSSES
SAVED_EVERY = 10
STOPPED = Look(
    answer=Liveness.ENDED, exit_code=143, reports=[{"event": "end", "status": "stopped", "because": "SIGTERM"}]
)
DONE = Look(answer=Liveness.ENDED, exit_code=0, reports=[{"event": "end", "status": "finished"}])


def trains(losses: Sequence[float], *, after: int = 0) -> list[Look]:
    """Return what is seen of an attempt that does some steps, and saves now and then."""
    begin = {"event": "start", "step": after, "max_steps": 99, "config": {"learning_rate": 2e-4}}
    looks = [Look(answer=Liveness.ALIVE, reports=[begin])]
    for step, loss in enumerate(losses, after + 1):
        said = [{"event": "step", "step": step, "max_steps": 99, "loss": loss, "grad_norm": 1.0}]
        saved = [{"event": "checkpoint", "step": step, "path": f"/c/checkpoint-{step}"}]
        looks.append(Look(answer=Liveness.ALIVE, reports=said + (saved if step % SAVED_EVERY == 0 else [])))
    return looks


def play(job: Job, *looks: Look) -> tuple[RunState, FakeStore]:
    """Drive a run of a job; an attempt that is ended is diagnosed as its stop says."""
    store, plan = FakeStore(), plan_of(job)
    about = RequestedJob(job="job", method=job.method.value)
    store.append("r", [RunRequested(at_s=1.0, folder="/r", about=about)])

    def diagnose(number: int, now_s: float) -> Diagnosed:
        return diagnosed("loss-spike", attempt=number, at_s=now_s)

    given = replace(dependencies(FakeBackend(looks), store), diagnose=diagnose, plan=plan)
    return drive("r", Limits(attempts=3, ends_spikes=ends_spikes(job)), given), store


def allowing(*permissions: str, method: str = "sft") -> Job:
    return make_job(method, recover={"allow": [*permissions]}, train={"learning_rate": 2e-4})


@pytest.mark.parametrize(
    ("job", "losses", "ended"),
    [
        (allowing("loss_spike"), CALM + HIGH, True),
        (allowing("loss_spike"), CALM + HIGH[:-1], False),
        (allowing("loss_spike"), [*CALM, *HIGH[:-1], 1.0, *HIGH[:-1]], False),
        (allowing("batch_size", "skip_batches", "learning_rate"), CALM + HIGH * 3, False),
        (make_job(), CALM + HIGH * 3, False),
        (allowing("loss_spike", method="grpo"), CALM + HIGH * 3, False),
    ],
)
def test_only_a_spike_that_lasts_ends_an_attempt_of_a_job_that_says_so(
    job: Job, losses: list[float], ended: bool
) -> None:
    """A job that does not say so trains on, and so does one whose losses are those of rewards."""
    _, store = play(job, *trains(losses), STOPPED if ended else DONE, DONE)
    stops = [event.by for _, event in store.rows if isinstance(event, StopRequested)]

    assert stops == [Stopper.SPIKE] * ended


def test_the_next_attempt_continues_from_before_the_spike_without_its_batches() -> None:
    """Checkpoints that were saved during the spike, and at the stop, are not continued from."""
    spiked = len(CALM) + SPIKE_LOSSES
    saved = Look(
        answer=Liveness.ALIVE, reports=[{"event": "checkpoint", "step": spiked + 1, "path": "/c/checkpoint-x"}]
    )
    state, store = play(
        allowing("loss_spike"), *trains(CALM + HIGH), saved, STOPPED, *trains([1.0] * 9, after=30), DONE
    )
    events = [event for _, event in store.rows]
    remedy = state.remedies[0]

    assert sum(isinstance(each, Starting) for each in events) == 2
    assert (remedy.skips, remedy.resumes_until) == ((len(CALM) + 1, spiked), len(CALM))
    assert "usually 1.05 up to step 32" in remedy.because
    assert [step for step in (30, 40, spiked + 1) if usable_steps(events).has(step)] == [30]


@pytest.mark.parametrize(
    ("permissions", "second"), [(["loss_spike"], "loss_spike"), (["loss_spike", "learning_rate"], "learning_rate")]
)
def test_a_spike_that_comes_again_lowers_the_rate_if_the_job_permits_it(permissions: list[str], second: str) -> None:
    """Its batches were not to blame, or not they alone."""
    again = [1.0, *CALM, *HIGH]
    state, _ = play(allowing(*permissions), *trains(CALM + HIGH), STOPPED, *trains(again, after=31), STOPPED, DONE)

    assert [each.permission for each in state.remedies] == ["loss_spike", second]


def test_the_last_attempt_is_not_ended_for_a_spike() -> None:
    """None could follow it, and a finite loss may come back."""
    store = FakeStore()
    store.append("r", [RunRequested(at_s=1.0, folder="/r", about=RequestedJob(job="job", method="sft"))])
    limits = Limits(attempts=1, ends_spikes=ends_spikes(allowing("loss_spike")))
    state = drive("r", limits, dependencies(FakeBackend([*trains(CALM + HIGH * 2), DONE]), store))

    assert state.stage == "succeeded"


@pytest.mark.parametrize("more", [[3.0], [1.0, 9.0], [9.0, 2.0, 2.0]])
def test_what_is_logged_until_the_attempt_has_heard_the_stop_changes_nothing(more: list[float]) -> None:
    """The spike is proven: its batches are left out, and no checkpoint that follows it is continued from."""
    spiked = len(CALM) + SPIKE_LOSSES
    late = trains(CALM + HIGH + more)[spiked + 1 :]
    late.append(replace(late[-1], reports=[{"event": "checkpoint", "step": spiked + 9, "path": "/c/checkpoint-x"}]))
    state, store = play(
        allowing("loss_spike"), *trains(CALM + HIGH), *late, STOPPED, *trains([1.0] * 9, after=30), DONE
    )
    events = [event for _, event in store.rows]

    assert [each.resumes_until for each in state.remedies] == [len(CALM)]
    assert [step for step in (30, spiked + 9) if usable_steps(events).has(step)] == [30]


def test_a_spoilt_checkpoint_stays_spoilt_if_a_person_stops_the_run_too() -> None:
    """The run is continued later, from before the spike."""
    spiked = len(CALM) + SPIKE_LOSSES
    _, store = play(allowing("loss_spike"), *trains(CALM + HIGH), STOPPED, DONE)
    events = [event for _, event in store.rows]
    stop = next(index for index, event in enumerate(events) if isinstance(event, StopRequested))
    saved = {"event": "checkpoint", "step": spiked + 1, "path": "/c/checkpoint-x"}
    person = StopRequested(at_s=events[stop].at_s, by=Stopper.PERSON)
    stopped = [*events[: stop + 1], person, Reported(at_s=9.0, attempt=1, said=saved)]

    assert [step for step in (30, 40, spiked + 1) if usable_steps(stopped).has(step)] == [30]


def test_the_verdict_tells_the_losses() -> None:
    """If nothing is changed against it."""
    job, store = allowing("loss_spike"), FakeStore()
    store.append("r", [RunRequested(at_s=1.0, folder="/r", about=RequestedJob(job="job", method="sft"))])
    looks = [*trains(CALM + HIGH), STOPPED]
    state = drive("r", Limits(attempts=2, ends_spikes=ends_spikes(job)), dependencies(FakeBackend(looks), store))

    assert state.because.startswith("stopped by the watch on loss spikes at step 42")
    assert state.because.endswith("the loss was usually 1.05 up to step 32, and 9 from step 33 to step 42")
