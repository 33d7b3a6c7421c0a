"""One dataset of an evaluation: what it is evaluated for, and its rows as work for a model."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.evaluation.process import WorkFailure
from holdfast.app.evaluate.asking import EvaluationOptions, RequestedMetrics
from holdfast.app.evaluate.data import EvaluationData, read_data
from holdfast.app.evaluate.images import with_images
from holdfast.app.inspect.rows import RowSource
from holdfast.app.models.found_model import FoundModel
from holdfast.catalog.metrics import METRICS
from holdfast.core.errors import HoldfastError
from holdfast.core.evaluation import Example, TaskName, WorkKind
from holdfast.core.text.nearest import suggest_one
from holdfast.engine.evaluate.measuring import default_metrics
from holdfast.engine.evaluate.reading import ReadRows, TaskReading, find_tasks, read_rows
from holdfast.results.evaluate import BenchmarkDetails

WRITES: Final = ("answers", "prompts")
"""Tasks for which a model writes answers."""
NO_TASK: Final = (
    "no column is surely what a model is to answer: it has {columns}. Evaluated are prompts with an answer, choices, "
    "texts with a label, chosen and rejected answers, messages, and texts"
)


class DatasetError(Exception):
    """Why a dataset cannot be evaluated.

    Attributes:
        failure: The reason.
    """

    def __init__(self, because: str, fix: str, name: str = "") -> None:
        super().__init__(because)
        self.failure = WorkFailure(name, because, fix)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDataset:
    """A dataset that is ready for a model.

    Attributes:
        name: As it was named.
        key: Its name in messages and files: that, and its number where one name is given twice.
        data: Its rows.
        task: What it is evaluated for.
        read: Its rows as examples.
        metrics: The metrics.
        kind: What the model does for each row.
        benchmark: How lm-eval evaluates it; None for a dataset.
    """

    name: str
    key: str
    data: EvaluationData
    task: TaskName
    read: ReadRows
    metrics: tuple[str, ...]
    kind: WorkKind
    benchmark: BenchmarkDetails | None = None

    @property
    def examples(self) -> tuple[Example, ...]:
        """The rows that can be evaluated."""
        return self.read.examples


def prepare(
    name: str, key: str, source: RowSource | None, model: FoundModel, options: EvaluationOptions
) -> Iterator[PreparedDataset]:
    """Yield a dataset for each task that the requested metrics measure.

    Raises:
        DatasetError: It cannot be evaluated.
    """
    data = _read(name, source, options)
    readings = find_tasks(data.profile(chat=model.template is not None), model.labels, data.rows.values())
    if not readings and model.template is None and find_tasks(data.profile(chat=True)):
        raise _without_template()
    for reading in _chosen_readings(readings, data, model, options.requested):
        read = _examples(reading, data, model)
        yield PreparedDataset(
            name=name,
            key=key,
            data=data,
            task=reading.task,
            read=read,
            metrics=_metrics(reading.task, read, options.requested),
            kind=_kind(reading.task, model),
        )


def _examples(reading: TaskReading, data: EvaluationData, model: FoundModel) -> ReadRows:
    """Return the rows of a dataset as examples of a task.

    Raises:
        DatasetError: None can be evaluated.
    """
    read = read_rows(reading, data.rows)
    if model.source.is_vision:
        read = with_images(read, data.name)
    if not read.examples:
        fix = "`holdfast inspect` shows what its columns are"
        because = f"none of its {len(data.rows)} rows can be evaluated: {read.because}"
        raise DatasetError(because, fix, "dataset-bad-row-values")
    _want_template(reading.task, read, model)
    return read


def _metrics(task: TaskName, read: ReadRows, requested: RequestedMetrics) -> tuple[str, ...]:
    """Return the metrics of a task by name: those that are requested, or those that fit if nothing is."""
    if not requested.chosen:
        return default_metrics(task, read.examples)
    return tuple(each for each in requested.names if task in METRICS[each].tasks)


def _chosen_readings(
    readings: Mapping[TaskName, TaskReading], data: EvaluationData, model: FoundModel, requested: RequestedMetrics
) -> list[TaskReading]:
    """Return the readings of the tasks that the requested metrics measure; the first if none are requested.

    Raises:
        DatasetError: There is none.
    """
    fitting = {task: each for task, each in readings.items() if _can(task, model)}
    if not fitting:
        raise _none_fits(readings, data, model)
    tasks = _measured_tasks(requested, fitting)
    if not tasks:
        return [_first(fitting)]
    if tasks.isdisjoint(fitting):
        fix = f"it can be evaluated for {', '.join(_metrics_of(fitting))}"
        raise DatasetError("its columns have nothing that the metrics measure", fix)
    return [reading for task, reading in fitting.items() if task in tasks]


def _first(fitting: Mapping[TaskName, TaskReading]) -> TaskReading:
    """Return the most telling reading of a dataset for which nothing is requested.

    Raises:
        DatasetError: It has prompts alone, which only functions can judge.
    """
    task, reading = next(iter(fitting.items()))
    if task == "prompts" and len(fitting) == 1:
        because = "it has prompts and no answers to compare with"
        raise DatasetError(because, "name reward functions, --rewards, or a metric of your own, --metric FILE:FUNCTION")
    return reading


def _measured_tasks(requested: RequestedMetrics, fitting: Container[TaskName]) -> set[TaskName]:
    """Return the tasks that the requested metrics measure; functions judge answers, with a reference if there is one."""
    tasks: set[TaskName] = {task for each in requested.names for task in METRICS[each].tasks}
    if requested.functions or requested.rewards:
        tasks.add("answers" if "answers" in fitting else "prompts")
    return tasks


def _none_fits(readings: Mapping[TaskName, TaskReading], data: EvaluationData, model: FoundModel) -> DatasetError:
    """Return the error of a dataset that has no task, or none that the model can do."""
    if readings:
        return DatasetError(_unfit(readings, model), "name a model that fits the data")
    because = NO_TASK.format(columns=", ".join(data.columns))
    return DatasetError(because, "`holdfast inspect` proposes a mapping", "dataset-missing-column")


def _read(name: str, source: RowSource | None, options: EvaluationOptions) -> EvaluationData:
    try:
        data = read_data(name, source, options.choice)
    except HoldfastError as error:
        raise DatasetError(error.what, error.fix) from error
    except OSError as error:
        because = f"{error.filename or name} cannot be read: {error.strerror}"
        raise DatasetError(because, "check the file and its permissions") from error
    if not data.rows:
        raise DatasetError(f"{name} holds no rows", "name another split", "dataset-empty")
    if options.cluster and options.cluster not in data.columns:
        raise DatasetError(
            f"{name} has no column `{options.cluster}`",
            suggest_one(options.cluster, list(data.columns)),
            "dataset-missing-column",
        )
    return data


def _metrics_of(tasks: Mapping[TaskName, TaskReading]) -> list[str]:
    return [name for name, metric in METRICS.items() if any(task in metric.tasks for task in tasks)]


def _can(task: TaskName, model: FoundModel) -> bool:
    """True if a model can do a task: a head of several labels only classifies, one of a single output only compares."""
    if not model.source.classifies:
        return True
    return task == ("classes" if len(model.labels) > 1 else "preference")


def _unfit(readings: Mapping[TaskName, TaskReading], model: FoundModel) -> str:
    head = f"{len(model.labels)} labels" if len(model.labels) > 1 else "one output"
    return f"the model has a head with {head}, and the data is for {', '.join(readings)}"


def _kind(task: TaskName, model: FoundModel) -> WorkKind:
    if task in WRITES:
        return "generate"
    return "classify" if model.source.classifies else "score"


def _want_template(task: TaskName, read: ReadRows, model: FoundModel) -> None:
    """Look whether messages can be rendered.

    Raises:
        DatasetError: The model has no chat template.
    """
    first = read.examples[0]
    texts = [first.prompt, *(each.answer for each in first.scored)]
    messages = any(not isinstance(each, str) for each in texts)
    if messages and model.template is None and not (task == "classes" and model.source.classifies):
        raise _without_template()


def _without_template() -> DatasetError:
    because = "its rows are messages, and the model has no chat template"
    fix = "save the template that it was trained with: `tokenizer.chat_template`, then `save_pretrained`"
    return DatasetError(because, fix, "chat-template-missing")
