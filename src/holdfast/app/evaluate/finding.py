"""Finding all that an evaluation names, before anything is loaded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.app.arguments import PathName, as_path
from holdfast.app.evaluate.asking import BenchmarkTasks, EvaluationOptions, EvaluationRequest
from holdfast.app.evaluate.data import find_data
from holdfast.app.inspect.rows import RowSource
from holdfast.app.models.finding import find_model
from holdfast.app.models.found_model import FoundModel
from holdfast.core.errors import GroupedError, HoldfastError, UsageError

RESULTS: Final = "results"
NOT_KNOWN: Final = "which rows the model was trained on is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedModels:
    """What a model is compared with.

    Attributes:
        base: The model that is named for it; None if none is.
        own: Whether it is the model's own base where none is named.
        gated: Whether the model must not be worse.
        runs: The runs folder.
    """

    base: PathName | None
    own: bool
    gated: bool
    runs: PathName | None

    @classmethod
    def of_options(
        cls, base: PathName | None, not_worse_than: PathName | None, *, no_base: bool, runs: PathName | None
    ) -> "NamedModels":
        """Return what the options of the command name.

        Raises:
            UsageError: `--not-worse-than` stands beside an option that names another model to compare with, or none.
        """
        is_other = base is not None and str(base) != str(not_worse_than)
        if not_worse_than is not None and (no_base or is_other):
            other, because = ("--no-base", "skips the comparison") if no_base else ("--base", "names another model")
            what = f"`--not-worse-than` names the model to compare with, and `{other}` {because}"
            raise UsageError(what, where="--not-worse-than", fix=f"leave out `{other}`")
        return cls(base=not_worse_than or base, own=not no_base, gated=not_worse_than is not None, runs=runs)

    def name_of_base(self, model: FoundModel | None) -> PathName | None:
        """Return the name of the model to compare with; None if there is none. The model itself may not be known."""
        if not self.own:
            return self.base if self.gated else None
        return model.base if self.base is None and model is not None else self.base


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedData:
    """What a model is evaluated on.

    Attributes:
        on: Datasets.
        prompts: Single prompts.
        trained_on: The datasets that it was trained on.
        benchmarks: The benchmark tasks; None if there are none.
    """

    on: Sequence[str]
    prompts: Sequence[str]
    trained_on: Sequence[str]
    benchmarks: BenchmarkTasks | None = None

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to evaluate on."""
        return not self.on and not self.prompts and self.benchmarks is None


def find_request(
    model: str, named: NamedModels, data: NamedData, options: EvaluationOptions, errors: list[HoldfastError]
) -> EvaluationRequest:
    """Return an evaluation with all that it names found.

    Args:
        model: The model, as it was named.
        named: What it is compared with.
        data: What it is evaluated on.
        options: The options.
        errors: What is known to be wrong already.

    Raises:
        UsageError: Something is not there.
        GroupedError: Several things are not.
    """
    found = _find_models(model, named, errors, offline=options.offline)
    sources = _find_all(data.on, "--on", options, errors)
    trained_on = _find_all(data.trained_on, "--trained-on", options, errors)
    if data.is_empty and not errors:
        fix = "name datasets with --on, benchmark tasks with --task, or a --prompt"
        errors.append(UsageError("nothing to evaluate on", where="--on", fix=fix))
    if data.benchmarks is not None:
        errors += (_no_tasks(each) for each in found or () if each is not None and each.source.is_gguf)
    if errors or found is None:
        raise errors[0] if len(errors) == 1 else GroupedError("the evaluation cannot start", errors)
    training, unknown = (trained_on, "") if trained_on else _trained_on(found[0], offline=options.offline)
    return EvaluationRequest(
        name=model,
        model=found[0],
        base=found[1],
        gated=named.gated,
        sources=sources,
        training=training,
        training_unknown=unknown,
        prompts=data.prompts,
        options=options,
        benchmarks=data.benchmarks,
    )


def _find_models(
    name: str, named: NamedModels, errors: list[HoldfastError], *, offline: bool
) -> tuple[FoundModel, FoundModel | None] | None:
    """Return the model and what it is compared with; None, with the errors added, if one is not there."""
    try:
        model = find_model(name, runs=named.runs, offline=offline)
    except UsageError as error:
        errors.append(error)
        model = None
    other = named.name_of_base(model)
    try:
        base = None if other is None else find_model(as_path(other), runs=named.runs, offline=offline, where="the base")
    except UsageError as error:
        errors.append(error)
        return None
    return None if model is None else (model, base)


def _no_tasks(model: FoundModel) -> UsageError:
    """Return the error of benchmark tasks for a GGUF file."""
    what = f"benchmark tasks cannot be evaluated with a GGUF file: {model.name}"
    return UsageError(what, where="--task", fix="name the folder that it was converted from, or use datasets: --on")


def _find_all(
    names: Sequence[str], option: str, options: EvaluationOptions, errors: list[HoldfastError]
) -> list[tuple[str, RowSource | None]]:
    """Return the sources of datasets; add an error for each that is not there."""
    found: list[tuple[str, RowSource | None]] = []
    for name in names:
        try:
            found.append((name, find_data(name, config=options.choice.config, offline=options.offline, where=option)))
        except UsageError as error:
            errors.append(error)
    return found


def _trained_on(model: FoundModel, *, offline: bool) -> tuple[list[tuple[str, RowSource | None]], str]:
    """Return the dataset of a run's job; or none, and why its rows cannot be compared."""
    if model.trained_on is None:
        return [], NOT_KNOWN
    try:
        return [(model.trained_on, find_data(model.trained_on, config=None, offline=offline))], ""
    except UsageError as error:
        return [], f"the training data cannot be found: {error.what}"


def results_folder(results: PathName | None, model: FoundModel) -> Path:
    """Return the folder for results: the one that is requested, a run's own, or `./results`."""
    if results is not None:
        return Path(as_path(results))
    return model.run / RESULTS if model.run and model.is_final else Path(RESULTS)
