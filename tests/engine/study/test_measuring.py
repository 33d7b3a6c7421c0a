"""Which value a study compares: that of the model that a trial leaves."""

from typing import Any

import pytest
from msgspec import convert

from holdfast.core.run.event import Event, Reported, RunRequested, Starting
from holdfast.core.run.run_state import fold
from holdfast.core.study.study import StudyMetric
from holdfast.engine.study.measuring import metric_value
from holdfast.results.evaluate import EvaluateResult, EvaluationFigure

BEST = {"load_best_model_at_end": True, "metric_for_best_model": "loss"}


def events(losses: list[float], *more: dict[str, Any]) -> list[Event]:
    """The events of a run that evaluates after each step, and reports more at its end."""
    said: list[dict[str, Any]] = [{"event": "start", "step": 0, "config": BEST}]
    for step, loss in enumerate(losses, start=1):
        said.append({"event": "step", "step": step, "loss": loss + 1})
        said.append({"event": "evaluate", "step": step, "metrics": {"eval_loss": loss, "eval_accuracy": 1 - loss}})
    return [
        RunRequested(at_s=0, folder="r"),
        Starting(at_s=0, attempt=1, backend="local"),
        *(Reported(at_s=1, attempt=1, said=each) for each in (*said, *more)),
    ]


def loaded(step: int, metric: str, value: float | None = None) -> dict[str, Any]:
    """What the trainer reports of the best checkpoint."""
    return {"event": "best", "step": 3, "checkpoint": f"/out/checkpoint-{step}", "metric": metric, "value": value}


@pytest.mark.parametrize(
    ("metric", "best", "value"),
    [
        ("eval_loss", [], 0.5),  # no checkpoint was saved at the best evaluation: the last model is left
        ("eval_loss", [loaded(2, "loss", 0.25)], 0.25),
        ("eval_loss", [loaded(1, "eval_accuracy", 0.25)], 0.75),
        ("eval_accuracy", [loaded(2, "loss", 0.25)], 0.75),
        ("eval_loss", [loaded(9, "eval_loss", 0.125)], 0.125),  # its evaluation was not read
        ("eval_loss", [loaded(9, "accuracy", 0.125)], 0.5),
        ("train_loss", [], 1.5),
        ("eval_other_loss", [], None),
    ],
)
def test_the_last_value_counts_or_that_of_the_checkpoint_which_was_loaded(
    metric: str, best: list[dict[str, Any]], value: float | None
) -> None:
    """The trainer's own name for `eval_loss` may be `loss`."""
    run = events([0.75, 0.25, 0.5], *best)

    assert metric_value(StudyMetric(name=metric), fold(run), run, []) == value


def figure(dataset: str, value: float, where: dict[str, str] | None = None) -> EvaluationFigure:
    plain = dict.fromkeys(("low", "high", "rows_needed", "base"))
    return convert(
        {
            "dataset": dataset,
            "split": "test",
            "rows": 3,
            "metric": "f1",
            "value": value,
            "interval": "",
            "where": where,
            **plain,
        },
        EvaluationFigure,
    )


def test_a_figure_is_that_of_all_rows_of_the_dataset() -> None:
    """Whole paths and names in the study's folder are the same; without a dataset, it is the mean."""
    figures = [figure("/here/a.jsonl", 0.5), figure("/here/b.jsonl", 1.0), figure("/here/a.jsonl", 0.0, {"by": "x"})]
    values = {None: 0.75, "a.jsonl": 0.5, "./b.jsonl": 1.0, "c.jsonl": None}

    for dataset, value in values.items():
        metric = StudyMetric(name="f1", dataset=dataset)
        assert metric_value(metric, fold([]), [], [made(figures)]) == value


def made(figures: list[EvaluationFigure]) -> EvaluateResult:
    """A result of an evaluation with these figures."""
    lists = ("datasets", "failed", "leaked", "worst", "gates", "answers", "metrics", "files")
    names = dict.fromkeys(("template", "device", "dtype"), "")
    generation = {"max_new_tokens": 1, "stop_strings": [], "temperature": 0.0, "top_p": 1.0, "top_k": 0, "seed": 0}
    plain = {
        "schema": 1,
        "verb": "evaluate",
        "verdict": "pass",
        "model": "m",
        "base": None,
        "versions": {},
        "samples": "",
    }
    return convert(
        {
            **plain,
            **{name: [] for name in lists},
            "results": figures,
            "settings": {**generation, "batch_size": 1, **names},
        },
        EvaluateResult,
    )
