"""The verb `plan`."""

from dataclasses import replace
from typing import Final

from msgspec import structs

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.rehearsal.passed import any_passed
from holdfast.adapters.targets import Target
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.check.programs import resolve_versions
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import CATALOG, COMMAND_LINE, TargetRequest
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.app.own_prices import find_own_hardware
from holdfast.app.plan.applying import apply_settings
from holdfast.app.plan.measuring import measure_trained_rows
from holdfast.app.plan.placing import Placing, place_target, require_known_hardware
from holdfast.app.targets.fetching import fetch_target, require_none_elsewhere
from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.check.finding import Finding, MissingFactError, Severity
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.plan.hardware import Hardware
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.engine.check.hub_facts import HubFacts, ReferenceResolver
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.plan.answers import Unplannable, machine_result, plan_result, settings_to_apply
from holdfast.engine.plan.asking import ask_plan
from holdfast.engine.plan.hardware import prices_of
from holdfast.engine.plan.options import Settings
from holdfast.engine.plan.planning import JobPlan, plan_job
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.spelling import spell_key, spell_settings
from holdfast.results.plan import CheckError, PlanResult

OF_TARGET: Final = ("SYN", "ARG", "CMB", "IMP", "MOD", "DST", "PRC", "DAT1")
"""Beginnings of the codes of rules that need nothing but the target and the files that it names."""
MOST_ERRORS: Final = 3
"""Errors that are shown; `check` shows all."""
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
    prices: PathName | None = None,
    trace: bool = False,
    apply: bool = False,
    offline: bool = False,
) -> PlanResult:
    """Estimate the memory, time and cost of a job, and find hardware and settings that fit.

    >>> import holdfast
    >>> holdfast.plan("examples/quickstart.yaml", offline=True)["fits"]
    True

    Args:
        target: A job file, a script or a notebook, or the address of one.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        arguments: A script's own arguments; without a target, the words of a command line.
        hardware: A flavor or a kind of GPU, such as `a10g-large`, `h100`, `h100x8`. Default: what the target names.
        budget: The most that it may cost, in USD. Default: what the target says.
        processes: Training processes on each machine. Default: what the target says.
        strategy: How processes share the work: `ddp`, `fsdp`, `zero2` or `zero3`. Default: what the target says.
        prices: A price file with machines of your own. Default: HOLDFAST_PRICES, else the project's `prices`.
        trace: Trace the step on fake tensors, in the job's environment, which must have torch and transformers.
        apply: Write the first option into the target, and a timeout if it has none.
        offline: Don't contact the Hub. Models in the catalog don't need it.

    Raises:
        UsageError: The target cannot be read; or no environment at hand can trace it.
        GroupedError: Of an error for everything wrong with a job file's schema, or in the price file.
    """
    if apply:
        require_none_elsewhere((as_path(target),))
    request = _request(target, as_overrides(set), as_texts(arguments), offline=offline)
    own = find_own_hardware(request.path, as_path(prices) if prices is not None else None)
    placing = Placing(hardware=hardware, budget=budget, processes=processes, strategy=strategy)
    placing.require_valid(own)
    original = _read(request)
    require_known_hardware(original.document, own)
    read = place_target(original, placing)
    try:
        question = _question(read, request, own)
        found = plan_job(question)
        if trace:
            from holdfast.app.plan.tracing import trace_plan  # it renders scripts, which no other plan needs

            found = trace_plan(question, found, request)
    except MissingFactError as error:
        result = plan_result(read.document, Unplannable(f"{spell_key(read.document, error.name)}: {error.because}"))
        return _finished(result, original, request)
    result = _finished(_result(question, found), original, request)
    return _applied(result, original, request.path, settings_to_apply(read.document, found)) if apply else result


