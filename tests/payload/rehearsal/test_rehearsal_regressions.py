"""A classifier with one output that is trained on two classes is a regression by mistake."""

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.payload.rehearsal.events import EventWriter
from holdfast.payload.rehearsal.trainers.regressions import look_at_classes, report_regression

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.train


class Recorded(EventWriter):
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, str]] = []

    def warning(self, name: str, stage: str, because: str) -> None:
        self.said.append((name, stage, because))


def warned(labels: list[Any], **settings: Any) -> list[str]:
    """Return what is said of a real model that has taken a step with some labels."""
    sizes = {
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "vocab_size": 9,
    }
    config = transformers.LlamaConfig(**sizes, pad_token_id=0, **settings)
    trainer = SimpleNamespace(model=transformers.LlamaForSequenceClassification(config))
    inputs = {"input_ids": torch.ones(len(labels), 3, dtype=torch.long), "labels": torch.tensor(labels)}
    events = Recorded()
    look_at_classes(inputs, trainer)
    trainer.model(**inputs)
    report_regression(trainer, events)
    assert {each[:2] for each in events.said} <= {("invalid-config-value", "model")}
    return [because for *_, because in events.said]


def test_two_classes_are_no_regression() -> None:
    """The loss is the mean squared error, which nothing else says."""
    (said,) = warned([0, 1, 1, 0], num_labels=1)
    assert "`num_labels=2`" in said


@pytest.mark.parametrize(
    ("labels", "settings"),
    [
        ([0, 1, 1, 0], {"num_labels": 2}),
        ([0, 1, 1, 0], {"num_labels": 1, "problem_type": "regression"}),
        ([0.0, 1.0, 1.0, 0.0], {"num_labels": 1}),
        ([1, 3, 5, 2], {"num_labels": 1}),
    ],
)
def test_scores_and_classes_as_they_are_meant(labels: list[Any], settings: dict[str, Any]) -> None:
    """Two outputs, a regression that is asked for, scores, and ratings."""
    assert warned(labels, **settings) == []
