"""The final model beside its base: what the report shows of each dataset that the job names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.run.event import ModelEvaluated, ModelExported
from holdfast.engine.evaluate.headlines import describe_figure, describe_verdict, main_figure, spell_figure
from holdfast.engine.report.intervals import IntervalPicture, draw_intervals
from holdfast.engine.units import render_counted
from holdfast.results.evaluate import EvaluatedDataset, EvaluateResult, EvaluationFigure, WorstRow

TONES: Final = {"better": "good", "worse": "bad", "undecided": "halted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRow:
    """A figure, as a row of a table.

    Attributes:
        picture: Its interval beside the base's value; None without an interval.
    """

    metric: str
    value: str
    interval: str
    base: str
    difference: str
    verdict: str
    picture: IntervalPicture | None
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedDataset:
    """A dataset that the final model was evaluated on.

    Attributes:
        headline: What its main metric says.
        tone: Whether that is good.
        about: What was evaluated.
        base: The base model; empty if there is none.
        figures: The figures, those of parts of the rows after those of all.
        worst: The worst rows.
        remarks: Conditions, and rows that stand in the training data.
    """

    dataset: str
    headline: str
    tone: str
    about: str = ""
    base: str = ""
    figures: tuple[FigureRow, ...] = ()
    worst: tuple[WorstRow, ...] = ()
    remarks: tuple[str, ...] = ()


def describe_evaluation(evaluated: ModelEvaluated | None) -> str:
    """Return why the final model was not evaluated, or what failed; empty if all went well."""
    if evaluated is None or evaluated.verdict == "pass":
        return ""
    return f"{'Not evaluated' if evaluated.verdict == 'skipped' else 'Failed'}: {evaluated.because}."


def describe_export(exported: ModelExported | None) -> Iterator[str]:
    """Yield the files that were made of the final model, and what failed."""
    if exported is None:
        return
    yield from exported.files
    if exported.verdict != "pass":
        yield f"{'Not exported' if exported.verdict == 'skipped' else 'Failed'}: {exported.because}."


def compare_datasets(results: Sequence[EvaluateResult]) -> Iterator[ComparedDataset]:
    """Yield each dataset; those that failed after the others of their evaluation."""
    for result in results:
        for dataset in result.datasets:
            yield _compared(result, dataset)
        for failed in result.failed:
            yield ComparedDataset(dataset=failed.dataset, headline=f"failed: {failed.because}", tone="bad")


def _compared(result: EvaluateResult, dataset: EvaluatedDataset) -> ComparedDataset:
    figure, figures = main_figure(result, dataset), [each for each in result.results if each.dataset == dataset.dataset]
    verdict = figure.base.verdict if figure and figure.base else ""
    return ComparedDataset(
        dataset=dataset.dataset,
        headline=describe_figure(figure) if figure else "no figure",
        tone=TONES.get(verdict, "busy"),
        about=f"{dataset.task}, {render_counted(dataset.rows, 'row')} of {dataset.of:,} in {dataset.split}",
        base=result.base or "",
        figures=tuple(map(_row, figures, draw_intervals(figures))),
        worst=tuple(each for each in result.worst if each.dataset == dataset.dataset),
        remarks=tuple(_remarks(result, dataset)),
    )


def _row(figure: EvaluationFigure, picture: IntervalPicture | None) -> FigureRow:
    base = figure.base
    where = ", ".join(f"{name} {value}" for name, value in (figure.where or {}).items())
    return FigureRow(
        metric=f"{figure.metric} [{where}]" if where else figure.metric,
        value=spell_figure(figure.value),
        interval=_interval(figure.low, figure.high),
        base=spell_figure(base.value) if base else "",
        difference=_interval(base.low, base.high) if base else "",
        verdict=describe_verdict(base, figure.rows) if base else "",
        picture=picture,
        tone=TONES[base.verdict] if base else "",
    )


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{spell_figure(low)} to {spell_figure(high)}"


def _remarks(result: EvaluateResult, dataset: EvaluatedDataset) -> Iterator[str]:
    if dataset.unfit:
        yield f"{render_counted(dataset.unfit, 'row')} left out: {dataset.because}"
    if dataset.unended:
        yield f"{render_counted(dataset.unended, 'answer')} cut off at max_new_tokens"
    yield from _leaks(result, dataset)
    for gate in result.gates:
        if gate.dataset in (dataset.dataset, ""):
            yield f"{gate.gate} {'holds' if gate.passed else 'does not hold'}: {gate.because}"


def _leaks(result: EvaluateResult, dataset: EvaluatedDataset) -> Iterator[str]:
    for leaked in result.leaked:
        if leaked.dataset == dataset.dataset and leaked.rows:
            yield f"{render_counted(leaked.rows, 'row')} ({leaked.fraction:.1%}) in the training data"
    if result.leaks_unknown:
        yield f"not compared with the training data: {result.leaks_unknown}"