def _request(target: PathName, sets: tuple[str, ...], words: tuple[str, ...], *, offline: bool) -> TargetRequest:
    """Return the request for a target.

    Raises:
        UsageError: There is none.
    """
    path = as_path(target)
    if path == WHOLE_LINE and not words:
        hint = "name a job file or a script, or give a command line as `arguments`"
        raise UsageError("there is nothing to plan", where="target", fix=hint)
    return TargetRequest(
        path=COMMAND_LINE if path == WHOLE_LINE else fetch_target(path, offline=offline),
        sets=sets,
        arguments=words,
        hub=HubAccess.unless(offline=offline),
    )


def _result(question: PlanQuestion, found: JobPlan) -> PlanResult:
    """Return the result of a plan, with this machine where the job may run on it without a GPU."""
    result = plan_result(question.job, found)
    if question.placed and (question.here is None or question.here.gpus):
        return result
    return structs.replace(result, here=machine_result(question.job, question.this, found))


def _finished(result: PlanResult, target: Target, request: TargetRequest) -> PlanResult:
    """Return the result with the scenario of its target, and with what `check` finds wrong there."""
    return _with_errors(structs.replace(result, scenario=target.scenario), target, request)


def _applied(result: PlanResult, target: Target, path: str, settings: Settings) -> PlanResult:
    """Return the result with the settings that were written into its target."""
    applied = apply_settings(target, path, settings)
    return structs.replace(result, applied=applied, applied_as=spell_settings(target.document, applied))


def _with_errors(result: PlanResult, target: Target, request: TargetRequest) -> PlanResult:
    """Return the result with what `check` finds wrong in the target itself: a misspelt setting is planned as if it were not there."""
    check_request = replace(request, only=OF_TARGET, hub=HubAccess.OFFLINE)
    errors = [each for each in check_rules(target, check_request).findings if severity_of(each) is Severity.ERROR]
    shown = [_error_of(target.document, each) for each in errors[:MOST_ERRORS]]
    return structs.replace(result, check_errors=len(errors), errors=shown)


def _error_of(document: Document, finding: Finding) -> CheckError:
    place = document.place(finding.key)
    return CheckError(code=finding.rule.code if finding.rule else "", message=finding.message, line=place.line)


def _read(request: TargetRequest) -> Target:
    """Read the target. The options of a script without arguments have their defaults."""
    target = read_check_target(request)
    return replace(target, documents=target.by_default) if target.by_default else target


def _question(target: Target, request: TargetRequest, own: tuple[Hardware, ...]) -> PlanQuestion:
    if len(target.documents) > 1:
        raise MissingFactError("target", f"it trains {len(target.documents)} times, and a plan is of one training")
    outside, api = open_outside(target.document, request.hub), _api(target, request)
    facts = _facts(target, request, outside)
    return ask_plan(
        target.document,
        api,
        LocalMachine().fetch(),
        prices=replace(prices_of(outside.hub.job_prices), own=own),
        model=lambda: facts.trained_model,
        dataset=lambda: facts.dataset,
        lengths=lambda: measure_trained_rows(target.document, api, outside, request.hub),
        rehearsed=_rehearsed(request),
    )


def _rehearsed(request: TargetRequest) -> RehearsedTraining | None:
    """Return the training of a target as a rehearsal saw it; None if the same content did not pass one."""
    if not any_passed():
        return None
    from holdfast.app.rehearsed import find_rehearsed_target  # it renders scripts

    path = WHOLE_LINE if request.path == COMMAND_LINE else request.path
    return find_rehearsed_target(path, request.sets, request.arguments)


def _api(target: Target, request: TargetRequest) -> Api:
    """Return the versions that a job gets: those that holdfast installs, or those that a program declares."""
    if target.job is not None:
        return stack_api()
    return Api(resolve_versions(request.path, target.documents, CATALOG).versions)


def _facts(target: Target, request: TargetRequest, outside: ReferenceResolver) -> HubFacts:
    if target.job is None:
        return HubFacts(target.document, outside)
    from holdfast.app.plan.job_facts import job_facts  # of pydantic, which no script needs

    return job_facts(target.document, target.job, outside, request.hub)
