"""The question of a plan, from what is known of a job; and the answer as rules get it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.references import some_of
from holdfast.core.check.facts import Dataset, Machine, ModelFacts
from holdfast.core.check.finding import MissingFactError
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import JobEstimate
from holdfast.core.plan.hardware import Hardware, PriceList
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.core.run.backends import BACKEND_KEY, LOCAL
from holdfast.core.text.numbers import is_number
from holdfast.engine.plan.allocator_setting import allocator_setting
from holdfast.engine.plan.cheaper import cheaper_hardware
from holdfast.engine.plan.disk import disk_need, kept_files
from holdfast.engine.plan.duration import timeout_for
from holdfast.engine.plan.hardware import find_hardware, list_flavors, own_prices
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.known_models import alike_models
from holdfast.engine.plan.options import usable_bytes
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.step import FLOAT16, FLOAT32
from holdfast.engine.references.models import named_models

WITHOUT_HUB: Final = "A folder with its `config.json`, named in its place, is planned without the Hub"
NOT_MEASURED: Final = "`holdfast plan` measures them"


def names_gpus(job: Document, machine: Machine, own: Callable[[], tuple[Hardware, ...]]) -> bool:
    """Whether a job says on which GPUs it runs: by its hardware, or on this machine, which has some.

    Args:
        job: The job.
        machine: This machine.
        own: Finds the machines of the user's own price file. It is not called if the job names no hardware.
    """
    if job.get(BACKEND_KEY, LOCAL.name) == LOCAL.name:
        return bool(machine.gpus)
    if job.get("where.hardware", None) is None:
        return False
    hardware, _ = _named_hardware(job, own_prices(own()))
    return hardware is not None and bool(hardware.gpus)


COUNTED: Final = (
    *(f"train.per_device_{part}_batch_size" for part in ("train", "eval")),
    *(f"train.{name}" for name in ("gradient_accumulation_steps", "save_steps", "eval_steps", "num_train_epochs")),
    *(f"train.{name}" for name in ("max_steps", "max_length", "num_generations", "max_completion_length")),
    "peft.r",
    "where.processes",
)
MOST_COUNT: Final = 1e8


def _require_possible(job: Document) -> None:
    """Refuse counts that no training can have: amounts made of them would have no meaning, or no end.

    Raises:
        MissingFactError: One is such a number.
    """
    for key in COUNTED:
        value = job.get(key, None)
        if is_number(value) and not abs(value) < MOST_COUNT:  # as NaN is, too
            raise MissingFactError(key, f"`{key}` is a number that no training can have")


def ask_plan(  # noqa: PLR0913 - each is a thing that a plan depends on
    job: Document,
    api: Api,
    machine: Machine,
    *,
    prices: PriceList,
    model: Callable[[], ModelFacts],
    dataset: Callable[[], Dataset],
    lengths: Callable[[], RowLengths] | None,
    rehearsed: RehearsedTraining | None,
) -> PlanQuestion:
    """Return the question of a job's plan.

    Args:
        job: The job.
        api: The versions that it gets.
        machine: This machine.
        prices: What the flavors of Hugging Face Jobs cost.
        model: Finds what is known of its model.
        dataset: Finds what is known of its dataset.
        lengths: Measures the rows that it trains on; None if that would take too long.
        rehearsed: Its training as a rehearsal saw it; None if none passed.

    Raises:
        MissingFactError: The sizes of its model are not known, or a setting is a number that no training can have.
    """
    _require_possible(job)
    this = _this_machine(machine)
    here = this if job.get(BACKEND_KEY, None) == LOCAL.name else None
    named, unknown = (None, "") if here else _named_hardware(job, prices)
    rows, eval_split_rows = _row_counts(job, dataset)
    measured, unmeasured = _measured(rehearsed, lengths)
    return PlanQuestion(
        job=job,
        api=api,
        model=_model(job, model),
        rows=rows,
        eval_split_rows=eval_split_rows,
        lengths=measured,
        unmeasured=unmeasured,
        named=named,
        unknown_hardware=unknown,
        this=this,
        here=here,
        choices=[each for each in (this, *list_flavors(prices)) if each.gpus],
        prices=prices,
        allocator=allocator_setting(job, machine.variables),
        rehearsed=rehearsed,
    )


def _row_counts(job: Document, find_dataset: Callable[[], Dataset]) -> tuple[int | None, int | None]:
    """Return the rows of the dataset, and those of the split that is evaluated on; None for what is not known."""
    data = _known(find_dataset)
    return (data.rows, _eval_split_rows(job, data)) if isinstance(data, Dataset) else (None, None)


def _measured(
    rehearsed: RehearsedTraining | None, measure: Callable[[], RowLengths] | None
) -> tuple[RowLengths | None, str]:
    """Return how long the rows are, as a rehearsal saw them or as they are measured now; None with the reason if neither says it."""
    if rehearsed and rehearsed.lengths:
        return rehearsed.lengths, ""
    found = _known(measure) if measure else NOT_MEASURED
    return (None, found) if isinstance(found, str) else (found, "")


def _this_machine(machine: Machine) -> Hardware:
    """Return this machine; of a GPU that only a variable names, nothing is known."""
    return Hardware(
        name=LOCAL.name,
        gpus=tuple(gpu for gpu in machine.gpus if gpu.memory_bytes),
        usd_per_hour=0.0,
        cores=machine.cpus,
        memory_bytes=machine.memory_bytes,
        disk_bytes=machine.free_disk_bytes,
    )


def _eval_split_rows(job: Document, data: Dataset) -> int | None:
    """Return the rows of the split that a job evaluates on; None if it names none, or they are not known."""
    splits = data.configs.get(job.get("dataset.config", None) or data.default_config or "", {})
    named = splits.get(str(job.get("dataset.eval_split", None)))
    return data.eval_rows if named is None else named.rows


def estimate_of(plan: JobPlan, model: JobModel) -> JobEstimate | None:
    """Return the estimate that rules and `run` use; None if the GPU of the job is not known.

    Args:
        plan: The plan of the job.
        model: The model of the job.
    """
    placed, usable = plan.as_is, plan.as_is.hardware.gpus
    if not usable or plan.no_hardware:
        return None
    cheapest = next(iter(plan.options), None)
    settings = ", ".join(f"{key}={value}" for key, value in cheapest.settings.items()) if cheapest else ""
    return JobEstimate(
        hardware=placed.hardware.label,
        card=placed.memory.card,
        usable_bytes=usable_bytes(usable[0]),
        seconds=placed.seconds,
        usd=placed.usd,
        usd_per_hour=placed.hardware.usd_per_hour,
        prices=plan.prices,
        timeout_s=timeout_for(placed.seconds) if placed.seconds else None,
        disk=disk_need(model, plan.step, plan.workload, placed.hardware),
        kept=kept_files(plan.step, plan.workload) if plan.workload else None,
        as_fast=cheaper_hardware(plan, model),
        cheapest=f"{cheapest.hardware.label}{f' with {settings}' if settings else ''}" if cheapest else "",
    )


def _model(job: Document, find_model: Callable[[], ModelFacts]) -> JobModel:
    """Return the sizes of the model: as its files say, or else the catalog.

    Raises:
        MissingFactError: Neither knows them.
    """
    found = _known(find_model)
    if isinstance(found, ModelFacts) and found.config is not None:
        return _of_config(found.config, sum(found.parameters.values()), found.parameters)
    name = _model_name(job)
    if (known := load_configs().get(name)) is not None:
        return _of_config(known.config, known.parameters, {})
    raise MissingFactError("model", _why_unknown(name, found if isinstance(found, str) else "it has no config.json"))


def _model_name(job: Document) -> str:
    """Return the name of the model that is trained; empty if there is none.

    Raises:
        MissingFactError: There are several, and which one is trained is not known.
    """
    trained, others = named_models(job)
    if trained is None and len(others) > 1:
        several = some_of(each.name for each in others)
        raise MissingFactError("model", f"which of the models {several} is trained is not known")
    return trained.name if trained else ""


def _why_unknown(name: str, because: str) -> str:
    """Return why the sizes of a model are not known, which models are like it, and how to plan it without the Hub."""
    if not name:
        return because
    alike = some_of(alike_models(name))
    hint = f"; of its family and size, the catalog has {alike}" if alike else ""
    return f"the sizes of `{name}` are not known: {because}{hint}. {WITHOUT_HUB}"


def _of_config(config: Mapping[str, Any], parameters: int, dtypes: Mapping[str, int]) -> JobModel:
    text = config.get("text_config")
    decoder = text if isinstance(text, Mapping) else config
    stored = max(dtypes, key=lambda name: dtypes[name]) if dtypes else ""
    dtype = next((config[name] for name in ("dtype", "torch_dtype") if config.get(name)), stored)
    return JobModel(
        architecture=read_model(config, parameters),
        type=str(decoder.get("model_type")),
        dtype=0 if not dtype else FLOAT32 if dtype in {"float32", "F32"} else FLOAT16,
        config=config,
    )


def _known(ask: Callable[[], Any]) -> Any:
    """Return a fact, or the reason why it is not known, as text."""
    try:
        return ask()
    except (SourceError, UsageError) as error:
        return error.what
    except MissingFactError as error:
        return error.because


def _named_hardware(job: Document, prices: PriceList) -> tuple[Hardware | None, str]:
    """Return the hardware that a job names, and why it is not known."""
    name = job.get("where.hardware", None)
    if not isinstance(name, str):
        return None, ""
    try:
        return find_hardware(name, prices), ""
    except MissingFactError as error:
        return None, error.because
