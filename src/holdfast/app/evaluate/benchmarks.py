"""Benchmark tasks as work for models: their rows, and the scores of the models' responses. lm-eval gives both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import json

from holdfast.adapters.evaluation.benchmarks import BenchmarkSession, BenchmarkTask, HarnessError, ReadBy, TaskScores
from holdfast.adapters.evaluation.process import WorkFailure
from holdfast.app.evaluate.asking import BenchmarkTasks, EvaluationRequest
from holdfast.app.evaluate.data import EvaluationData
from holdfast.app.evaluate.datasets import PreparedDataset
from holdfast.app.evaluate.finished import FinishedWork
from holdfast.app.evaluate.working import ModelOutputs
from holdfast.app.models.found_model import FoundModel
from holdfast.core.evaluation import Example, ModelOutput
from holdfast.engine.evaluate.benchmarks import harness_metric
from holdfast.engine.evaluate.figures import EvaluatedRows, MeasuredMetric, ResampledMetric
from holdfast.engine.evaluate.reading import ReadRows
from holdfast.results.evaluate import BenchmarkDetails

SEED: Final = 1234
"""lm-eval's own, of the choice of examples."""
MODEL, BASE = "model", "base"
"""The names of the two models among those that a task is prepared for."""
ROLLING: Final = "loglikelihood_rolling"
"""The output type of tasks that give the likelihood of whole texts, without examples and without a question."""
WITHOUT_VERSION: Final = ("None", "N/A", "Yaml")
HUB_FIX: Final = (
    "look at the connection, and at HF_TOKEN if the dataset is gated; what was downloaded once needs no network"
)
FIXES: Final[Mapping[str, str]] = {
    "hub": HUB_FIX,
    "few shot": "name fewer with --few-shot, or a split with more rows as the task's `fewshot_split`",
}
TASK_FIX: Final = "correct the task's YAML file, or choose another task"
HAS_HEAD: Final = WorkFailure("", "the model has a head, and writes no text", "name a generative model")


@dataclass(frozen=True, slots=True)
class PreparedTask:
    """A task that is ready for the models.

    Attributes:
        dataset: The task as a dataset.
        base: Its rows as the base model reads them; None if there is no base model.
        session: The process of lm-eval.
        reader: How the model reads it.
        base_reader: How the base model does; None if there is none.
    """

    dataset: PreparedDataset
    base: tuple[Example, ...] | None
    session: BenchmarkSession
    reader: ReadBy
    base_reader: ReadBy | None

    def score(self, reader: ReadBy, work: ModelOutputs) -> "ScoredOutputs":
        """Return what a model responded, with lm-eval's scores.

        Raises:
            HarnessError: It cannot be scored.
        """
        outputs = work.outputs[self.dataset.key]
        scores = self.session.score(self.dataset.name, reader, outputs)
        return ScoredOutputs(scores, _with_answers(outputs, scores))


@dataclass(frozen=True, slots=True)
class ScoredOutputs:
    """What a model responded to a task.

    Attributes:
        scores: lm-eval's scores.
        outputs: The responses, with the answers that lm-eval extracted from them.
    """

    scores: TaskScores
    outputs: list[ModelOutput]


def read_by(key: str, model: FoundModel, benchmarks: BenchmarkTasks, output_type: str) -> ReadBy:
    """Return how a model reads a task: as messages if it has a chat template, like the prompts of datasets; whole texts as they are."""
    chat = model.template is not None and output_type != ROLLING
    return ReadBy(key=key, source=model.source, chat=chat, limit=benchmarks.limit)


def prepare_tasks(
    request: EvaluationRequest, base: FoundModel | None, work: FinishedWork, on_progress: Callable[[str], None]
) -> list[PreparedTask]:
    """Return the tasks that can be evaluated; note why the others cannot.

    Args:
        request: The evaluation.
        base: The base model, with the chat template that it is evaluated with.
        work: What is known of the evaluation so far.
        on_progress: Receives each line of progress.
    """
    benchmarks = request.benchmarks
    if benchmarks is None:
        return []
    on_progress("lm-eval loads the rows of the tasks")
    try:
        loaded = benchmarks.session.load(benchmarks.few_shot)
    except HarnessError as error:
        work.fail("lm-eval", WorkFailure("", str(error), TASK_FIX))
        return []
    for failed in loaded.failed:
        work.fail(failed.spec, WorkFailure("", failed.because, FIXES.get(failed.kind, TASK_FIX)))
    work.groups = loaded.groups
    found: list[PreparedTask] = []
    for task in loaded.tasks:
        on_progress(f"{task.name}: lm-eval writes the requests")
        if prepared := _prepare(task, request.model, benchmarks, base, work):
            found.append(prepared)
    return found


