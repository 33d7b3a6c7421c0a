"""The result of `plan`, made from a plan."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from holdfast.core.job.document import Document
from holdfast.core.plan.estimate import TERM_NAMES, Interval, MemoryEstimate, MemoryPhase, TimePart
from holdfast.core.plan.hardware import Hardware, PriceList
from holdfast.core.run.backends import LOCAL
from holdfast.core.text.numbers import is_number
from holdfast.engine.plan.duration import timeout_for
from holdfast.engine.plan.options import PlanOption, Settings, fits_hardware, precision_of, usable_bytes
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.processors import plan_on_processors
from holdfast.engine.plan.spelling import spell_settings
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.references.models import named_models
from holdfast.engine.units import render_duration
from holdfast.results.plan import (
    EstimateRange,
    OptionResult,
    PlanMachine,
    PlanMemory,
    PlanPhase,
    PlanPrices,
    PlanResult,
    PlanTerm,
    PlanTimePart,
    UnknownEstimate,
)

MINUTE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Unplannable:
    """A job whose memory could not be estimated.

    Attributes:
        because: Why not.
    """

    because: str


def plan_result(job: Document, found: JobPlan | Unplannable) -> PlanResult:
    """Return the result of a plan."""
    if isinstance(found, Unplannable):
        return _unplanned(job, found)
    result = _without_hardware(job, found)
    if found.chosen is None:
        return result
    gpus, settings = found.chosen.hardware.gpus, found.chosen.settings
    result = structs.replace(
        result,
        settings=settings,
        written=spell_settings(job, settings),
        has_gpu=bool(gpus),
        card_bytes=found.usable_bytes,
    )
    return result if found.no_hardware else _on_hardware(result, found, found.chosen)


def _without_hardware(job: Document, found: JobPlan) -> PlanResult:
    """Return the part of a result that does not depend on the hardware that was chosen."""
    budget = job.get("where.budget_usd", None)
    return PlanResult(
        verb="plan",
        path=job.path,
        model=_model_name(job),
        parameters=total_parameters(found.step.model) + (found.step.trained if found.step.adapter else 0),
        trainable=found.step.trained,
        memory=_memory(found.as_is.memory, found.closed_form),
        hardware=None,
        fits=None if found.no_hardware else False,
        time_s=None,
        cost_usd=None,
        timeout_s=None,
        given_timeout_s=found.given_timeout_s,
        short_timeout=_is_short(found),
        budget_usd=budget if is_number(budget) else None,
        because=found.because,
        unknown=[*_uncounted(job), *_unknown(found)],
        options=[_option(job, each, found.step) for each in found.options],
        prices=_prices(found.prices),
        advised=tuple(_option(job, each, found.step) for each in found.advised),
        advice=found.advice,
        left_out=found.left_out,
        untraced=found.untraced,
        timeline=found.timeline,
    )


def _on_hardware(result: PlanResult, found: JobPlan, chosen: PlanOption) -> PlanResult:
    """Return a result with what the job takes on the hardware that was chosen."""
    budget = result.budget_usd
    return structs.replace(
        result,
        hardware=chosen.hardware.name,
        fits=chosen.fits,
        time_s=_range(chosen.seconds),
        time_parts=[_time_part(each) for each in chosen.parts],
        cost_usd=_range(chosen.usd),
        over_budget=chosen.usd is not None and budget is not None and chosen.usd.high > budget,
        timeout_s=found.timeout_s,
    )


def machine_result(job: Document, this: Hardware, found: JobPlan) -> PlanMachine:
    """Return how a job fits this machine as it is; without a GPU, how long its processors take."""
    if this.gpus:
        fits, card_bytes = fits_hardware(found.as_is.memory, this), usable_bytes(this.gpus[0])
        return PlanMachine(gpus=[gpu.name for gpu in this.gpus], card_bytes=card_bytes, fits=fits)
    trained = plan_on_processors(job, found.step, found.workload, this, found.no_time)
    return PlanMachine(
        gpus=(),
        card_bytes=None,
        fits=None,
        cores=this.cores,
        memory_bytes=this.memory_bytes,
        least_bytes=trained.least_bytes,
        time_s=_range(trained.seconds),
        no_time=trained.no_time,
    )


def settings_to_apply(job: Document, found: JobPlan) -> Settings:
    """Return the settings with which a job fits: none if it fits already, except a timeout that it lacks.

    The hardware that the job names is kept if it fits there at all; else the cheapest takes its place. Machines of the user's own price
    file are written nowhere: no backend rents them.
    """
    named = job.get("where.hardware", None)
    fitting = _option_to_apply(found, named)
    if fitting is None:
        return {}
    settings = dict(fitting.settings)
    if fitting.hardware.name not in (LOCAL.name, named):
        settings["where.hardware"] = fitting.hardware.name
    if fitting.seconds and job.get("where.timeout", None) is None:
        minutes = timeout_for(fitting.seconds) // MINUTE_S
        settings["where.timeout"] = f"{minutes}m"
    return settings


def _option_to_apply(found: JobPlan, named: str | None) -> PlanOption | None:
    """Return the option whose settings are written: the one chosen if it fits, else one on the hardware that is named, else the cheapest."""
    chosen = [found.chosen] if found.chosen and found.chosen.fits else []
    there = [each for each in found.options if each.hardware.name == named]
    able = (
        each for each in (*chosen, *there, *found.options) if each.hardware.name == named or not each.hardware.provider
    )
    return next(able, None)


def _unplanned(job: Document, found: Unplannable) -> PlanResult:
    return PlanResult(
        verb="plan",
        path=job.path,
        model=_model_name(job),
        parameters=None,
        trainable=None,
        memory=None,
        hardware=None,
        fits=None,
        time_s=None,
        cost_usd=None,
        timeout_s=None,
        because=(),
        unknown=[UnknownEstimate(what="memory", because=found.because), *_uncounted(job)],
        options=(),
    )


def _model_name(job: Document) -> str:
    trained, _ = named_models(job)
    return trained.name if trained else ""


def _memory(estimate: MemoryEstimate, closed: MemoryEstimate | None) -> PlanMemory:
    return PlanMemory(
        peak_bytes=round(estimate.card.value),
        allocated_bytes=estimate.allocated,
        low_bytes=round(estimate.card.low),
        high_bytes=round(estimate.card.high),
        terms=_terms(estimate),
        phases=[_phase(phase) for phase in estimate.phases],
        traced=closed is not None,
        reserved_bytes=estimate.reserved,
        closed_form_bytes=closed.allocated if closed else None,
    )


def _terms(estimate: MemoryEstimate) -> Mapping[str, int]:
    """Return what the card's peak consists of; the terms add up to it."""
    every = (*estimate.peak.terms, *estimate.beside)
    return {name: sum(term.bytes for term in every if term.name == name) for name in TERM_NAMES}


