"""The verb `evaluate`: metrics of a model over datasets, with intervals, beside its base."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from holdfast.app.arguments import PathName, PathNames, Texts, as_path, as_paths, as_texts
from holdfast.app.evaluate.asking import EvaluationOptions, EvaluationRequest, read_metrics, want_libraries
from holdfast.app.evaluate.data import RowChoice
from holdfast.app.evaluate.finding import NamedData, NamedModels, find_request, results_folder
from holdfast.app.evaluate.task_names import NamedTasks, found_tasks
from holdfast.core.errors import HoldfastError
from holdfast.core.evaluation import GenerationSettings
from holdfast.results.evaluate import EvaluateResult

BATCH: Final = 32
"""The default of the most rows of a batch; long rows fill one sooner."""


def evaluate(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    model: PathName,
    *,
    on: PathNames = (),
    task: PathNames = (),
    few_shot: int | None = None,
    limit: int | None = None,
    allow_code: bool = False,
    prompt: Texts = (),
    split: str | None = None,
    config: str | None = None,
    rows: int | None = None,
    metric: Texts = (),
    rewards: Texts = (),
    by: Texts = (),
    cluster: str | None = None,
    base: PathName | None = None,
    no_base: bool = False,
    trained_on: PathNames = (),
    at_least: Texts = (),
    not_worse_than: PathName | None = None,
    max_new_tokens: int = 256,
    stop: Texts = (),
    temperature: float = 0.0,
    top_p: float = 1.0,
    top_k: int = 0,
    seed: int = 0,
    batch_size: int = BATCH,
    every: Literal["checkpoint"] | None = None,
    results: PathName | None = None,
    runs: PathName | None = None,
    offline: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> EvaluateResult:
    """Evaluate a model, with intervals, and compare it with its base.

    >>> import holdfast
    >>> answer = holdfast.evaluate("runs/quickstart-20261121-154501-x7", on="test.jsonl")  # doctest: +SKIP
    >>> [(each["metric"], each["value"], each["low"], each["high"]) for each in answer["results"]]  # doctest: +SKIP
    [('loss', 1.61, 1.52, 1.7), ('perplexity', 5.0, 4.57, 5.47)]

    Args:
        model: A folder, a run, a GGUF file, or the id of a Hub model. For an adapter, holdfast finds the base.
        on: The datasets: files, folders, or ids of Hub datasets.
        task: Benchmark tasks of lm-eval: names of tasks or groups, YAML files, or folders of them.
        few_shot: How many examples precede each row of a task. Default: what the task says.
        limit: Evaluate the first rows of each task, so many.
        allow_code: Let tasks run code that the model writes, on this machine.
        prompt: Single prompts to answer.
        split: The split, or a slice or sum of splits. Default: the first of test, validation and train.
        config: The configuration of a Hub dataset.
        rows: The largest number of rows of a dataset; they are drawn at random.
        metric: Metrics, by name or as `FILE:FUNCTION`. Default: those that fit the dataset's columns.
        rewards: Reward functions, as in training: `FILE:FUNCTION`, or one of TRL's by name.
        by: Break figures down by a column, `label` or `length`.
        cluster: Rows with the same value in this column belong together. Default: the prompt.
        base: The model to compare with. Default: an adapter's own base, or the model of a run's job.
        no_base: Don't compare.
        trained_on: The model's training data. Rows that are in it are reported. Default: that of a run's job.
        at_least: Conditions `METRIC=NUMBER`: the whole interval must be above the number (for a loss: below).
        not_worse_than: Fail if the interval shows that this model is better.
        max_new_tokens: The longest answer, in tokens.
        stop: Texts that end an answer.
        temperature: The temperature of sampling. 0 takes the likeliest token.
        top_p: Sample from the likeliest tokens, up to this probability.
        top_k: Sample from this many of the likeliest tokens. 0: all.
        seed: The seed of sampling, and of the draw of rows.
        batch_size: The largest batch, in rows. It is halved if memory runs out.
        every: `checkpoint` also evaluates the checkpoints that a run has kept, and names the best.
        results: The folder for results. Default: a run's own, else `./results`.
        runs: The runs folder.
        offline: Don't contact the Hub.
        on_progress: Receives each line of progress.

    Raises:
        UsageError: A model, a dataset, a function or a metric does not exist, a library is missing, or two options contradict.
        SourceError: The model cannot be loaded.
        LedgerError: The results cannot be written.
    """
    models = NamedModels.of_options(base, not_worse_than, no_base=no_base, runs=runs)
    named = NamedTasks(names=as_paths(task), few_shot=few_shot, limit=limit, allow_code=allow_code, offline=offline)
    want_libraries(benchmarks=bool(named.names))
    errors: list[HoldfastError] = []
    metrics = as_texts(metric), as_texts(rewards), as_texts(at_least)
    generation = GenerationSettings(
        max_new_tokens=max_new_tokens,
        stop_strings=as_texts(stop),
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
    )
    options = EvaluationOptions(
        choice=RowChoice(split=split, config=config, most=rows, seed=seed),
        requested=read_metrics(*metrics, errors, benchmarks=bool(named.names)),
        by=as_texts(by),
        cluster=cluster or "",
        generation=generation,
        batch_size=batch_size,
        offline=offline,
    )
    data = NamedData(on=as_paths(on), prompts=as_texts(prompt), trained_on=as_paths(trained_on))
    with found_tasks(named, errors, on_progress) as tasks:
        request = find_request(as_path(model), models, replace(data, benchmarks=tasks), options, errors)
        return _run(request, results, on_progress, every)


def _run(
    request: EvaluationRequest, results: PathName | None, on_progress: Callable[[str], None], every: str | None
) -> EvaluateResult:
    from holdfast.app.evaluate.every_checkpoint import run_request  # with numpy, which may not be installed

    return run_request(request, results_folder(results, request.model), on_progress, checkpoints=every is not None)
