"""What an evaluation is asked to do, as plain values that were checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.adapters.evaluation.benchmarks import BenchmarkSession
from holdfast.adapters.foreign_files import expanded
from holdfast.app.extras import require_extra
from holdfast.app.inspect.rows import RowSource
from holdfast.app.models.found_model import FoundModel
from holdfast.catalog.metrics import METRICS, AtLeast, parse_at_least
from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.evaluation import GenerationSettings
from holdfast.core.nearest import nearest
from holdfast.results.evaluate import EvaluatedCheckpoint

LM_EVAL: Final = ("lm_eval",)
NEEDED: Final = ("torch", "transformers", "numpy", "scipy", "sklearn", "sacrebleu", "rouge_score")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """The options of an evaluation that its datasets share.

    Attributes:
        split: The split; None for the first of test, validation and train that there is.
        config: The configuration of Hub datasets.
        rows: The most rows of a dataset; None for all.
        metrics: Metrics by name; those of each dataset's columns if there are none.
        functions: Own metrics, `FILE:FUNCTION`.
        rewards: Reward functions.
        by: What the figures are broken down by.
        cluster: The column whose value rows that belong together share; empty if those of the same prompt do.
        generation: How answers are generated.
        batch_size: The most rows of a batch.
        at_least: Conditions.
        offline: Whether the Hub is left alone.
    """

    split: str | None
    config: str | None
    rows: int | None
    metrics: tuple[str, ...]
    functions: tuple[str, ...]
    rewards: tuple[str, ...]
    by: tuple[str, ...]
    cluster: str
    generation: GenerationSettings
    batch_size: int
    at_least: tuple[AtLeast, ...]
    offline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkTasks:
    """The benchmark tasks of an evaluation, whose names were found.

    Attributes:
        session: The process of lm-eval.
        version: Its version.
        few_shot: How many examples precede each row; None if the tasks say it.
        limit: The first rows that are evaluated; None for all.
    """

    session: BenchmarkSession
    version: str
    few_shot: int | None
    limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRequest:
    """An evaluation, with all that it names found.

    Attributes:
        name: The model, as it was named.
        model: The model.
        base: The model that it is compared with; None if there is none.
        gated: Whether it must not be worse than that one.
        sources: The datasets, by the names that they were given.
        training: What the model was trained on, if that is known and can be read.
        training_unknown: Why `training` is empty; empty if it is not.
        prompts: Single prompts to answer.
        options: The options.
        benchmarks: The benchmark tasks; None if there are none.
        checkpoints: The checkpoints of the run that were evaluated beside the model.
    """

    name: str
    model: FoundModel
    base: FoundModel | None
    gated: bool
    sources: Sequence[tuple[str, RowSource | None]]
    training: Sequence[tuple[str, RowSource | None]]
    prompts: Sequence[str]
    options: EvaluationOptions
    training_unknown: str = ""
    benchmarks: BenchmarkTasks | None = None
    checkpoints: Sequence[EvaluatedCheckpoint] = ()


def want_libraries(*, benchmarks: bool = False) -> None:
    """Look whether everything is installed that an evaluation needs.

    Args:
        benchmarks: Whether it has benchmark tasks.

    Raises:
        UsageError: Something is not.
    """
    require_extra("evaluate", NEEDED, "an evaluation")
    if benchmarks:
        require_extra("benchmarks", LM_EVAL, "a benchmark task")


def split_metrics(names: Sequence[str], errors: list[HoldfastError]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the metrics that have a name, and the user's own functions; add an error for each that is neither."""
    named = tuple(name for name in names if ":" not in name)
    for name in named:
        if name not in METRICS:
            near = nearest(name, tuple(METRICS))
            fix = f"there is {near}" if near else f"there is {', '.join(METRICS)}, or your own as FILE:FUNCTION"
            errors.append(UsageError(f"no metric is called {name!r}", where="--metric", fix=fix))
    functions = tuple(name for name in names if ":" in name)
    want_functions(functions, "--metric", errors)
    return named, functions


def want_one_comparison(base: object, not_worse_than: object, *, no_base: bool) -> None:
    """Refuse `--not-worse-than` beside an option that names another model to compare with, or none.

    Raises:
        UsageError: Both are given.
    """
    is_other = base is not None and str(base) != str(not_worse_than)
    other = "--no-base" if no_base else "--base" if is_other else ""
    if not_worse_than is not None and other:
        because = "skips the comparison" if no_base else "names another model"
        what = f"`--not-worse-than` names the model to compare with, and `{other}` {because}"
        raise UsageError(what, where="--not-worse-than", fix=f"leave out `{other}`")


def want_functions(names: Sequence[str], option: str, errors: list[HoldfastError]) -> None:
    """Add an error for each function whose file is not there."""
    for name in names:
        file = name.rpartition(":")[0]
        if name in TRL_REWARDS and option == "--rewards":
            continue
        if not file:
            fix = "write FILE:FUNCTION" + (f", or one of {', '.join(TRL_REWARDS)}" if option == "--rewards" else "")
            errors.append(UsageError(f"{name!r} names no function", where=option, fix=fix))
        elif file.endswith(".py") and not expanded(file).is_file():
            folder = expanded(file).parent
            here = tuple(each.name for each in folder.glob("*.py")) if folder.is_dir() else ()
            near = nearest(Path(file).name, here)
            fix = f"there is {folder / near}" if near else "name a Python file"
            errors.append(UsageError(f"no such file: {file}", where=option, fix=fix))


def read_gates(
    texts: Sequence[str], own: Sequence[str], errors: list[HoldfastError], *, benchmarks: bool = False
) -> tuple[AtLeast, ...]:
    """Return the conditions; add an error for each that is none.

    Args:
        texts: The conditions.
        own: The names of the user's own metrics and rewards.
        errors: What is known to be wrong already.
        benchmarks: Whether there are benchmark tasks, whose metrics have names that only their tasks know.
    """
    known = (*METRICS, *own)
    found = [parse_at_least(text) for text in texts]
    for text, gate in zip(texts, found, strict=True):
        if gate is None:
            fix = "write METRIC=NUMBER, such as accuracy=0.6"
            errors.append(UsageError(f"{text!r} is not a condition", where="--at-least", fix=fix))
        elif gate.metric not in known and not benchmarks:
            near = nearest(gate.metric, known)
            fix = f"there is {near}" if near else f"there is {', '.join(known)}"
            errors.append(UsageError(f"no metric is called {gate.metric!r}", where="--at-least", fix=fix))
    return tuple(gate for gate in found if gate is not None)