def _phase(phase: MemoryPhase) -> PlanPhase:
    terms = [PlanTerm(name=term.name, bytes=term.bytes, because=term.because) for term in phase.terms]
    return PlanPhase(name=phase.name, bytes=phase.bytes, terms=terms)


def _option(job: Document, option: PlanOption, step: TrainingStep) -> OptionResult:
    return OptionResult(
        hardware=option.hardware.name,
        settings=option.settings,
        written=spell_settings(job, option.settings),
        fits=option.fits,
        peak_bytes=round(option.memory.card.value),
        high_bytes=round(option.memory.card.high),
        time_s=option.seconds.value if option.seconds else None,
        cost_usd=option.usd.value if option.usd else None,
        step_s=option.step_seconds.value if option.step_seconds else None,
        usd_per_hour=option.hardware.usd_per_hour,
        provider=option.hardware.provider,
        priced=option.hardware.priced.isoformat() if option.hardware.priced else "",
        launch_bound=option.launch_bound,
        effective_batch=option.effective_batch if option.effective_batch != step.effective_batch else None,
        guessed_speed=option.guessed_speed,
        precision=_precision(option.precision, precision_of(step)),
    )


def _precision(there: tuple[float, float], own: tuple[float, float]) -> str:
    """Return how an option keeps weights and states, if not as the job does; weights that lose bits lose small updates."""
    if there == own:
        return ""
    kept = f"trained weights have {there[0]:g} bytes each and optimizer states {there[1]:g}; the job's have {own[0]:g} and {own[1]:g}"
    return f"{kept}. Small updates may be lost" if max(there) < max(own) else kept


def _time_part(part: TimePart) -> PlanTimePart:
    seconds = EstimateRange(value=part.seconds.value, low=part.seconds.low, high=part.seconds.high)
    return PlanTimePart(name=part.name, time_s=seconds, because=part.because)


def _prices(prices: PriceList) -> PlanPrices:
    return PlanPrices(source="hub" if prices.live else "catalog", day=prices.day.isoformat(), because=prices.because)


def _is_short(found: JobPlan) -> bool:
    """Whether the job's timeout may end it: it is below the upper time."""
    seconds = found.chosen.seconds if found.chosen else None
    return seconds is not None and found.given_timeout_s is not None and found.given_timeout_s < seconds.high


def _uncounted(job: Document) -> Iterator[UnknownEstimate]:
    """Yield the models that a job loads beside the one that it trains: their sizes are not read."""
    _, others = named_models(job)
    for each in others:
        role = f" ({each.label})" if each.label else ""
        yield UnknownEstimate(what="memory", because=f"that of `{each.name}`{role}, whose size is not read")


def _unknown(found: JobPlan) -> Iterator[UnknownEstimate]:
    if found.no_hardware:
        yield UnknownEstimate(what="hardware", because=found.no_hardware)
        return
    if found.no_time:
        yield UnknownEstimate(what="time", because=f"{found.no_time}{_step_time(found.chosen)}")
    elif found.chosen and found.chosen.seconds is None and found.chosen.hardware.gpus:
        yield UnknownEstimate(what="time", because=f"the speed of {found.chosen.hardware.gpus[0].name} is not known")
    if found.chosen and found.chosen.seconds and found.chosen.usd is None:
        yield UnknownEstimate(what="cost", because=f"the price of {found.chosen.hardware.name} is not known")


def _step_time(chosen: PlanOption | None) -> str:
    """Return how long a step takes, as the end of a sentence; empty if that is not known."""
    if chosen is None or chosen.step_seconds is None:
        return ""
    value, low, high = (
        render_duration(each) for each in (chosen.step_seconds.value, chosen.step_seconds.low, chosen.step_seconds.high)
    )
    return f"; a step takes {value} ({low} to {high})"


def _range(interval: Interval | None) -> EstimateRange | None:
    return EstimateRange(value=interval.value, low=interval.low, high=interval.high) if interval else None
