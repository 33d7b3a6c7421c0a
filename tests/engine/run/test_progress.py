"""How far a run is, told from events alone: no clock, no process."""

from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.core.run.event import (
    Closed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
)
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState, trained_s
from holdfast.engine.report.tables import list_attempts
from holdfast.engine.run.advice import next_commands
from holdfast.engine.run.progress import COLUMNS, RECENT, MetricValue, Progress, follow
from holdfast.engine.run.summary import render_summary

BEGUN = (
    RunRequested(at_s=0, folder="/runs/r", about=RequestedJob(target="my job.yaml")),
    Starting(at_s=1, attempt=1, backend="local"),
    Started(at_s=1, attempt=1, id="r/1"),
)


def said(event: str, at_s: float = 2, attempt: int = 1, **fields: object) -> Reported:
    return Reported(at_s=at_s, attempt=attempt, said={"event": event, "at": at_s, **fields})


def steps(first: int, last: int, max_steps: int = 100, seconds: float = 2, attempt: int = 1) -> Iterator[Reported]:
    """Steps at an even pace, at 10 tokens a step, with a loss that is 100 less the step."""
    for step in range(first, last + 1):
        fields = {"step": step, "max_steps": max_steps, "tokens": 10 * step, "loss": 100.0 - step}
        yield said("step", at_s=step * seconds, attempt=attempt, **fields)


def ended(at_s: float, exit_code: int, attempt: int = 1) -> Polled:
    return Polled(at_s=at_s, attempt=attempt, answer=Liveness.ENDED, exit_code=exit_code)


def test_speed_and_time_left_follow_the_jobs_own_rhythm() -> None:
    """After 20 of 100 steps of 2 s each, 160 s are left. They count down for the time of one step: an evaluation brings the end no nearer."""
    progress = follow([*BEGUN, said("start", at_s=0, step=0, max_steps=100), *steps(1, 20)])

    assert progress.steps_per_s == pytest.approx(0.5)
    assert progress.tokens_per_s == pytest.approx(5)
    assert progress.left_s(40) == pytest.approx(160)
    assert progress.left_s(41) == pytest.approx(159)
    assert progress.left_s(9999) == pytest.approx(158)


def test_the_rhythm_is_the_recent_one() -> None:
    """A job that began slowly and is fast now is judged by now."""
    slow = list(steps(1, 50, max_steps=1000, seconds=10))
    fast = [said("step", at_s=500 + step * 0.1, step=50 + step, max_steps=1000) for step in range(1, RECENT + 1)]

    assert follow([*BEGUN, *slow, *fast]).steps_per_s == pytest.approx(10)


def test_a_new_attempt_finds_its_own_rhythm() -> None:
    """Time between attempts is no step's time."""
    resumed = Starting(at_s=9000, attempt=2, backend="local", resume_from="/runs/r/checkpoint-10")
    again = (said("step", at_s=9000 + step, attempt=2, step=10 + step, max_steps=100) for step in range(1, 6))
    progress = follow([*BEGUN, *steps(1, 20), ended(40, -9), resumed, *again])

    assert progress.steps_per_s == pytest.approx(1)
    assert progress.step == 15


def test_the_time_between_attempts_does_not_count() -> None:
    """A run that waited a week for its resumption did not take a week."""
    begun_again = Starting(at_s=604_800, attempt=2, backend="local")
    progress = follow([*BEGUN, ended(101, 1), Closed(at_s=101, stage=RunStage.FAILED), begun_again])

    assert progress.elapsed_s(604_810) == pytest.approx(110)


def test_an_attempt_that_ended_long_before_somebody_looked_counts_until_its_last_sign_of_life() -> None:
    events: list[Event] = [
        Starting(at_s=10, attempt=1, backend="local"),
        Started(at_s=10, attempt=1, id="x"),
        said("start"),
    ]
    looked = Polled(at_s=90_000, attempt=1, answer=Liveness.ENDED, exit_code=-9, ended_s=70)
    progress = follow([*events, looked])

    assert progress.elapsed_s(200_000) == 60
    (row,) = list_attempts(progress, [*events, looked], 200_000)
    assert row.took == "1 min 00 s"
    assert trained_s(progress.state) == 60


