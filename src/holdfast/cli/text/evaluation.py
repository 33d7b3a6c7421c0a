"""An evaluation, as text."""

from collections.abc import Iterator, Sequence
from typing import Final

from click import style

from holdfast.cli.text.short_paths import short_path
from holdfast.engine.evaluate.headlines import spell_figure
from holdfast.engine.units import render_counted
from holdfast.results.evaluate import (
    BaseFigure,
    BenchmarkDetails,
    BestCheckpoint,
    EvaluatedCheckpoint,
    EvaluatedDataset,
    EvaluateResult,
    EvaluationFigure,
    WorstRow,
)

SHOWN: Final = 160
"""Characters of a text that are shown."""
WIDEST: Final = 60
"""Columns of a metric's name, with the part of the rows that it is of."""
MOST_LABELS: Final = 12
"""Labels of a confusion matrix that is shown; a larger one is in the JSON."""
COLOURS: Final = {"better": "green", "worse": "red", "undecided": "yellow"}


def render_evaluation(result: EvaluateResult) -> str:
    """Return the figures of each dataset, its worst rows, what failed, and the verdict."""
    parts = [
        *("\n".join(_answer(each.prompt, each.answer, each.base_answer)) for each in result.answers),
        *("\n".join(_dataset(result, each)) for each in result.datasets),
        *(["\n".join(_checkpoints(result))] if result.checkpoints else []),
        *([_leaks_unknown(result.leaks_unknown)] if result.leaks_unknown and result.datasets else []),
        *(["\n".join(_failed(result))] if result.failed else []),
        *(["\n".join(_gates(result))] if result.gates else []),
        "\n".join(_verdict(result)),
    ]
    return "\n\n".join(parts)


def _answer(prompt: str, answer: str, base: str) -> Iterator[str]:
    yield style(_shortened(prompt), bold=True)
    yield answer
    if base:
        yield style(f"base: {base}", dim=True)


def _dataset(result: EvaluateResult, dataset: EvaluatedDataset) -> Iterator[str]:
    yield style(_title(dataset), bold=True)
    if dataset.benchmark:
        yield f"  {_benchmark(dataset.benchmark)}"
    shortest, median, longest = dataset.lengths
    yield f"  prompts of {shortest:,} to {longest:,} characters, {median:,} in the middle"
    if dataset.labels:
        yield f"  labels: {', '.join(f'{name} {number:,}' for name, number in dataset.labels.items())}"
    yield from _remarks(dataset)
    figures = _own_figures(result, dataset)
    width = _width(figures)
    for each in figures:
        yield from _figure(each, width)
    yield from _small_confusion(dataset)
    yield from _leaked(result, dataset, width)
    yield from _worst_rows(result, dataset)


def _title(dataset: EvaluatedDataset) -> str:
    count = render_counted(dataset.rows, "row")
    of = f"{count} of {dataset.of:,}" if dataset.rows != dataset.of else count
    name = f"{dataset.dataset}, {dataset.split}" if dataset.split else dataset.dataset
    return f"{name}: {dataset.task}, {of}"


def _own_figures(result: EvaluateResult, dataset: EvaluatedDataset) -> list[EvaluationFigure]:
    """Return the figures of a dataset whose metrics are defined in the result."""
    metrics = {metric.name for metric in result.metrics}
    return [each for each in result.results if each.dataset == dataset.dataset and each.metric in metrics]


def _width(figures: Sequence[EvaluationFigure]) -> int:
    """Return the columns that the names of figures take."""
    return min(WIDEST, max((len(_name(each)) for each in figures), default=0))


def _small_confusion(dataset: EvaluatedDataset) -> Iterator[str]:
    if dataset.confusion and len(dataset.confusion.labels) <= MOST_LABELS:
        yield from _confusion(dataset.confusion.labels, dataset.confusion.counts)


def _worst_rows(result: EvaluateResult, dataset: EvaluatedDataset) -> Iterator[str]:
    worst = [each for each in result.worst if each.dataset == dataset.dataset]
    if worst:
        yield f"  worst rows, by {worst[0].metric}:"
    for row in worst:
        yield from _worst(row, is_task=bool(dataset.benchmark))


