"""The result of `evaluate`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import UNSET, UnsetType, field

from holdfast.core.evaluation import TaskName
from holdfast.results import Result, ResultPart


class BaseFigure(ResultPart, frozen=True, kw_only=True):
    """The base model's figure on the same rows, and the difference.

    Attributes:
        value: The base model's value.
        difference: The model's value minus the base model's.
        low: The lower end of the difference's 95 % interval; null if there are too few rows.
        high: Its upper end.
        p_value: The probability of such a difference if the true one were 0; null if there are too few rows, or no test.
        test: The test that gives it; empty if there is none.
        verdict: `better` or `worse` if the interval lies on one side of 0.
        rows_needed: How many rows would show a difference of this size, four times out of five; null if these rows show it, or there is none.
    """

    value: float | None
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    test: str
    verdict: Literal["better", "worse", "undecided"]
    rows_needed: int | None


class EvaluationFigure(ResultPart, frozen=True, kw_only=True):
    """The figure of one metric on one dataset, or on a part of it.

    Attributes:
        dataset: The dataset, as it was named.
        split: The split.
        rows: How many rows have a value.
        metric: The metric.
        value: Its value; null if no row has one, or it is not finite.
        low: The lower end of its 95 % interval; null if there are too few rows.
        high: Its upper end.
        interval: The method of the interval.
        rows_needed: How many rows would make the interval as narrow as 0.05 of the metric's range to each side, or 5 % of a value without
            a range; null if it is.
        where: The rows that it covers: a column, `label` or `length`, with its value; null for all.
        base: The base model's figure; null if there is no base model.
    """

    dataset: str
    split: str
    rows: int
    metric: str
    value: float | None
    low: float | None
    high: float | None
    interval: str
    rows_needed: int | None
    where: Mapping[str, str] | None
    base: BaseFigure | None


class MetricDefinition(ResultPart, frozen=True, kw_only=True):
    """What a metric is.

    Attributes:
        name: Its name.
        definition: How it is computed.
        library: The package that computes it, with its version; empty if holdfast does.
        lower_is_better: True if a lower value is better; absent if a higher one is.
    """

    name: str
    definition: str
    library: str
    lower_is_better: bool = False


class ConfusionMatrix(ResultPart, frozen=True, kw_only=True):
    """How often each label was answered with each label.

    Attributes:
        labels: The labels; an empty one stands for answers that are not a label.
        counts: For each right label, how often each label was given.
    """

    labels: Sequence[str]
    counts: Sequence[Sequence[int]]


class BenchmarkDetails(ResultPart, frozen=True, kw_only=True):
    """How lm-eval evaluated a benchmark task, or a group of tasks: what is needed to repeat it.

    Attributes:
        harness: lm-eval's version.
        version: The version of the task or group; empty if it has none.
        output_type: What the model does for a row, in lm-eval's terms; empty for a group.
        few_shot: How many examples precede each row; null if the tasks of a group differ.
        chat_template: Whether the model's chat template was applied. Examples are then earlier turns of the conversation.
        limit: How many rows of each task were evaluated, from the first; null for all.
        seed: The seed of the choice of examples.
        generation: The task's settings of generation, as JSON; empty if nothing is generated.
        tasks: The tasks of a group; empty for a task.
        weights: What a task weighs in its group: `rows` if as much as it has rows, `tasks` if all weigh the same; empty for a task.
    """

    harness: str
    version: str
    output_type: str
    few_shot: int | None
    chat_template: bool
    limit: int | None
    seed: int
    generation: str
    tasks: Sequence[str]
    weights: Literal["rows", "tasks", ""]


class EvaluatedDataset(ResultPart, frozen=True, kw_only=True):
    """A dataset, a benchmark task or a group of tasks that was evaluated.

    Attributes:
        dataset: The dataset, as it was named; or the name of the task or group.
        split: The split.
        task: What it was evaluated for.
        rows: How many rows were evaluated.
        of: How many rows the split has.
        clusters: How many groups the rows form; null if each row is a group.
        unreadable: How many parts of its files could not be read.
        unfit: How many rows could not be evaluated.
        first_unfit: The numbers of the first of them, counted from 0.
        because: Why the first of them could not be evaluated.
        lengths: The shortest, the median and the longest prompt, in characters.
        labels: How many rows have each label; empty if there are no labels.
        confusion: How often each label was answered with each label; null if there are no labels.
        reused: How many rows were answered by an earlier evaluation with the same model and settings.
        unended: How many answers were cut off at `max_new_tokens`; 0 for benchmark tasks, of which it is not known.
        cut: How many prompts were too long for the model, and lost their beginning.
        samples: The file with the answers, as JSON lines; empty for a group, whose tasks have one each.
        benchmark: How lm-eval evaluated it; absent for datasets.
    """

    dataset: str
    split: str
    task: TaskName
    rows: int
    of: int
    clusters: int | None
    unreadable: int
    unfit: int
    first_unfit: Sequence[int]
    because: str
    lengths: Sequence[int]
    labels: Mapping[str, int]
    confusion: ConfusionMatrix | None
    reused: int
    unended: int
    cut: int
    samples: str
    benchmark: BenchmarkDetails | UnsetType = UNSET


class FailedDataset(ResultPart, frozen=True, kw_only=True):
    """A dataset or benchmark task that could not be evaluated.

    Attributes:
        dataset: The dataset or task, as it was named.
        name: The class of failure, for `holdfast explain`; empty if it has none. In JSON: `class`.
        because: Why it could not.
        fix: What to do.
    """

    dataset: str
    name: str = field(name="class")
    because: str
    fix: str


class LeakedDataset(ResultPart, frozen=True, kw_only=True):
    """The rows of a dataset that are in the training data.

    Attributes:
        dataset: The dataset, as it was named.
        rows: How many there are.
        fraction: Their share.
        exact: The numbers of the first rows that are there completely, counted from 0.
        near: The numbers of the first rows of which at least half of the sequences of eight words are there.
        without: The figures without these rows.
    """

    dataset: str
    rows: int
    fraction: float
    exact: Sequence[int]
    near: Sequence[int]
    without: Sequence[EvaluationFigure]


class WorstRow(ResultPart, frozen=True, kw_only=True):
    """A row with a low score, or one that the base model answered better.

    Attributes:
        dataset: The dataset, as it was named.
        row: Its number, counted from 0.
        metric: The metric.
        value: The row's value.
        base_value: The base model's; null if there is none.
        prompt: The last text of the model's input.
        reference: The right answer.
        answer: The model's answer; empty if it wrote none.
        base_answer: The base model's answer.
    """

    dataset: str
    row: int
    metric: str
    value: float
    base_value: float | None
    prompt: str
    reference: str
    answer: str
    base_answer: str


class GateResult(ResultPart, frozen=True, kw_only=True):
    """A condition of the command.

    Attributes:
        gate: The condition, as it was given.
        dataset: The dataset that it was tested on.
        passed: Whether it holds.
        because: The figures that decide it.
    """

    gate: str
    dataset: str
    passed: bool
    because: str


class PromptAnswer(ResultPart, frozen=True, kw_only=True):
    """The answer to `--prompt`.

    Attributes:
        prompt: The prompt.
        answer: The model's answer.
        base_answer: The base model's; empty if there is none.
    """

    prompt: str
    answer: str
    base_answer: str


class EvaluationSettings(ResultPart, frozen=True, kw_only=True):
    """How answers were generated.

    Attributes:
        max_new_tokens: The longest answer, in tokens.
        stop_strings: Texts that end an answer.
        temperature: The temperature of sampling; 0 takes the likeliest token.
        top_p: The probability of the likeliest tokens that were sampled from.
        top_k: The number of the likeliest tokens that were sampled from; 0 for all.
        seed: The seed of sampling, and of the choice of rows.
        batch_size: The largest batch, in rows.
        template: The SHA-256 of the chat template; empty if there is none.
        device: The device.
        dtype: The dtype of the weights.
    """

    max_new_tokens: int
    stop_strings: Sequence[str]
    temperature: float
    top_p: float
    top_k: int
    seed: int
    batch_size: int
    template: str
    device: str
    dtype: str


class EvaluatedCheckpoint(ResultPart, frozen=True, kw_only=True):
    """A checkpoint that was evaluated in addition to the final model of its run.

    Attributes:
        step: Its step.
        folder: Its folder.
        figures: Its figures on all rows of each dataset; the base in them is the final model.
        because: Why it was not evaluated, or which datasets failed; empty if all went well.
        file: The file with its results; empty if there are none.
    """

    step: int
    folder: str
    figures: Sequence[EvaluationFigure]
    because: str
    file: str


class BestCheckpoint(ResultPart, frozen=True, kw_only=True):
    """The best of a run's checkpoints and its final model on a dataset.

    Attributes:
        dataset: The dataset, as it was named.
        metric: The metric that decides: the main one of the dataset's task.
        step: The checkpoint's step; null if the final model is the best.
        folder: The folder of the best.
        value: Its value.
        verdict: Whether it is better than the final model by the interval; null if it is the final model.
    """

    dataset: str
    metric: str
    step: int | None
    folder: str
    value: float
    verdict: Literal["better", "worse", "undecided"] | None


class EvaluateResult(Result, frozen=True, kw_only=True):
    """How good a model is, and how certain the figures are.

    Attributes:
        verdict: `fail` if a dataset failed, or a gate did not pass.
        model: The model, as it was named.
        base: The model that it is compared with; null if there is none.
        results: The figures: of each dataset, then of its parts.
        datasets: The datasets that were evaluated.
        failed: Those that could not be.
        leaked: Rows that are in the training data, if it is known.
        leaks_unknown: Why no rows were looked for in the training data; absent if they were.
        worst: The worst rows of each dataset.
        gates: The conditions of the command.
        answers: The answers to `--prompt`.
        metrics: What each metric is.
        settings: How answers were generated.
        versions: The versions of the libraries.
        files: The files with these results: JSON and CSV.
        samples: The folder with the answers; empty if there are none.
        checkpoints: The checkpoints that were evaluated too; absent without `--every checkpoint`.
        best: The best of them and the model, on each dataset; absent without `--every checkpoint`.
    """

    verb: Literal["evaluate"]
    verdict: Literal["pass", "fail"]
    model: str
    base: str | None
    results: Sequence[EvaluationFigure]
    datasets: Sequence[EvaluatedDataset]
    failed: Sequence[FailedDataset]
    leaked: Sequence[LeakedDataset]
    leaks_unknown: str | None = None
    worst: Sequence[WorstRow]
    gates: Sequence[GateResult]
    answers: Sequence[PromptAnswer]
    metrics: Sequence[MetricDefinition]
    settings: EvaluationSettings
    versions: Mapping[str, str]
    files: Sequence[str]
    samples: str
    checkpoints: Sequence[EvaluatedCheckpoint] | UnsetType = UNSET
    best: Sequence[BestCheckpoint] | UnsetType = UNSET

    @property
    def exit_code(self) -> int:
        """1 where the verdict is `fail`."""
        return int(self.verdict == "fail")