def _prepare(
    task: BenchmarkTask, model: FoundModel, benchmarks: BenchmarkTasks, base: FoundModel | None, work: FinishedWork
) -> PreparedTask | None:
    """Return a task as work for the models; None, with the reason noted, if it cannot be evaluated."""
    if model.source.classifies:
        work.fail(task.name, HAS_HEAD)
        return None
    session = benchmarks.session
    reader = read_by(MODEL, model, benchmarks, task.output_type)
    base_reader = None if base is None else read_by(BASE, base, benchmarks, task.output_type)
    try:
        examples = session.prepare(task.name, reader)
        of_base = None if base_reader is None else session.prepare(task.name, base_reader)
    except HarnessError as error:
        work.fail(task.name, WorkFailure("", str(error), TASK_FIX))
        return None
    dataset = _as_dataset(task, benchmarks, examples, chat=reader.chat)
    return PreparedTask(dataset, of_base, session, reader, base_reader)


def _as_dataset(
    task: BenchmarkTask, benchmarks: BenchmarkTasks, examples: tuple[Example, ...], *, chat: bool
) -> PreparedDataset:
    return PreparedDataset(
        name=task.name,
        key=f"--task {task.name}",
        data=EvaluationData(name=task.name, split=task.split, of=task.of, rows={}, columns={}),
        task="benchmark",
        read=ReadRows(examples=examples),
        metrics=(),
        kind="respond",
        benchmark=BenchmarkDetails(
            harness=benchmarks.version,
            version="" if task.version in WITHOUT_VERSION else task.version,
            output_type=task.output_type,
            few_shot=0 if task.output_type == ROLLING else task.few_shot,
            chat_template=chat,
            limit=benchmarks.limit,
            seed=SEED,
            generation=json.encode(task.generation).decode() if task.output_type == "generate_until" else "",
            tasks=(),
            weights="",
        ),
    )


def evaluate_task(task: PreparedTask, cluster: str, work: FinishedWork) -> None:
    """Add a task's rows with what the models responded and with lm-eval's scores, or why there is nothing.

    Args:
        task: The task.
        cluster: The column whose value rows that belong together share.
        work: What is known of the evaluation so far.
    """
    dataset = task.dataset
    if failure := work.failure_of(dataset.key):
        work.fail(dataset.name, failure)
        return
    try:
        model = task.score(task.reader, work.model)
        base = task.score(task.base_reader, work.base) if task.base_reader and work.base else None
    except HarnessError as error:
        work.fail(dataset.name, WorkFailure("", str(error), TASK_FIX))
        return
    examples = _with_references(dataset.examples, model.scores)
    rows = EvaluatedRows(
        dataset=dataset.name,
        split=dataset.data.split,
        task="benchmark",
        examples=examples,
        outputs=model.outputs,
        base=None if base is None else base.outputs,
        cluster=cluster,
        given=_metrics(model, base),
    )
    work.rows.append((replace(dataset, read=ReadRows(examples=examples)), rows))


def _with_references(examples: Sequence[Example], scores: TaskScores) -> tuple[Example, ...]:
    references = {each.row: each.reference for each in scores.rows}
    return tuple(replace(each, reference=references.get(each.row, "")) for each in examples)


def _with_answers(outputs: Sequence[ModelOutput], scores: TaskScores) -> list[ModelOutput]:
    answers = {each.row: each.answer for each in scores.rows}
    return [replace(each, text=answers.get(each.row, "")) for each in outputs]


def _metrics(model: ScoredOutputs, base: ScoredOutputs | None) -> list[MeasuredMetric | ResampledMetric]:
    """Return the metrics of a task; the base model's by the same names."""
    others = {each.key: each for each in base.scores.metrics} if base else {}
    return [harness_metric(each, others.get(each.key)) for each in model.scores.metrics]
