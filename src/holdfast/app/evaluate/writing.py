"""The result of an evaluation, and its files."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib.metadata import version
from statistics import median_low
from typing import Final, Literal

from msgspec import UNSET, json, structs

from holdfast.adapters.evaluation.process import WorkEvent
from holdfast.adapters.evaluation.store import EvaluationStore, render_csv
from holdfast.adapters.secrets import redacted
from holdfast.adapters.storage.run_folder import write_whole
from holdfast.app.evaluate.asking import EvaluationRequest
from holdfast.app.evaluate.datasets import PreparedDataset
from holdfast.app.evaluate.finished import PROMPT, FinishedWork
from holdfast.catalog.metrics import MAIN, METRICS, Metric, are_labels, own_metric
from holdfast.engine.evaluate.breakdown import length_of
from holdfast.engine.evaluate.checkpoints import best_checkpoints
from holdfast.engine.evaluate.figures import EvaluatedRows, figures_of
from holdfast.engine.evaluate.gates import judge_at_least, judge_not_worse
from holdfast.engine.evaluate.measuring import confusion_of
from holdfast.engine.evaluate.samples import last_text, samples_of, worst_rows
from holdfast.results import to_json
from holdfast.results.evaluate import (
    ConfusionMatrix,
    EvaluatedDataset,
    EvaluateResult,
    EvaluationFigure,
    EvaluationSettings,
    GateResult,
    MetricDefinition,
    PromptAnswer,
    WorstRow,
)

UNKNOWN_MODEL: Final = WorkEvent(event="loaded")
LABELLED: Final = frozenset({"accuracy", "macro_f1"})
"""Metrics of answers that are labels."""


def write_results(request: EvaluationRequest, work: FinishedWork, store: EvaluationStore) -> EvaluateResult:
    """Return the result of an evaluation; it is written as JSON and CSV, and the answers as JSON lines.

    Raises:
        LedgerError: A file cannot be written.
    """
    figures = [figure for _, rows in work.rows for figure in figures_of(rows, request.options.by)]
    result = _result(request, work, store, figures)
    if request.checkpoints:
        best = list(best_checkpoints(result, request.checkpoints, request.model.folder))
        result = structs.replace(result, checkpoints=request.checkpoints, best=best)
    json_file, csv_file = store.files
    write_whole(csv_file, redacted(render_csv(request.name, figures, _columns(result))))
    write_whole(json_file, redacted(json.format(json.encode(to_json(result)), indent=1).decode()))
    return result


def _result(
    request: EvaluationRequest, work: FinishedWork, store: EvaluationStore, figures: list[EvaluationFigure]
) -> EvaluateResult:
    """Return the result; the answers are written beside its files."""
    metrics = list(_definitions(work))
    gates = _gates(request, work, figures, metrics)
    datasets = [_dataset(number, *evaluated, work, store) for number, evaluated in enumerate(work.rows, 1)]
    loaded = work.model.loaded or UNKNOWN_MODEL
    json_file, csv_file = store.files
    return EvaluateResult(
        verb="evaluate",
        verdict=_verdict(work, gates),
        model=request.name,
        base=request.base.name if request.base else None,
        results=figures,
        datasets=datasets,
        failed=work.failed,
        leaked=work.leaked,
        leaks_unknown=request.training_unknown or None,
        worst=list(_worst(work)),
        gates=gates,
        answers=_answers(work),
        metrics=metrics,
        settings=_settings(request, work, loaded),
        versions={**_versions(figures), **_harness_version(request), **loaded.versions},
        files=[str(json_file), str(csv_file)],
        samples=str(json_file.with_name(f"{store.name}-samples")) if datasets else "",
    )


def _verdict(work: FinishedWork, gates: Iterable[GateResult]) -> Literal["pass", "fail"]:
    return "fail" if work.failed or not all(gate.passed for gate in gates) else "pass"


def _worst(work: FinishedWork) -> Iterator[WorstRow]:
    """Yield the worst rows of each dataset; those of a group are those of its tasks."""
    for dataset, rows in work.rows:
        if not _is_group(dataset):
            yield from worst_rows(rows)


def _is_group(dataset: PreparedDataset) -> bool:
    return dataset.benchmark is not None and bool(dataset.benchmark.tasks)


def _gates(
    request: EvaluationRequest,
    work: FinishedWork,
    figures: Sequence[EvaluationFigure],
    metrics: Iterable[MetricDefinition],
) -> list[GateResult]:
    """Return the conditions with their verdicts: those of `--at-least`, then those of `--not-worse-than`."""
    requested = request.options.requested
    lower = {each.name for each in metrics if each.lower_is_better}
    gates = [gate for each in requested.at_least for gate in judge_at_least(each, figures, lower)]
    if request.gated and request.base is not None:
        gates += judge_not_worse(request.base.name, _decisive(figures, work, requested.chosen))
    return gates


def _decisive(
    figures: Sequence[EvaluationFigure], work: FinishedWork, requested: AbstractSet[str]
) -> list[EvaluationFigure]:
    """Return the figures that decide whether a model is worse: a dataset's requested metrics, else its main metric."""
    main = {rows.dataset: rows.given[0].name if rows.given else MAIN.get(rows.task, "") for _, rows in work.rows}
    measured: dict[str, set[str]] = {}
    for each in figures:
        measured.setdefault(each.dataset, set()).add(each.metric)
    return [each for each in figures if each.metric in (measured[each.dataset] & requested or {main[each.dataset]})]