def _benchmark(details: BenchmarkDetails) -> str:
    """Return how lm-eval evaluated a task or a group."""
    shots = "tasks with different numbers of examples" if details.few_shot is None else f"{details.few_shot}-shot"
    version = f", version {details.version}" if details.version else ""
    template = "chat template applied" if details.chat_template else "no chat template"
    group = f", {render_counted(len(details.tasks), 'task')} weighed by {details.weights}" if details.tasks else ""
    return f"lm-eval {details.harness}{version}, {shots}, {template}{group}"


def _remarks(dataset: EvaluatedDataset) -> Iterator[str]:
    """Yield what is to be known of the rows before the figures are believed."""
    if dataset.unreadable:
        warning = f"  {render_counted(dataset.unreadable, 'part')} of its files cannot be read: `holdfast inspect` shows where"
        yield style(warning, fg="yellow")
    if dataset.unfit:
        rows = ", ".join(map(str, dataset.first_unfit))
        yield style(f"  {render_counted(dataset.unfit, 'row')} left out ({rows}): {dataset.because}", fg="yellow")
    if dataset.cut:
        yield style(
            f"  {render_counted(dataset.cut, 'prompt')} too long for the model: the beginning is cut", fg="yellow"
        )
    if dataset.unended:
        yield style(f"  {render_counted(dataset.unended, 'answer')} cut off at --max-new-tokens", fg="yellow")
    if dataset.clusters is not None:
        yield f"  rows belong together in {dataset.clusters:,} clusters"
    if dataset.reused:
        yield f"  {render_counted(dataset.reused, 'row')} answered by an earlier evaluation"


def _name(figure: EvaluationFigure) -> str:
    where = ", ".join(f"{name} {value}" for name, value in (figure.where or {}).items())
    return f"{figure.metric} [{where}]" if where else figure.metric


def _figure(figure: EvaluationFigure, width: int) -> Iterator[str]:
    needed = f"; ±5 % needs {figure.rows_needed:,} rows" if figure.rows_needed else ""
    interval = (
        "no interval: rows too few or all alike"
        if figure.low is None
        else f"{spell_figure(figure.low)} to {spell_figure(figure.high)}"
    )
    value = "no value" if figure.value is None else spell_figure(figure.value)
    rows = f", {render_counted(figure.rows, 'row')}" if figure.where else ""
    yield f"  {_name(figure):{width}}  {value:>8}  ({interval}{rows}{needed})"
    if figure.base is not None:
        yield f"  {'':{width}}  {_compared(figure.base, figure.rows)}"


def _compared(base: BaseFigure, rows: int) -> str:
    if base.low is None or base.high is None or base.difference is None:
        return f"no interval for the difference from the base ({spell_figure(base.value)}): too few rows, or no row differs"
    chance = "" if base.p_value is None else f", p = {base.p_value:.2g}"
    change = f"{base.difference:+.3g} ({base.low:+.3g} to {base.high:+.3g}{chance})"
    verdict = f"{base.verdict} than the base's {spell_figure(base.value)}" if base.verdict != "undecided" else ""
    if base.verdict == "undecided":
        verdict = f"undecided with {render_counted(rows, 'row')}"
        verdict += f": {base.rows_needed:,} would be needed" if base.rows_needed else ""
        verdict += f"; base {spell_figure(base.value)}"
    return f"{style(verdict, fg=COLOURS[base.verdict])}, {change}"


def _confusion(labels: Sequence[str], counts: Sequence[Sequence[int]]) -> Iterator[str]:
    names = [label or "(no label)" for label in labels]
    width = max(map(len, names))
    yield "  right label, and what was answered:"
    yield f"    {'':{width}}  {'  '.join(f'{name:>{max(5, len(name))}}' for name in names)}"
    for name, row in zip(names, counts, strict=True):
        cells = "  ".join(f"{count:>{max(5, len(given))}}" for count, given in zip(row, names, strict=True))
        if any(row):
            yield f"    {name:{width}}  {cells}"


