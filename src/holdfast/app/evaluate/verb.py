"""The verb `evaluate`: metrics of a model over datasets, with intervals, beside its base."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.evaluation.store import EvaluationStore
from holdfast.app.arguments import PathName, PathNames, Texts, as_path, as_paths, as_texts
from holdfast.app.evaluate.asking import (
    EvaluationOptions,
    EvaluationRequest,
    read_gates,
    split_metrics,
    want_functions,
    want_libraries,
)
from holdfast.app.evaluate.data import find_data
from holdfast.app.evaluate.models import FoundModel, find_model
from holdfast.app.inspect.rows import RowSource
from holdfast.core.errors import GroupedError, HoldfastError, UsageError
from holdfast.core.evaluation import GenerationSettings
from holdfast.results.evaluate import EvaluateResult

BATCH: Final = 32
"""The most rows of a batch, if nobody says otherwise; long rows fill one sooner."""
RESULTS: Final = "results"


def evaluate(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    model: PathName,
    *,
    on: PathNames = (),
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
    results: PathName | None = None,
    runs: PathName | None = None,
    offline: bool = False,
    on_progress: Callable[[str], None] = lambda _: None,
) -> EvaluateResult:
    """Evaluate a model: metrics with intervals, beside its base.

    >>> import holdfast
    >>> answer = holdfast.evaluate("runs/quickstart-20261121-154501-x7", on="test.jsonl")  # doctest: +SKIP
    >>> [(each["metric"], each["value"], each["low"], each["high"]) for each in answer["results"]]  # doctest: +SKIP
    [('loss', 1.61, 1.52, 1.7), ('perplexity', 5.0, 4.57, 5.47)]

    Args:
        model: A folder, a run, or the id of a Hub model; of an adapter, its base is found.
        on: The datasets: files, folders, or ids of Hub datasets.
        prompt: Single prompts to answer.
        split: The split, or a slice or sum of splits. Default: the first of test, validation and train.
        config: The configuration of a Hub dataset.
        rows: The most rows of a dataset, drawn at random.
        metric: Metrics, by name or as `FILE:FUNCTION`. Default: those that fit the dataset's columns.
        rewards: Reward functions, as in training: `FILE:FUNCTION`, or one of TRL's by name.
        by: What the figures are broken down by: a column, `label` or `length`.
        cluster: The column whose value rows that belong together share. Default: rows with the same prompt.
        base: The model to compare with. Default: an adapter's own base, or the model of a run's job.
        no_base: Don't compare.
        trained_on: The datasets that the model was trained on, in which the rows are looked for. Default: that of a run's job.
        at_least: Conditions `METRIC=NUMBER`: the whole interval must be on the good side of the number.
        not_worse_than: A model to compare with; a difference whose interval shows that the model is worse is a failure.
        max_new_tokens: The most tokens of an answer.
        stop: Texts that end an answer.
        temperature: Of sampling. 0 takes the likeliest token.
        top_p: The share of the likeliest tokens to sample from.
        top_k: The number of the likeliest tokens to sample from. 0 for all.
        seed: Of sampling, and of the rows that are drawn.
        batch_size: The most rows of a batch. It is halved if memory runs out.
        results: The folder for results. Default: a run's own, else `./results`.
        runs: The runs folder.
        offline: Don't contact the Hub.
        on_progress: Is told what happens.

    Raises:
        UsageError: A model, a dataset, a function or a metric does not exist, or a library is missing.
        SourceError: The model cannot be loaded.
        LedgerError: The results cannot be written.
    """
    want_libraries()
    errors: list[HoldfastError] = []
    metrics, functions = split_metrics(as_texts(metric), errors)
    want_functions(as_texts(rewards), "--rewards", errors)
    generation = GenerationSettings(
        max_new_tokens=max_new_tokens,
        stop_strings=as_texts(stop),
        temperature=temperature,
        top_p=top_p,
        top_k=top_k,
        seed=seed,
    )
    options = EvaluationOptions(
        split=split,
        config=config,
        rows=rows,
        metrics=metrics,
        functions=functions,
        rewards=as_texts(rewards),
        by=as_texts(by),
        cluster=cluster or "",
        generation=generation,
        batch_size=batch_size,
        at_least=read_gates(as_texts(at_least), (*functions, *as_texts(rewards)), errors),
        offline=offline,
    )
    named = None if no_base and not not_worse_than else not_worse_than or base
    found = _find_models(as_path(model), named, errors, own=not no_base, runs=runs, offline=offline)
    sources = _find_all(as_paths(on), "--on", options, errors)
    training = _find_all(as_paths(trained_on), "--trained-on", options, errors)
    if not sources and not as_texts(prompt) and not errors:
        errors.append(UsageError("nothing to evaluate on", where="--on", fix="name datasets with --on, or a --prompt"))
    if errors or found is None:
        raise errors[0] if len(errors) == 1 else GroupedError("the evaluation cannot start", errors)
    from holdfast.app.evaluate.evaluating import run_evaluation  # with numpy, which may not be installed

    request = EvaluationRequest(
        name=as_path(model),
        model=found[0],
        base=found[1],
        gated=not_worse_than is not None,
        sources=sources,
        training=training or _trained_on(found[0], offline=offline),
        prompts=as_texts(prompt),
        options=options,
    )
    store = EvaluationStore(_results_folder(results, found[0]), SystemClock().now_s())
    return run_evaluation(request, store, on_progress)


def _find_models(
    name: str, base: PathName | None, errors: list[HoldfastError], *, own: bool, runs: PathName | None, offline: bool
) -> tuple[FoundModel, FoundModel | None] | None:
    """Return the model and what it is compared with; None, with the errors added, if one is not there."""
    found: FoundModel | None = None
    try:
        found = find_model(name, runs=runs, offline=offline)
    except UsageError as error:
        errors.append(error)
    try:
        compared = None if base is None else find_model(as_path(base), runs=runs, offline=offline, where="the base")
        if base is None and own and found is not None and found.base is not None:
            compared = find_model(found.base, runs=runs, offline=offline, where="the base")
    except UsageError as error:
        errors.append(error)
        return None
    return None if found is None else (found, compared)


def _find_all(
    names: Sequence[str], option: str, options: EvaluationOptions, errors: list[HoldfastError]
) -> list[tuple[str, RowSource | None]]:
    """Return the sources of datasets; add an error for each that is not there."""
    found: list[tuple[str, RowSource | None]] = []
    for name in names:
        try:
            found.append((name, find_data(name, config=options.config, offline=options.offline, where=option)))
        except UsageError as error:
            errors.append(error)
    return found


def _trained_on(model: FoundModel, *, offline: bool) -> list[tuple[str, RowSource | None]]:
    """Return the dataset of a run's job, if it is still there: nobody asked for it."""
    if model.trained_on is None:
        return []
    try:
        return [(model.trained_on, find_data(model.trained_on, config=None, offline=offline))]
    except UsageError:
        return []


def _results_folder(results: PathName | None, model: FoundModel) -> Path:
    """Return the folder for results: the one that is asked for, a run's own, or `./results`."""
    if results is not None:
        return Path(as_path(results))
    return Path(model.source.adapter or model.source.path).parent / RESULTS if model.is_run else Path(RESULTS)