def _dataset(
    number: int, dataset: PreparedDataset, rows: EvaluatedRows, work: FinishedWork, store: EvaluationStore
) -> EvaluatedDataset:
    """Return what is known of a dataset; its answers are written, but for a group's, whose tasks have them."""
    lengths = sorted(length_of(each) for each in dataset.examples)
    clusters = rows.clusters()
    return EvaluatedDataset(
        dataset=dataset.name,
        split=dataset.data.split,
        task=dataset.task,
        rows=len(dataset.examples),
        of=dataset.data.of,
        clusters=None if clusters is None else int(clusters.max()) + 1,
        unreadable=dataset.data.broken,
        unfit=dataset.read.unfit,
        first_unfit=dataset.read.first,
        because=dataset.read.because,
        lengths=[lengths[0], median_low(lengths), lengths[-1]],
        labels=_labels(dataset),
        confusion=_confusion(dataset, rows),
        reused=work.model.reused[dataset.key],
        unended=sum(not each.ended for each in rows.outputs),
        cut=sum(each.cut for each in rows.outputs),
        samples="" if _is_group(dataset) else store.write_samples(number, dataset.name, samples_of(rows)),
        benchmark=dataset.benchmark or UNSET,
    )


def _labels(dataset: PreparedDataset) -> Mapping[str, int]:
    """Return how many rows have each label; nothing if the dataset has no labels."""
    references = [each.reference for each in dataset.examples]
    if LABELLED.isdisjoint(dataset.metrics) or not (dataset.examples[0].options or are_labels(references)):
        return {}
    return dict(Counter(references).most_common())


def _confusion(dataset: PreparedDataset, rows: EvaluatedRows) -> ConfusionMatrix | None:
    if LABELLED.isdisjoint(dataset.metrics):
        return None
    return confusion_of(dataset.task, dataset.examples, rows.outputs)


def _answers(work: FinishedWork) -> list[PromptAnswer]:
    model, base = work.model.outputs.get(PROMPT, []), work.base.outputs.get(PROMPT, []) if work.base else []
    return [
        PromptAnswer(prompt=last_text(example.prompt), answer=output.text, base_answer=base[at].text if base else "")
        for at, (example, output) in enumerate(zip(work.prompts, model, strict=False))
    ]


def _definitions(work: FinishedWork) -> Iterator[MetricDefinition]:
    """Yield what each metric is; lm-eval's may have the name of one of holdfast's own."""
    known = {(each.name, each.library): each for each in reversed(list(_measured(work)))}
    for each in reversed(known.values()):
        library = f"{each.library} {version(each.library)}" if each.library else ""
        yield MetricDefinition(
            name=each.name, definition=each.definition, library=library, lower_is_better=each.lower_is_better
        )


def _measured(work: FinishedWork) -> Iterator[Metric]:
    """Yield the metrics of all datasets: first holdfast's, then the user's own, then lm-eval's."""
    evaluated = [rows for _, rows in work.rows]
    yield from (METRICS[name] for rows in evaluated for name in rows.metrics)
    yield from (own_metric(name, "the mean of what the function gives") for rows in evaluated for name in rows.own)
    yield from (each.metric for rows in evaluated for each in rows.given)


def _harness_version(request: EvaluationRequest) -> dict[str, str]:
    return {"lm-eval": request.benchmarks.version} if request.benchmarks else {}


def _versions(figures: Sequence[EvaluationFigure]) -> dict[str, str]:
    libraries = {METRICS[each.metric].library for each in figures if each.metric in METRICS} - {""}
    return {name: version(name) for name in sorted({"holdfast", "numpy", "scipy", *libraries})}


def _settings(request: EvaluationRequest, work: FinishedWork, loaded: WorkEvent) -> EvaluationSettings:
    options = request.options
    return EvaluationSettings(
        max_new_tokens=options.generation.max_new_tokens,
        stop_strings=options.generation.stop_strings,
        temperature=options.generation.temperature,
        top_p=options.generation.top_p,
        top_k=options.generation.top_k,
        seed=options.generation.seed,
        batch_size=min([options.batch_size, *work.model.batch_sizes.values()]),
        template=loaded.template,
        device=loaded.device,
        dtype=loaded.dtype,
    )


def _columns(result: EvaluateResult) -> dict[str, str]:
    """Return the columns that all rows of the CSV file share: the settings, and the versions."""
    settings = {name: str(value) for name, value in structs.asdict(result.settings).items()}
    return {**settings, **{f"{name} version": value for name, value in result.versions.items()}}
