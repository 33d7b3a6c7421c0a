"""Every formula that a plan prints gives the number beside it. Whether the numbers are right, test_memory.py tests."""

import re

import pytest

from holdfast.catalog.hub.gpus import load_ceilings
from holdfast.core.job.methods import Method
from holdfast.engine.plan.card import estimate_memory
from holdfast.engine.plan.job_time import Workload, WrittenAnswers, job_time
from holdfast.engine.plan.schedule import TrainingSchedule
from tests.helpers.generated_steps import generated_step
from tests.helpers.printed_formulas import evaluate

ROUNDED = 0.02
"""Printed factors have three digits."""
MANY = 420


@pytest.mark.parametrize("batch", range(6))
def test_each_term_of_the_memory_is_what_its_formula_gives(batch: int) -> None:
    for number in range(MANY * batch // 6, MANY * (batch + 1) // 6):
        estimate = estimate_memory(generated_step(number), expandable=True)
        for phase in estimate.phases:
            for term in phase.terms:
                assert evaluate(term.because) == pytest.approx(term.bytes, rel=ROUNDED), (number, phase.name, term)


def test_each_part_of_the_time_is_what_its_formula_gives() -> None:
    schedule = TrainingSchedule(evaluations=3, saves=2, kept=2, pushes=True)
    answers = WrittenAnswers(prompts=2, rows=16, tokens=48)
    workload = Workload(steps=1500, schedule=schedule, eval_rows=100, answers=answers)
    for number in range(MANY):
        step = generated_step(number)
        for part in job_time(step, workload, load_ceilings()["NVIDIA L4"]):
            if part.name != "start":
                assert evaluate(part.because) == pytest.approx(part.seconds.value, rel=ROUNDED), (number, part)


@pytest.mark.parametrize("number", range(0, MANY, 20))
def test_what_there_is_one_of_is_named_in_the_singular(number: int) -> None:
    schedule = TrainingSchedule(evaluations=1, saves=1, kept=1, pushes=True)
    workload = Workload(steps=1, schedule=schedule, eval_rows=1, answers=WrittenAnswers(prompts=1, tokens=1))
    step = generated_step(number)
    parts = job_time(step, workload, load_ceilings()["NVIDIA L4"])
    terms = [term for phase in estimate_memory(step, expandable=True).phases for term in phase.terms]
    for printed in (*(part.because for part in parts), *(term.because for term in terms)):
        assert not re.search(r"(?<![\d.,])1 [a-z-]+(?<!proces)s\b", printed), printed


def test_generated_steps_differ_in_all_that_decides_memory() -> None:
    steps = [generated_step(number) for number in range(MANY)]
    assert {step.method for step in steps} == set(Method)
    assert {step.sharding.strategy for step in steps} == {"none", "ddp", "fsdp", "zero1", "zero2", "zero3"}
    assert {(step.adapter is not None, step.quantization is not None) for step in steps} == {
        (False, False),
        (True, False),
        (True, True),
    }
