"""The charts of a study's settings: where each trial is, and what is left out."""

import random
from typing import Any

import pytest

from holdfast.core.run.event import RunStage
from holdfast.core.study.study import Study
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.study.answers import StudyState, study_result
from holdfast.engine.study.page import render_study
from holdfast.engine.study.setting_charts import parallel_plot, scatter_plots
from holdfast.engine.study.spending import NOTHING_LEFT
from holdfast.results.study import StudyResult


def result_of(settings: list[dict[str, Any]], values: list[float | None]) -> StudyResult:
    """Return the result of a study whose trials gave these values of `eval_loss`."""
    job = {"method": "sft", "model": "m", "dataset": "d"}
    study = Study.model_validate({"job": job, "metric": "eval_loss", "trials": settings})
    outcomes = [
        TrialOutcome(
            trial=Trial(number=number, settings=each),
            content=str(number),
            run=f"run-{number}",
            stage=RunStage.SUCCEEDED if value is not None else RunStage.FAILED,
            value=value,
        )
        for number, (each, value) in enumerate(zip(settings, values, strict=True), start=1)
    ]
    return study_result(
        StudyState(
            name="s", study=study, outcomes=outcomes, remaining=NOTHING_LEFT, proposals=0, runs="runs", folder="f"
        )
    )


def many(count: int) -> StudyResult:
    """Return a study of so many trials: rates over four powers of ten, ranks, and data by name."""
    draw = random.Random(1)  # noqa: S311 - no secret
    settings: list[dict[str, Any]] = [
        {
            "train.learning_rate": 10 ** draw.uniform(-6, -2),
            "peft.r": draw.choice([4, 8, 16, 32]),
            "dataset.path": draw.choice(["sums.jsonl", "products.jsonl"]),
        }
        for _ in range(count)
    ]
    return result_of(settings, [abs(draw.gauss(2, 0.3)) for _ in settings])


@pytest.mark.parametrize("count", [3, 200])
def test_each_trial_is_a_line_over_all_axes(count: int) -> None:
    """The axes are the keys and the metric; the best is drawn last, on top."""
    plot = parallel_plot(many(count))

    assert plot is not None
    assert {axis.name for axis in plot.axes} == {"train.learning_rate", "peft.r", "dataset.path", "eval_loss"}
    assert len(plot.lines) == count
    assert [line.role for line in plot.lines].index("line") == count - 1
    assert {line.path.count("L") for line in plot.lines} == {3}


def test_a_better_value_is_lower_on_the_chart_of_a_loss() -> None:
    """Places follow the values: of two trials, the one with the greater rate and loss is further right and up."""
    (plot,) = scatter_plots(result_of([{"train.learning_rate": 0.1}, {"train.learning_rate": 0.3}], [1.0, 3.0]))
    (other,), (best,) = plot.traces[0].dots, plot.traces[1].dots

    assert other.x > best.x
    assert other.y < best.y
    assert best.text == "trial 1 (train.learning_rate 0.1): eval_loss 1"


def test_what_does_not_vary_or_has_no_value_is_left_out() -> None:
    """A key with one value has no axis; a trial that failed has no line; one trial is no chart."""
    settings: list[dict[str, Any]] = [{"peft.r": rank, "train.max_steps": 9} for rank in (4, 8, 16)]
    plot = parallel_plot(result_of(settings, [1.0, 2.0, None]))

    assert plot is not None
    assert [axis.name for axis in plot.axes] == ["peft.r", "eval_loss"]
    assert len(plot.lines) == 2
    assert parallel_plot(result_of(settings, [1.0, None, None])) is None
    assert not list(scatter_plots(result_of(settings[:1], [1.0])))


def test_the_page_has_both_and_nothing_from_elsewhere() -> None:
    """Names that are markup stay text."""
    settings = [{"dataset.path": name} for name in ("<b>a</b>", "b", "c")]
    page = render_study(result_of(settings, [1.0, 2.0, 3.0]), [], "", 0.0)

    assert 'class="plot wide parallel"' in page
    assert "<b>a</b>" not in page
    assert "&lt;b&gt;a" in page
    assert "http" not in page.replace("http://www.w3.org", "")
