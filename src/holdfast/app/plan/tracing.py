"""The trace of a plan's step, in the environment that the job gets."""

from dataclasses import replace
from typing import Final

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.environment.interpreters import SCRIPT
from holdfast.adapters.tracing import trace_steps
from holdfast.app.check.target_request import COMMAND_LINE, TargetRequest
from holdfast.app.targets.programs import interpreter_of, program_of
from holdfast.core.check.finding import MissingFactError
from holdfast.core.environment.script_header import find_header
from holdfast.engine.plan.planning import JobPlan
from holdfast.engine.plan.question import PlanQuestion
from holdfast.engine.plan.trace_request import trace_depths, trace_request
from holdfast.engine.plan.traced import with_trace
from holdfast.engine.plan.traced_step import TracedStep

WHOLE_LINE: Final = "--"
"""Stands for the target where a command line is given."""
NOT_INSTALLED: Final = "not installed"


def trace_plan(question: PlanQuestion, found: JobPlan, request: TargetRequest) -> JobPlan:
    """Return a plan with traced memory; one whose step cannot be traced says why, and keeps the closed form's.

    Raises:
        UsageError: No environment at hand has what the job declares, and uv is not installed.
    """
    config, expandable = question.model.config, question.allocator.expandable
    try:
        depths, period = trace_depths(config, found.step.model)
        requests = [trace_request(found.step, config, layers) for layers in depths]
    except MissingFactError as error:
        return replace(found, untraced=error.because)
    program = program_of(WHOLE_LINE if request.path == COMMAND_LINE else request.path, request.sets, request.arguments)
    words = interpreter_of(program)
    answers = trace_steps(requests, words, header=find_header(program.source) if words[-1] == SCRIPT else "")
    if problem := next((each.problem for each in answers if each.problem), ""):
        return replace(
            found, untraced=problem + (f"; `{install_command('train')}`" if NOT_INSTALLED in problem else "")
        )
    return with_trace(found, TracedStep(answers, found.step.model.layers, period, expandable=expandable))
