"""The verb `plan`."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.targets import Target
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.check.programs import resolve_versions
from holdfast.app.check.target import read_check_target
from holdfast.app.check.target_request import CATALOG, COMMAND_LINE, TargetRequest
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.catalog.models.configs import load_configs
from holdfast.core.backends import BACKEND_KEY, LOCAL
from holdfast.core.document import ABSENT, Document, Edit, Remove, Set
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.facts import ModelFacts
from holdfast.core.finding import MissingFactError
from holdfast.core.hardware import Hardware
from holdfast.core.text import Place
from holdfast.engine.check.hub_facts import HubFacts
from holdfast.engine.plan.answers import Unplannable, plan_result
from holdfast.engine.plan.hardware import find_hardware, list_flavors
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.planning import PlanQuestion, plan_job
from holdfast.engine.plan.reading import JobModel
from holdfast.engine.plan.step import FLOAT16, FLOAT32
from holdfast.engine.references import references
from holdfast.results.plan import PlanResult

STRATEGIES: Final = ("ddp", "fsdp", "zero2", "zero3")
WHOLE_LINE: Final = "--"
"""Stands for the target where a command line is given."""


def plan(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    target: PathName = WHOLE_LINE,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
    hardware: str | None = None,
    budget: float | None = None,
    processes: int | None = None,
    strategy: str | None = None,
    offline: bool = False,
) -> PlanResult:
    """Estimate the memory, the time and the cost of a job, and find where it fits.

    >>> import holdfast
    >>> holdfast.plan("examples/quickstart.yaml", offline=True)["fits"]
    True

    Args:
        target: A job file, a script or a notebook.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        arguments: A script's own arguments; without a target, the words of a command line.
        hardware: A flavor or a kind of GPU, such as `a10g-large`, `h100`, `h100x8`. Default: what the target names.
        budget: The most that it may cost, in USD. Default: what the target says.
        processes: Training processes on each machine. Default: what the target says.
        strategy: How processes share the work: `ddp`, `fsdp`, `zero2` or `zero3`. Default: what the target says.
        offline: Don't contact the Hub. Models of the catalog are known without it.

    Raises:
        UsageError: The target cannot be read.
        GroupedError: Of a JobError for everything wrong with a job file's schema.
    """
    words = as_texts(arguments)
    path = as_path(target)
    if path == WHOLE_LINE and not words:
        hint = "name a job file or a script, or give a command line as `arguments`"
        raise UsageError("there is nothing to plan", where="target", fix=hint)
    request = TargetRequest(
        path=COMMAND_LINE if path == WHOLE_LINE else path,
        sets=as_overrides(set),
        arguments=words,
        hub=HubAccess.OFFLINE if offline else HubAccess.ASKED,
    )
    read = _placed(_read(request), hardware=hardware, budget=_as_budget(budget), processes=processes, strategy=strategy)
    job = read.document
    try:
        return plan_result(job, plan_job(_question(read, request)))
    except MissingFactError as error:
        return plan_result(job, Unplannable(f"{error.name}: {error.because}"))


def _read(request: TargetRequest) -> Target:
    """Read the target. A script without arguments is started without any, so that its parser's defaults hold."""
    target = read_check_target(request)
    if target.document.kind != "script" or request.arguments or not request.path.endswith(".py"):
        return target
    from holdfast.adapters.targets.commands import read_line  # of shells, which no job file needs

    started = read_line(["python", request.path])
    documents = tuple(
        each.with_values([Remove("launch.by")], Place(each.path)) if each.get("launch.by") else each
        for each in started.documents
    )
    return replace(target, documents=documents)


def _placed(
    target: Target, *, hardware: str | None, budget: float | None, processes: int | None, strategy: str | None
) -> Target:
    """Return the target with what was asked for beside it.

    Raises:
        UsageError: One of these is no such value.
    """
    if strategy is not None and strategy not in STRATEGIES:
        raise UsageError(f"{strategy!r} is no strategy", where="strategy", fix=f"one of {', '.join(STRATEGIES)}")
    if processes is not None and processes < 1:
        raise UsageError(f"{processes} is no number of processes", where="processes", fix="give 1 or more")
    asked = {
        "where.hardware": hardware,
        "where.budget_usd": budget,
        "where.processes": processes,
        "where.strategy": strategy,
    }
    edits: list[Edit] = [Set(key, value) for key, value in asked.items() if value is not None]
    if processes is not None:
        edits += [Remove(key) for key in ("where.world_size",) if target.document.get(key) is not ABSENT]
    if hardware is not None and target.document.get(BACKEND_KEY, None) == LOCAL.name:
        edits.append(Remove(BACKEND_KEY))
    if not edits:
        return target
    documents = tuple(each.with_values(edits, Place("the command line")) for each in target.documents)
    return replace(target, documents=documents)


