"""Traces of the steps that were measured."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.adapters.tracing import trace_steps
from holdfast.core.check.facts import Gpu
from holdfast.core.check.finding import MissingFactError
from holdfast.core.plan.estimate import MemoryEstimate
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.trace_growth import grow_stream
from holdfast.engine.plan.trace_request import trace_depths, trace_request
from holdfast.engine.plan.traced import trace_memory
from holdfast.engine.plan.traced_step import TracedStep
from holdfast.payload.tracing.request import TraceAnswer, TraceRequest

BATCH = 8
"""Requests that one process answers, whose imports they share."""
LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Untraced:
    """Why a step was not traced."""

    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepToTrace:
    """A step to trace.

    Attributes:
        config: `config.json` of its model.
        step: The step.
        closed: What the closed form says of it.
        expandable: Whether segments expand.
        gpu: The card.
    """

    config: Mapping[str, Any]
    step: TrainingStep
    closed: MemoryEstimate
    expandable: bool
    gpu: Gpu


def trace_all(steps: Mapping[str, StepToTrace]) -> dict[str, MemoryEstimate | Untraced]:
    """Return the traced estimate of each step by its id."""
    found: dict[str, MemoryEstimate | Untraced] = {}
    requested: dict[str, tuple[list[TraceRequest], int]] = {}
    for key, each in steps.items():
        depths, period = trace_depths(each.config, each.step.model)
        try:
            request = trace_request(each.step, each.config, 0)
        except MissingFactError as error:
            found[key] = Untraced(error.because)
            continue
        requested[key] = ([replace(request, layers=depth) for depth in depths], period)
    answers = _answers([each for requests, _ in requested.values() for each in requests])
    for key, (requests, period) in requested.items():
        each = steps[key]
        traces = [answers[request.written()] for request in requests]
        if problem := next((trace.problem for trace in traces if trace.problem), ""):
            found[key] = Untraced(problem)
            continue
        traced = TracedStep(traces, each.step.model.layers, period, each.expandable)
        found[key] = trace_memory(each.step, traced, each.closed, gpu=each.gpu)
    return found


def _answers(requests: Sequence[TraceRequest]) -> dict[str, TraceAnswer]:
    """Return the answer to each request, asked once."""
    every: dict[str, Any] = {each.written(): each for each in requests}
    found: dict[str, TraceAnswer] = {}
    keys = list(every)
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        found |= dict(
            zip(
                part,
                trace_steps([every[key] for key in part], [sys.executable], limit_s=LIMIT_S, header=""),
                strict=True,
            )
        )
        print(f"traced {len(found)} of {len(keys)}", file=sys.stderr)
    return found


def trace_whole(config: Mapping[str, Any], step: TrainingStep) -> TraceAnswer:
    """Return the trace of a step with all layers, grown from few where layers are alike."""
    depths, period = trace_depths(config, step.model)
    request = trace_request(step, config, 0)
    answers = [*_answers([replace(request, layers=depth) for depth in depths]).values()]
    grown = grow_stream(answers[0], answers[1], step.model.layers, period) if len(answers) > 1 else answers[0]
    if grown is not None:
        return grown
    (whole,) = _answers([replace(request, layers=step.model.layers)]).values()
    return whole
