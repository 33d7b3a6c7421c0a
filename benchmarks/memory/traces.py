"""Traces of the steps that published rows measured."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.adapters.tracing import trace_steps
from holdfast.catalog.models.configs import load_configs
from holdfast.core.estimate import MemoryEstimate
from holdfast.core.finding import MissingFactError
from holdfast.engine.plan.step import TrainingStep
from holdfast.engine.plan.trace_request import trace_depths, trace_request
from holdfast.engine.plan.traced import trace_memory
from holdfast.payload.tracing.request import TraceAnswer, TraceRequest

BATCH = 8
"""Requests that one process answers, whose imports they share."""
LIMIT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Untraced:
    """Why a step was not traced."""

    because: str


def trace_all(
    steps: Mapping[str, tuple[str, TrainingStep, MemoryEstimate]], *, expandable: bool, usable: int
) -> dict[str, MemoryEstimate | Untraced]:
    """Return the traced estimate of each step by its id.

    Args:
        steps: By their ids: the name of the model, the step, and what the closed form says.
        expandable: Whether segments expand.
        usable: Bytes that a process can have of the card.
    """
    found: dict[str, MemoryEstimate | Untraced] = {}
    asked: dict[str, tuple[list[TraceRequest], int]] = {}
    for key, (name, step, _) in steps.items():
        config = load_configs()[name].config
        depths, period = trace_depths(config, step.model)
        try:
            request = trace_request(step, config, 0)
        except MissingFactError as error:
            found[key] = Untraced(error.because)
            continue
        asked[key] = ([replace(request, layers=depth) for depth in depths], period)
    answers = _answers([each for requests, _ in asked.values() for each in requests])
    for key, (requests, period) in asked.items():
        _, step, closed = steps[key]
        told = [answers[each.written()] for each in requests]
        if problem := next((each.problem for each in told if each.problem), ""):
            found[key] = Untraced(problem)
        else:
            found[key] = trace_memory(step, told, period, closed, expandable=expandable, usable=usable)
    return found


def _answers(requests: Sequence[TraceRequest]) -> dict[str, TraceAnswer]:
    """Return the answer to each request, asked once."""
    every: dict[str, Any] = {each.written(): each for each in requests}
    found: dict[str, TraceAnswer] = {}
    keys = list(every)
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        found |= dict(
            zip(part, trace_steps([every[key] for key in part], [sys.executable], limit_s=LIMIT_S), strict=True)
        )
        print(f"traced {len(found)} of {len(keys)}", file=sys.stderr)
    return found
