"""Events of a training process are typed where they are read, and damage in one is no fault of the rest."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.run.event import Event, Reported, RunRequested, Starting
from holdfast.core.run.run_state import fold
from holdfast.core.run.training_event import KINDS, StepDone, TrainingEnded, TrainingEvent, parse_training_event

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = ("event", "at", "step", "max_steps", "loss", "metrics", "nan", "path", "bytes", "config", "status", "hardware")


@given(st.dictionaries(st.sampled_from(NAMES), JSON), st.sampled_from([*map(str, KINDS), "later", ""]))
def test_whatever_is_written_is_an_event(written: dict[str, Any], kind: str) -> None:
    """A ledger that another version wrote, or that is damaged, is read on."""
    events: list[Event] = [RunRequested(at_s=0, folder="f"), Starting(at_s=1, attempt=1, backend="x")]
    told = Reported(at_s=2, attempt=1, said={**written, "event": kind})

    assert isinstance(told.training_event, TrainingEvent)
    assert fold([*events, told]).attempts[0].reports == 1


@pytest.mark.parametrize(
    ("written", "event"),
    [
        ({"event": "later", "step": 7, "new": "field"}, TrainingEvent(step=7)),
        ({"event": ["step"], "step": 7}, TrainingEvent(step=7)),
        ({"event": "step", "step": 7, "loss": None, "nan": ["loss"]}, StepDone(step=7, nan=("loss",))),
        ({"event": "step", "step": "seven", "loss": 1.0}, TrainingEvent()),
        ({"event": "end", "status": "stopped", "reason": "another"}, TrainingEnded(status="stopped", reason="another")),
        ({}, TrainingEvent()),
    ],
)
def test_what_is_unknown_is_left_out(written: dict[str, Any], event: TrainingEvent) -> None:
    """Fields and kinds of a later version are ignored; a field of the wrong type makes its event tell nothing."""
    assert parse_training_event(written) == event


def test_a_steps_figures_are_its_own_and_the_trainers() -> None:
    """Only numbers are figures."""
    step = StepDone(step=1, loss=2.0, metrics={"reward": 0.5, "note": "text", "none": None})

    assert dict(step.figures()) == {"loss": 2.0, "reward": 0.5}