def test_an_end_that_the_backend_dates_after_the_poll_is_the_poll() -> None:
    """Two clocks never agree."""
    events: list[Event] = [Starting(at_s=10, attempt=1, backend="local"), Started(at_s=10, attempt=1, id="x")]
    looked = Polled(at_s=50, attempt=1, answer=Liveness.ENDED, exit_code=0, ended_s=70)
    early = Polled(at_s=50, attempt=1, answer=Liveness.ENDED, exit_code=0, ended_s=5)

    assert follow([*events, looked]).elapsed_s(99) == 40
    assert follow([*events, early]).elapsed_s(99) == 0


def test_nothing_is_guessed_before_the_second_step() -> None:
    """One mark makes no rhythm."""
    progress = follow([*BEGUN, *steps(1, 1)])

    assert progress.steps_per_s is None
    assert progress.tokens_per_s is None
    assert progress.left_s(5) is None


def test_steps_between_two_logs_change_no_metric() -> None:
    """The trainer logs every so many steps; the others report no loss, and the last known one stays."""
    progress = follow([*BEGUN, *steps(1, 2), said("step", step=3, max_steps=100, loss=None, grad_norm=None)])

    assert progress.step == 3
    assert progress.last["loss"].value == 98.0


@pytest.mark.parametrize("first_lost", [2, 27, 90])
def test_a_loss_that_stands_for_nan_is_no_result(first_lost: int) -> None:
    """A loss of 0 is logged where it is not finite: the last one that was measured is told, and a real 0 too."""
    lost = (
        said("step", at_s=2 * n, step=n, max_steps=100, loss=0.0, nan=["grad_norm"])
        for n in range(first_lost, first_lost + 3)
    )
    progress = follow([*BEGUN, *steps(1, first_lost - 1), *lost])

    assert progress.step == first_lost + 2
    assert progress.last["loss"].step == first_lost - 1
    assert 0 not in progress.trail.values()
    assert progress.attempt is not None
    assert progress.attempt.lost is not None
    assert progress.attempt.lost.is_proven
    assert progress.attempt.metrics["train_loss"] == progress.last["loss"].value > 0
    assert "to 0" not in render_summary(progress, 200)
    assert follow([*BEGUN, said("step", step=1, max_steps=9, loss=0.0, grad_norm=0.0)]).last["loss"].value == 0


def test_the_evaluation_before_training_is_remembered() -> None:
    """What the loss fell from is told at the end."""
    before, after = (said("evaluate", step=step, metrics={"eval_loss": loss}) for step, loss in ((0, 8.0), (100, 2.0)))
    progress = follow([*BEGUN, before, *steps(1, 100), after])

    assert progress.first["eval_loss"].value == 8.0
    assert "evaluation loss fell from 8 to 2 (-75 %)" in render_summary(progress, 200)


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ((), "queued"),
        (BEGUN[:2], "queued"),
        (BEGUN, "starting"),
        ((*BEGUN, said("heartbeat", phase="load")), "loading model and data"),
        ((*BEGUN, said("start", step=0, max_steps=9)), "training"),
        ((*BEGUN, said("step", step=5, max_steps=9), said("heartbeat", phase="evaluate")), "evaluating"),
        ((*BEGUN, said("step", step=5, max_steps=9), StopRequested(at_s=3, by=Stopper.PERSON)), "stopping"),
        ((*BEGUN, said("step", step=9, max_steps=9)), "finishing"),
        ((*BEGUN, ended(9, 1), Closed(at_s=9, stage=RunStage.FAILED)), "failed"),
    ],
)
def test_each_phase_has_a_word(events: tuple[Event, ...], phase: str) -> None:
    """What the run does just now, from its events."""
    assert follow(events).phase == phase


def test_the_trail_stays_small() -> None:
    """However many steps, one loss is kept for each part of the run."""
    assert len(follow([*BEGUN, *steps(1, 5000, max_steps=5000)]).trail) == COLUMNS


def test_events_one_by_one_are_as_good_as_all_at_once() -> None:
    """A view that follows from the start and a report made at the end agree."""
    events: list[Event] = [*BEGUN, *steps(1, 30), ended(61, 1), Closed(at_s=61, stage=RunStage.FAILED)]
    progress = Progress()
    for event in events:
        progress = follow([event], progress)

    assert progress == follow(events)


