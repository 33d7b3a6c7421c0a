"""Which tokens of a text are trained on: the more specific cause is reported, at the collator that is the script's own."""

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.payload.rehearsal.events import EventWriter
from holdfast.payload.rehearsal.trainers.ends import look_at_ends, report_ends

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

END, IGNORED = 1, -100
ROW = [*range(10, 20), END]


def collate(rows: Any) -> Any:
    """A collator as scripts have them."""
    return rows


class Collator:
    """The same as an object."""

    def __call__(self, rows: Any) -> Any:
        return rows


class Recorded(EventWriter):
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, Any]] = []

    def has_reported(self, name: str) -> bool:
        return name in dict(self.faults)

    def fault(self, name: str, *_: Any, at: Any = None, **__: Any) -> None:
        self.faults.append((name, at))


def reported(kept: range, collator: Any) -> list[tuple[str, Any]]:
    """Return what is reported of a training on some tokens of a text."""
    model = SimpleNamespace(
        can_generate=lambda: True, config=SimpleNamespace(), generation_config=SimpleNamespace(eos_token_id=END)
    )
    trainer = SimpleNamespace(model=model, data_collator=collator)
    tokens = torch.tensor([ROW, ROW])
    labels = torch.tensor([[each if at in kept else IGNORED for at, each in enumerate(ROW)]] * 2)
    inputs = {"input_ids": tokens, "labels": labels, "attention_mask": torch.ones_like(tokens)}
    events = Recorded()
    look_at_ends(inputs, labels != IGNORED, trainer)
    report_ends(trainer, events)
    return events.faults


@pytest.mark.parametrize("collator", [collate, Collator()])
@pytest.mark.parametrize(
    ("kept", "name"), [(range(4), "completion-mask-drops-everything"), (range(10), "eos-never-learned")]
)
def test_what_masks_the_end_is_named(kept: range, name: str, collator: Any) -> None:
    """Labels kept where they should be masked are more than an end that was lost."""
    code = collate.__code__ if collator is collate else Collator.__call__.__code__
    assert reported(kept, collator) == [(name, (code.co_filename, code.co_firstlineno))]


def test_a_collator_of_a_library_is_not_named() -> None:
    """The fault may lie in the rows then."""
    assert reported(range(4), inspect.getsource) == [("completion-mask-drops-everything", None)]


def test_answers_that_are_kept_are_right() -> None:
    """Questions masked, answers and their end trained on."""
    assert reported(range(5, 11), collate) == []