def _leaked(result: EvaluateResult, dataset: EvaluatedDataset, width: int) -> Iterator[str]:
    for leaked in result.leaked:
        if leaked.dataset != dataset.dataset:
            continue
        if not leaked.rows:
            yield "  none of the rows is in the training data"
            continue
        rows = ", ".join(map(str, (*leaked.exact, *leaked.near)[:5]))
        warning = f"{render_counted(leaked.rows, 'row')} ({leaked.fraction:.1%}) in the training data: {rows}. Without:"
        yield style(f"  {warning}", fg="yellow")
        for each in leaked.without:
            yield from _figure(each, width)


def _leaks_unknown(because: str) -> str:
    warning = f"not compared with the training data: {because}. Name it with --trained-on"
    return style(warning, fg="yellow")


def _worst(row: WorstRow, *, is_task: bool) -> Iterator[str]:
    beside = f", base {spell_figure(row.base_value)}" if row.base_value is not None else ""
    yield f"    row {row.row}: {spell_figure(row.value)}{beside}"
    prompt = _end_of(row.prompt) if is_task else row.prompt
    for name, text in (("prompt", prompt), ("reference", row.reference)):
        if text:
            yield f"      {name:9}  {_shortened(text)}"
    yield f"      {'answer':9}  {_shown_answer(row.answer)}"
    if _has_base_answer(row):
        yield f"      {'base':9}  {_shown_answer(row.base_answer)}"


def _shown_answer(text: str) -> str:
    return _shortened(text) or "(empty)"


def _has_base_answer(row: WorstRow) -> bool:
    """True if the base answered: an empty answer counts if there is a reference and the answer was scored."""
    return bool(row.base_answer or (row.reference and row.base_value is not None))


def _end_of(text: str) -> str:
    """Return the end of a prompt of a task, where its question is: examples come first."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"…{line[1 - SHOWN :]}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _checkpoints(result: EvaluateResult) -> Iterator[str]:
    """Yield the best on each dataset, and each checkpoint's value beside the final model's."""
    checkpoints = result.checkpoints or ()
    for best in result.best or ():
        yield style(_best(best), bold=True)
        yield from _checkpoint_figures(best, checkpoints)
    for each in checkpoints:
        if each.because:
            yield style(f"checkpoint-{each.step}: {each.because}", fg="yellow")


def _best(best: BestCheckpoint) -> str:
    name = "the final model" if best.step is None else f"checkpoint-{best.step}"
    doubt = f", {best.verdict} beside the final model" if best.verdict else ""
    return f"best on {best.dataset} by {best.metric}: {name}, {spell_figure(best.value)}{doubt}"


def _checkpoint_figures(best: BestCheckpoint, checkpoints: Sequence[EvaluatedCheckpoint]) -> Iterator[str]:
    """Yield the value of each checkpoint by which the best was chosen."""
    for each in checkpoints:
        for figure in each.figures:
            if (figure.dataset, figure.metric) == (best.dataset, best.metric):
                yield f"  checkpoint-{each.step}  {_beside_final(figure)}"


def _beside_final(figure: EvaluationFigure) -> str:
    beside = f"  {figure.base.verdict}" if figure.base else ""
    interval = f"({spell_figure(figure.low)} to {spell_figure(figure.high)})" if figure.low is not None else ""
    return f"{spell_figure(figure.value)}  {interval}{beside}"


def _failed(result: EvaluateResult) -> Iterator[str]:
    for each in result.failed:
        name = f" ({each.name})" if each.name else ""
        yield style(f"{each.dataset} failed{name}: {each.because}", fg="red")
        yield f"  fix: {each.fix}"


def _gates(result: EvaluateResult) -> Iterator[str]:
    for gate in result.gates:
        mark = style("holds", fg="green") if gate.passed else style("does not hold", fg="red")
        yield f"{gate.gate} {mark}{f' on {gate.dataset}' if gate.dataset else ''}: {gate.because}"


def _verdict(result: EvaluateResult) -> Iterator[str]:
    if result.datasets or result.failed:
        summary = f"{result.verdict}: {render_counted(len(result.datasets), 'dataset')} evaluated"
        summary += f", {len(result.failed)} failed" if result.failed else ""
        yield style(summary, fg="green" if result.verdict == "pass" else "red", bold=True)
    yield f"written: {', '.join(map(short_path, result.files))}"