def test_a_rising_reward_is_the_verdict_of_a_method_that_generates() -> None:
    """The loss of GRPO says nothing; its reward does."""
    rewarded = (
        said("step", step=step, max_steps=2, loss=0.0, metrics={"reward": reward})
        for step, reward in ((1, 0.2), (2, 0.6))
    )

    assert "; reward rose from 0.200 to 0.600." in render_summary(follow([*BEGUN, *rewarded]), 9)


def test_a_training_of_few_steps_ends_with_its_one_figure() -> None:
    """It logs once, at its last step: nothing has changed, but something is known."""
    once = said("step", step=3, max_steps=3, loss=0.6931)
    closed = Closed(at_s=9, stage=RunStage.SUCCEEDED)

    assert render_summary(follow([*BEGUN, once, ended(9, 0), closed]), 9).endswith("; training loss 0.693.")


def test_a_run_that_has_done_all_steps_is_not_called_half_done() -> None:
    """Somebody who leaves it then wonders what runs."""
    summary = render_summary(follow([*BEGUN, *steps(1, 100)]), 9)

    assert "Still running: 100 of 100 steps" in summary
    assert "what comes after training, such as saving, is not over" in summary


@pytest.mark.parametrize("phase", ["waiting for an a10g-large", "queued"])
def test_what_waits_is_not_called_running(phase: str) -> None:
    """Somebody who leaves it then knows that nothing has begun."""
    waits = Polled(at_s=700, attempt=1, answer=Liveness.ALIVE, phase=phase, waiting=True)

    assert render_summary(follow([*BEGUN, waits]), 721) == f"Not training: {phase}, 12 min 00 s so far."


def test_training_that_stopped_early_is_told_as_such() -> None:
    """Early stopping is a success that did not do all its steps."""
    end = said("end", step=40, max_steps=100, status="finished", because="a callback stopped training at step 40")
    progress = follow([*BEGUN, *steps(1, 40), end, ended(81, 0), Closed(at_s=81, stage=RunStage.SUCCEEDED)])

    assert render_summary(progress, 99).startswith(
        "Trained 40 of 100 steps in 1 min 20 s, start-up included, stopped early as asked; "
    )


def test_a_failed_run_is_told_with_its_reason_and_its_way_on() -> None:
    """What happened, and the commands that make sense now."""
    saved = said("checkpoint", step=10, path="/runs/r/checkpoints/checkpoint-10")
    closed = Closed(at_s=61, stage=RunStage.FAILED, because="SIGKILL killed it at step 20 of 100")
    progress = follow([*BEGUN, *steps(1, 20), saved, ended(61, -9), closed])

    assert render_summary(progress, 99).startswith("Failed after 1 min 00 s: SIGKILL killed it at step 20 of 100; ")
    assert [each.command for each in next_commands("r", progress.state)] == ["holdfast diagnose r", "holdfast resume r"]


def test_a_refused_run_is_told_as_never_started() -> None:
    """It took no time and cannot be resumed; its job can be fixed."""
    refused = Closed(at_s=1, stage=RunStage.FAILED, because="refused by check: ARG101", refused_by="check")
    progress = follow([BEGUN[0], refused])

    assert render_summary(progress, 9) == "Never started: refused by check: ARG101."
    assert [each.command for each in next_commands("r", progress.state)] == ["holdfast check 'my job.yaml'"]


def test_an_uneven_rhythm_is_that_of_all_recent_steps() -> None:
    """Two steps in ten seconds, whichever of them took longer."""
    marks = [said("step", at_s=at_s, step=step, max_steps=100) for at_s, step in ((10, 1), (12, 2), (20, 3))]

    assert follow([*BEGUN, *marks]).steps_per_s == pytest.approx(0.2)


def test_the_first_step_has_a_pace_already() -> None:
    """It is counted from the start of training, which no step precedes."""
    progress = follow([*BEGUN, said("start", at_s=100, max_steps=9), said("step", at_s=104, step=1, max_steps=9)])

    assert progress.steps_per_s == pytest.approx(0.25)


