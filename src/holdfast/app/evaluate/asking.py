"""The request for an evaluation, as plain values that were checked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.evaluation.benchmarks import BenchmarkSession
from holdfast.adapters.foreign_files import expanded, is_file
from holdfast.app.evaluate.data import RowChoice
from holdfast.app.extras import require_extra
from holdfast.app.inspect.rows import RowSource
from holdfast.app.models.found_model import FoundModel
from holdfast.app.models.near_files import suggest_path
from holdfast.catalog.metrics import METRICS, AtLeast, parse_at_least
from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.evaluation import GenerationSettings
from holdfast.core.text.nearest import nearest
from holdfast.results.evaluate import EvaluatedCheckpoint

LM_EVAL: Final = ("lm_eval",)
NEEDED: Final = ("torch", "transformers", "numpy", "scipy", "sklearn", "sacrebleu", "rouge_score")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedMetrics:
    """What an evaluation measures, beyond or instead of the metrics that fit a dataset's columns.

    Attributes:
        names: Metrics by name; those of each dataset's columns if nothing is requested.
        functions: Own metrics, `FILE:FUNCTION`.
        rewards: Reward functions.
        at_least: Conditions.
    """

    names: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    rewards: tuple[str, ...] = ()
    at_least: tuple[AtLeast, ...] = ()

    @property
    def chosen(self) -> frozenset[str]:
        """All names that are requested."""
        return frozenset((*self.names, *self.functions, *self.rewards))


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """The options of an evaluation that its datasets share.

    Attributes:
        choice: The rows of each dataset.
        requested: The metrics.
        by: What the figures are broken down by.
        cluster: The column whose value rows that belong together share; empty if those of the same prompt do.
        generation: How answers are generated.
        batch_size: The most rows of a batch.
        offline: Whether the Hub is left alone.
    """

    choice: RowChoice
    requested: RequestedMetrics
    by: tuple[str, ...]
    cluster: str
    generation: GenerationSettings
    batch_size: int
    offline: bool


def read_metrics(
    metrics: Sequence[str],
    rewards: tuple[str, ...],
    at_least: Sequence[str],
    errors: list[HoldfastError],
    *,
    benchmarks: bool,
) -> RequestedMetrics:
    """Return the metrics that are requested; add an error for each name that is none.

    Args:
        metrics: Metrics by name, and the user's own as `FILE:FUNCTION`.
        rewards: Reward functions.
        at_least: Conditions.
        errors: What is known to be wrong already.
        benchmarks: Whether there are benchmark tasks, whose metrics have names that only their tasks know.
    """
    names = tuple(name for name in metrics if ":" not in name)
    functions = tuple(name for name in metrics if ":" in name)
    errors += (_no_metric(name, METRICS, "--metric") for name in names if name not in METRICS)
    _want_functions(functions, "--metric", errors)
    _want_functions(rewards, "--rewards", errors)
    gates = _read_gates(at_least, (*METRICS, *functions, *rewards), errors, benchmarks=benchmarks)
    return RequestedMetrics(names=names, functions=functions, rewards=rewards, at_least=gates)


def _no_metric(name: str, known: Iterable[str], option: str) -> UsageError:
    """Return the error of a metric that does not exist."""
    near = nearest(name, tuple(known))
    own = ", or your own as FILE:FUNCTION" if option == "--metric" else ""
    fix = f"there is {near}" if near else f"there is {', '.join(known)}{own}"
    return UsageError(f"no metric is called {name!r}", where=option, fix=fix)


def _want_functions(names: Iterable[str], option: str, errors: list[HoldfastError]) -> None:
    """Add an error for each function that is not there."""
    known = TRL_REWARDS if option == "--rewards" else ()
    errors += filter(None, (_function_error(name, option, known) for name in names if name not in known))


def _function_error(name: str, option: str, known: Sequence[str]) -> UsageError | None:
    """Return the error of a name that is no `FILE:FUNCTION`, or whose file is not there."""
    file = name.rpartition(":")[0]
    if not file:
        fix = f"write FILE:FUNCTION, or one of {', '.join(known)}" if known else "write FILE:FUNCTION"
        return UsageError(f"{name!r} names no function", where=option, fix=fix)
    if not file.endswith(".py") or is_file(expanded(file)):
        return None
    fix = suggest_path(expanded(file), "name a Python file", lambda each: each.name.endswith(".py"))
    return UsageError(f"no such file: {file}", where=option, fix=fix)


def _read_gates(
    texts: Sequence[str], known: Sequence[str], errors: list[HoldfastError], *, benchmarks: bool
) -> tuple[AtLeast, ...]:
    """Return the conditions; add an error for each that is none, and for each whose metric cannot be known."""
    gates: list[AtLeast] = []
    for text in texts:
        gate = parse_at_least(text)
        if gate is None:
            fix = "write METRIC=NUMBER, such as accuracy=0.6"
            errors.append(UsageError(f"{text!r} is not a condition", where="--at-least", fix=fix))
            continue
        if gate.metric not in known and not benchmarks:
            errors.append(_no_metric(gate.metric, known, "--at-least"))
        gates.append(gate)
    return tuple(gates)


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
