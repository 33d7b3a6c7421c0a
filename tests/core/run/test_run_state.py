"""What the state of a run says of its next attempt."""

from dataclasses import replace

import pytest

from holdfast.core.run.event import Event, Liveness, Polled, Reported, RunStage, Started, Starting
from holdfast.core.run.run_state import RunState, fold


@pytest.mark.parametrize("code", [130, 137, 143, -2, -9, -15])
@pytest.mark.parametrize(("status", "stage"), [("finished", RunStage.SUCCEEDED), ("failed", RunStage.FAILED)])
def test_a_training_that_was_killed_after_it_had_finished_succeeded(code: int, status: str, stage: RunStage) -> None:
    """However its backend tells the signal."""
    events: list[Event] = [
        Starting(at_s=0, attempt=1, backend="hf-jobs"),
        Started(at_s=0, attempt=1, id="a"),
        Reported(at_s=1, attempt=1, said={"event": "end", "status": status}),
        Polled(at_s=2, attempt=1, answer=Liveness.ENDED, exit_code=code),
    ]
    current = fold(events).current

    assert current is not None
    assert current.stage is stage


@pytest.mark.parametrize(
    ("stage", "accepted", "allowed"),
    [
        (RunStage.RUNNING, {}, {"data": None}),
        (RunStage.FAILED, {}, {}),
        (RunStage.FAILED, {"seed": 7}, {"seed": 7}),
        (RunStage.RUNNING, {"seed": 7}, {"seed": 7, "data": None}),
    ],
)
def test_only_a_person_is_asked_about_other_rows(
    stage: RunStage, accepted: dict[str, object], allowed: dict[str, object]
) -> None:
    """An attempt that follows another by itself may have them; one of a run that had ended may not."""
    state = replace(RunState(), stage=stage, accepted=accepted)
    assert state.allowed_changes == allowed