def _as_budget(budget: float | None) -> float | None:
    if budget is not None and not budget > 0:
        raise UsageError(f"{budget} is no budget", where="budget", fix="give an amount above 0, in USD")
    return budget


def _question(target: Target, request: TargetRequest) -> PlanQuestion:
    if len(target.documents) > 1:
        raise MissingFactError("target", f"it trains {len(target.documents)} times, and a plan is of one training")
    job, facts = target.document, _facts(target, request)
    machine = _this_machine()
    here = machine if job.get(BACKEND_KEY, None) == LOCAL.name else None
    named, unknown = (None, "") if here else _named_hardware(job)
    return PlanQuestion(
        job=job,
        api=_api(target, request),
        model=_model(job, facts),
        rows=_rows(facts),
        named=named,
        unknown_hardware=unknown,
        here=here,
        choices=[*([machine] if machine.gpus else []), *(each for each in list_flavors() if each.gpus)],
    )


def _api(target: Target, request: TargetRequest) -> Api:
    """Return the versions that a job gets: those that holdfast installs, or those that a program declares."""
    if target.job is not None:
        return stack_api()
    return Api(resolve_versions(request.path, target.documents, CATALOG).versions)


def _facts(target: Target, request: TargetRequest) -> HubFacts:
    outside = open_outside(target.document, request.hub)
    if target.job is None:
        return HubFacts(target.document, outside)
    from holdfast.app.plan.job_facts import job_facts  # of pydantic, which no script needs

    return job_facts(target.document, target.job, outside, request.hub)


def _model(job: Document, facts: HubFacts) -> JobModel:
    """Return the sizes of the model: as its files say, or else the catalog.

    Raises:
        MissingFactError: Neither knows them.
    """
    found = _known(lambda: facts.model)
    if isinstance(found, ModelFacts) and found.config is not None:
        return _of_config(found.config, sum(found.parameters.values()), found.parameters)
    name = next((each.name for each in references(job) if each.role == "model"), "")
    if (known := load_configs().get(name)) is not None:
        return _of_config(known.config, known.parameters, {})
    because = found if isinstance(found, str) else "it has no config.json"
    raise MissingFactError("model", f"the sizes of `{name}` are not known: {because}" if name else because)


def _of_config(config: Mapping[str, Any], parameters: int, dtypes: Mapping[str, int]) -> JobModel:
    text = config.get("text_config")
    decoder = text if isinstance(text, Mapping) else config
    stored = max(dtypes, key=lambda name: dtypes[name]) if dtypes else ""
    said = next((config[name] for name in ("dtype", "torch_dtype") if config.get(name)), stored)
    return JobModel(
        architecture=read_model(config, parameters),
        type=str(decoder.get("model_type")),
        dtype=0 if not said else FLOAT32 if said in {"float32", "F32"} else FLOAT16,
    )


def _rows(facts: HubFacts) -> int | None:
    found = _known(lambda: facts.dataset.rows)
    return found if isinstance(found, int) else None


def _known(ask: Callable[[], Any]) -> Any:
    """Return a fact, or the reason why it is not known, as text."""
    try:
        return ask()
    except (SourceError, UsageError) as error:
        return error.what
    except MissingFactError as error:
        return error.because


def _named_hardware(job: Document) -> tuple[Hardware | None, str]:
    """Return the hardware that a job names, and why it is not known."""
    name = job.get("where.hardware", None)
    if not isinstance(name, str):
        return None, ""
    try:
        return find_hardware(name), ""
    except MissingFactError as error:
        return None, error.because


def _this_machine() -> Hardware:
    """Return this machine, with or without a GPU."""
    machine = LocalMachine().fetch()
    return Hardware(name=LOCAL.name, gpus=machine.gpus, usd_per_hour=0.0, memory_bytes=machine.memory_bytes)
