"""Where a fault strikes: after a checkpoint near the middle of the training, or nowhere, with the reason."""

from dataclasses import replace

import pytest

from holdfast.core.errors import UsageError
from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.run.training_event import CheckpointSaved, Evaluated, StepDone, TrainingStarted
from holdfast.engine.faults.kinds import KINDS, kinds_of
from holdfast.engine.faults.strikes import choose_strike, course_of


def training(
    count: int, saved: tuple[int, ...] = (), evaluated: tuple[int, ...] = (), **arguments: object
) -> PartResult:
    events = (
        TrainingStarted(),
        *(StepDone(step=step, loss=1.0) for step in range(1, count + 1)),
        *(CheckpointSaved(step=step) for step in saved),
        *(Evaluated(step=step) for step in evaluated),
    )
    hooks = {"event": "fact", "about": "training", "arguments": arguments}
    return PartResult(part="stop", code=0, events=events, hook_events=(hooks,))


@pytest.mark.parametrize(
    ("count", "saved", "step"),
    [(8, (2, 4, 6, 8), 5), (8, (4, 8), 5), (8, (), 5), (4, (2, 4), 3), (2, (2,), 2), (8, (6, 8), 7)],
)
def test_a_fault_strikes_after_the_checkpoint_nearest_to_the_middle(
    count: int, saved: tuple[int, ...], step: int
) -> None:
    kill = kinds_of(["kill"])[0]

    assert choose_strike(kill, course_of(training(count, saved))).step == step


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("oom-eval", "the job evaluates nothing in the steps of the rehearsal"),
        ("disk-full", "the job saves no checkpoint in the steps of the rehearsal"),
        ("truncated-checkpoint", "the job saves no checkpoint in the steps of the rehearsal"),
        ("expired-token", "the job pushes nothing in the steps of the rehearsal"),
    ],
)
def test_what_a_job_does_not_do_is_not_disturbed(name: str, because: str) -> None:
    strike = choose_strike(kinds_of([name])[0], course_of(training(8)))

    assert (strike.step, strike.skipped) == (0, because)


def test_nothing_strikes_where_nothing_trains_or_batches_are_not_divided() -> None:
    untrained, generating = (
        course_of(PartResult(part="stop", code=0)),
        course_of(training(8, (4, 8), num_generations=4)),
    )

    assert all(choose_strike(kind, untrained).skipped for kind in KINDS)
    assert choose_strike(kinds_of(["oom-train"])[0], generating).skipped
    assert choose_strike(kinds_of(["kill"])[0], generating).step == 5


@pytest.mark.parametrize(("processes", "omitted"), [(2, ""), (1, "several processes")])
def test_a_kill_of_one_of_several_processes_is_not_shown_as_that_of_the_only_one(processes: int, omitted: str) -> None:
    """Its launcher would notice it, and another attempt would follow; what strikes all alike is shown."""
    found = training(8, (4, 8))
    left_out = ({"event": "not_rehearsed", "what": omitted, "because": "one process was run"},) if omitted else ()
    course = course_of(replace(found, hook_events=(*found.hook_events, *left_out)), processes)

    assert "its launcher ends the others" in choose_strike(kinds_of(["kill"])[0], course).skipped
    assert choose_strike(kinds_of(["truncated-checkpoint"])[0], course).skipped
    assert choose_strike(kinds_of(["stall"])[0], course).step == 5


def test_names_are_those_of_faults() -> None:
    assert [kind.name for kind in kinds_of(["stall", "kill,stall"])] == ["kill", "stall"]
    assert kinds_of(["all"]) == KINDS
    assert kinds_of([]) == ()
    with pytest.raises(UsageError, match=r"no fault 'train\.py'"):
        kinds_of(["train.py"])
