"""An evaluation from its datasets to its result: one that fails does not stop the others."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from holdfast.adapters.evaluation.store import EvaluationStore
from holdfast.app.evaluate.asking import EvaluationRequest
from holdfast.app.evaluate.benchmarks import PreparedTask, evaluate_task, prepare_tasks
from holdfast.app.evaluate.datasets import WRITES, DatasetError, PreparedDataset, prepare
from holdfast.app.evaluate.finished import PROMPT, FinishedWork
from holdfast.app.evaluate.own_metrics import values_of
from holdfast.app.evaluate.task_groups import combine_groups
from holdfast.app.evaluate.training_rows import find_leaks
from holdfast.app.evaluate.working import RowsForModel, outputs_of, with_template_of
from holdfast.app.evaluate.writing import write_results
from holdfast.core.errors import UsageError
from holdfast.core.evaluation import Example
from holdfast.engine.evaluate.breakdown import can_group
from holdfast.engine.evaluate.figures import EvaluatedRows
from holdfast.results.evaluate import EvaluateResult


def run_evaluation(
    request: EvaluationRequest, store: EvaluationStore, on_progress: Callable[[str], None]
) -> EvaluateResult:
    """Do an evaluation, and write its results.

    Raises:
        SourceError: A model cannot be loaded.
        LedgerError: The results cannot be written.
    """
    store.prepare()
    work = FinishedWork(prompts=_prompts(request))
    datasets = _prepared(request, work)
    base = None if request.base is None else with_template_of(request.base, request.model)
    tasks = prepare_tasks(request, base, work, on_progress)
    _want_columns(request.options.by, [*datasets, *(each.dataset for each in tasks)])
    wanted = _wanted_rows(work.prompts, datasets, tasks)
    if wanted:
        work.model = outputs_of(request.model, wanted, store, request.options, on_progress)
        if base is not None:
            left = list(_rows_of_base(wanted, tasks, work.model.failed))
            work.base = outputs_of(base, left, store, request.options, on_progress)
    _add_figures(request, datasets, tasks, work)
    return write_results(request, work, store)


def _wanted_rows(
    prompts: Sequence[Example], datasets: Sequence[PreparedDataset], tasks: Sequence[PreparedTask]
) -> list[RowsForModel]:
    """Return all rows that the model has to do."""
    wanted = [RowsForModel(PROMPT, "generate", prompts)] if prompts else []
    prepared = [*datasets, *(each.dataset for each in tasks)]
    return wanted + [RowsForModel(each.key, each.kind, each.examples) for each in prepared]


def _rows_of_base(
    wanted: Iterable[RowsForModel], tasks: Iterable[PreparedTask], failed: Container[str]
) -> Iterator[RowsForModel]:
    """Yield the rows that the base has to do: those that the model could do; of tasks, as the base reads them."""
    of_base = {each.dataset.key: each.base for each in tasks if each.base is not None}
    for each in wanted:
        if each.key not in failed:
            yield replace(each, examples=of_base.get(each.key, each.examples))


def _add_figures(
    request: EvaluationRequest, datasets: Sequence[PreparedDataset], tasks: Sequence[PreparedTask], work: FinishedWork
) -> None:
    """Add all that follows from the models' outputs: the values of rows, and the rows that stand in the training data."""
    if PROMPT in work.model.failed:
        work.fail(PROMPT, work.model.failed[PROMPT])
    for each in datasets:
        _evaluate(each, request, work)
    for task in tasks:
        evaluate_task(task, request.options.cluster, work)
    find_leaks(request, work.rows, work.leaked, work.fail)
    combine_groups(request, work)


def _prompts(request: EvaluationRequest) -> list[Example]:
    """Return the single prompts as rows: what the user of a chat would say, if the model has a chat template."""
    chat = request.model.template is not None
    return [
        Example(row=number, prompt=[{"role": "user", "content": text}] if chat else text)
        for number, text in enumerate(request.prompts)
    ]


def _prepared(request: EvaluationRequest, work: FinishedWork) -> list[PreparedDataset]:
    """Return the datasets that can be evaluated, one for each task; note why the others cannot."""
    found: list[PreparedDataset] = []
    for number, (name, source) in enumerate(request.sources):
        again = sum(earlier == name for earlier, _ in request.sources[:number])
        key = f"{name} ({again + 1})" if again else name
        try:
            for each in prepare(name, key, source, request.model, request.options):
                found.append(replace(each, key=f"{key}, {each.task}") if _holds(found, key) else each)
        except DatasetError as error:
            work.fail(name, error.failure)
    return found


def _want_columns(names: Sequence[str], datasets: Sequence[PreparedDataset]) -> None:
    """Look whether figures can be broken down.

    Raises:
        UsageError: None of the datasets has such a column.
    """
    for by in names:
        if datasets and not any(can_group(by, each.examples) for each in datasets):
            columns = ", ".join(dict.fromkeys(name for each in datasets for name in each.examples[0].columns))
            raise UsageError(
                f"no dataset has a column `{by}`", where="--by", fix=f"name length, label, or one of {columns}"
            )


def _holds(found: Sequence[PreparedDataset], key: str) -> bool:
    return any(each.key == key for each in found)


def _evaluate(dataset: PreparedDataset, request: EvaluationRequest, work: FinishedWork) -> None:
    """Add a dataset's rows with what the models gave, or why there is nothing."""
    if failure := work.failure_of(dataset.key):
        work.fail(dataset.name, failure)
        return
    requested, outputs = request.options.requested, work.model.outputs[dataset.key]
    base = None if work.base is None else work.base.outputs[dataset.key]
    own: Mapping[str, Sequence[float | None]] = {}
    base_own: Mapping[str, Sequence[float | None]] = {}
    try:
        if dataset.task in WRITES:
            own = values_of(requested, dataset.examples, outputs)
            base_own = values_of(requested, dataset.examples, base) if base else {}
    except DatasetError as error:
        work.fail(dataset.name, error.failure)
        if not dataset.metrics:
            return
    rows = EvaluatedRows(
        dataset=dataset.name,
        split=dataset.data.split,
        task=dataset.task,
        examples=dataset.examples,
        outputs=outputs,
        base=base,
        metrics=dataset.metrics,
        own=own,
        base_own=base_own,
        cluster=request.options.cluster,
    )
    work.rows.append((dataset, rows))