def test_the_pace_is_by_the_training_process_own_clock() -> None:
    """Events that are read late, all at once, tell when they happened; without a time of their own, when they were heard."""

    def heard(at_s: float, **fields: object) -> Reported:
        return Reported(at_s=at_s, attempt=1, said={"event": "step", "max_steps": 9, **fields})

    late = [heard(500, step=step, at=10 * step) for step in (1, 2)]
    plain = [heard(20 * step, step=step) for step in (1, 2)]
    begun = Reported(at_s=10, attempt=1, said={"event": "start", "max_steps": 9})

    assert follow([*BEGUN, *late]).steps_per_s == pytest.approx(0.1)
    assert follow([*BEGUN, *plain]).steps_per_s == pytest.approx(0.05)
    assert follow([*BEGUN, begun, plain[0]]).steps_per_s == pytest.approx(0.1)


def test_nothing_is_left_of_a_run_that_ended_and_nobody_knows_it_of_one_without_a_last_step() -> None:
    """Neither shows a countdown."""
    failed: list[Event] = [*BEGUN, *steps(1, 20), ended(41, 1), Closed(at_s=41, stage=RunStage.FAILED)]
    endless = [said("step", at_s=step, step=step, loss=2.0) for step in (1, 2)]

    assert follow(failed).left_s(42) is None
    assert follow([*BEGUN, *endless]).left_s(42) is None


def test_a_run_that_has_just_begun_took_no_time() -> None:
    """Nor did one whose clock is behind that of its supervisor."""
    assert [follow(BEGUN).elapsed_s(now_s) for now_s in (0, 1, 1.5)] == [0, 0, 0.5]
    assert follow([BEGUN[0], ended(5, 1)]).elapsed_s(9) == 0


def test_the_newest_checkpoint_is_known() -> None:
    """It stays known while none is newer."""
    saved = [said("checkpoint", step=step, path=f"/runs/r/checkpoint-{step}") for step in (10, 20)]

    assert follow([*BEGUN, *saved]).checkpoint == "/runs/r/checkpoint-20"
    assert follow([*BEGUN, *saved, said("checkpoint", step=30), *steps(31, 32)]).checkpoint == "/runs/r/checkpoint-20"


def test_a_step_ends_what_was_done_before_it() -> None:
    """After the evaluation the run trains again; so it does when a sign of life says nothing."""
    evaluating: list[Event] = [*BEGUN, *steps(1, 5), said("heartbeat", phase="evaluate")]

    assert follow(evaluating).doing == "evaluate"
    for event in (*steps(6, 6), said("heartbeat")):
        progress = follow([*evaluating, event])
        assert (progress.phase, progress.doing) == ("training", "")
    assert follow([*evaluating, ended(20, -9), Starting(at_s=30, attempt=2, backend="local")]).doing == ""


def test_passes_over_the_data_and_memory_are_those_last_told() -> None:
    """A step that does not tell them changes nothing."""
    told = said("step", step=1, max_steps=9, epoch=0.5, memory_bytes=7_000)
    progress = follow([*BEGUN, told, said("step", step=2, max_steps=9)])

    assert (progress.epoch, progress.memory_bytes) == (0.5, 7_000)


def test_a_steps_numbers_are_kept_with_their_step() -> None:
    """Loss, gradient and rate; an evaluation before the first step is of step 0."""
    numbers: dict[str, Any] = {"loss": 2.0, "grad_norm": 0.3, "learning_rate": 1e-5}
    progress = follow(
        [*BEGUN, said("evaluate", metrics={"eval_loss": 8.0}), said("step", step=4, max_steps=9, **numbers)]
    )

    assert progress.last == {"eval_loss": MetricValue(0, 8.0)} | {
        name: MetricValue(4, value) for name, value in numbers.items()
    }


def test_the_trail_has_no_gap_where_a_step_logged_no_loss() -> None:
    """What stands there is the last loss that was logged."""
    progress = follow(
        [*BEGUN, said("step", step=1, max_steps=2, loss=5.0), said("step", step=1, max_steps=2, loss=None)]
    )

    assert progress.trail == {COLUMNS // 2: 5.0}


@pytest.mark.parametrize(
    ("folder", "words"), [("/data/my runs", "r --runs '/data/my runs'"), ("/data/r", "r --runs /data/r")]
)
def test_commands_name_a_runs_folder_that_they_would_not_look_in(folder: str, words: str) -> None:
    """A command that is copied finds the run."""
    state = RunState(stage=RunStage.RUNNING, about=RequestedJob(runs=folder))

    assert [each.command for each in next_commands("r", state)] == [f"holdfast watch {words}", f"holdfast stop {words}"]
