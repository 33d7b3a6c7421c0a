"""What the state of a run says of its next attempt."""

from dataclasses import replace

import pytest

from holdfast.core.run.event import RunStage
from holdfast.core.run.run_state import RunState


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
