"""The parts of a job's time: what happens beside the steps, and how often."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.catalog.hub.gpus import load_ceilings
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.plan.hardware import Hardware
from holdfast.engine.plan.disk import disk_need
from holdfast.engine.plan.hardware import find_hardware
from holdfast.engine.plan.job_model import JobModel
from holdfast.engine.plan.job_time import (
    Workload,
    WrittenAnswers,
    checkpoint_bytes,
    job_time,
    result_bytes,
    total_seconds,
)
from holdfast.engine.plan.parameters import total_parameters
from holdfast.engine.plan.processors import plan_on_processors
from holdfast.engine.plan.schedule import TrainingSchedule, read_schedule
from holdfast.engine.plan.step import LoraAdapter, Rollout, WeightQuantization
from tests.helpers.training_steps import training_step

A100 = load_ceilings()["NVIDIA A100 80GB"]
LORA = LoraAdapter(rank=16, targets=frozenset({"q_proj", "v_proj"}))
MODEL = JobModel(architecture=training_step().model, type="llama", dtype=2)
MACHINE = Hardware(name="local", gpus=(), cores=2, memory_bytes=24 * 10**9)
JOB: dict[str, Any] = {"method": "sft", "model": {"path": "m"}, "dataset": {"path": "d"}, "train": {}}


def document(**values: Any) -> Document:
    return Document(path="job.yaml", kind="job", values={**JOB, **values})


def seconds_of(name: str, workload: Workload, **changes: Any) -> float:
    parts: dict[str, float] = {
        part.name: part.seconds.value for part in job_time(training_step(**changes), workload, A100)
    }
    return parts.get(name, 0.0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, TrainingSchedule(saves=10, kept=2)),
        ({"dataset": {"path": "d", "eval_split": "test"}}, TrainingSchedule(evaluations=10, saves=10, kept=2)),
        (
            {"dataset": {"path": "d", "eval_fraction": 0.1}, "train": {"eval_strategy": "no"}},
            TrainingSchedule(saves=10, kept=2),
        ),
        (
            {"dataset": {"path": "d", "eval_split": "t"}, "train": {"eval_steps": 30, "eval_on_start": True}},
            TrainingSchedule(evaluations=5, saves=10, kept=2),
        ),
        ({"train": {"save_strategy": "no"}, "output": {"push_to": "me/x"}}, TrainingSchedule(pushes=True)),
        ({"train": {"save_strategy": "epoch", "save_total_limit": None}}, TrainingSchedule(saves=3, kept=3)),
        ({"train": {"save_steps": 0.3}}, TrainingSchedule(saves=4, kept=2)),
        ({"train": {"save_steps": 1000}}, TrainingSchedule(saves=1, kept=1)),
    ],
)
def test_evaluations_and_saves_are_counted_as_the_trainer_does(
    values: dict[str, Any], expected: TrainingSchedule
) -> None:
    """Both happen after the last step, too."""
    assert read_schedule(document(**values), stack_api(), 100, 3, rehearsed={}) == expected


def test_the_parts_add_up_to_the_time() -> None:
    workload = Workload(100, schedule=TrainingSchedule(evaluations=4, saves=2, pushes=True), eval_rows=1000)
    parts = job_time(training_step(eval_batch=8), workload, A100)

    assert [part.name for part in parts] == ["start", "download", "training", "evaluation", "saving", "push"]
    assert total_seconds(parts).value == pytest.approx(sum(part.seconds.value for part in parts))
    assert all(part.because for part in parts)
    assert all(part.seconds.low <= part.seconds.value <= part.seconds.high for part in parts)


def test_an_evaluation_takes_less_than_a_training_on_the_same_rows() -> None:
    """It only goes forward: no more than a third of the arithmetic of a step without checkpoints."""
    rows, step = 800, {"batch": 8, "length": 4096, "eval_batch": 8, "checkpointing": False}
    workload = Workload(rows // 8, schedule=TrainingSchedule(evaluations=1), eval_rows=rows)
    trained, evaluated = seconds_of("training", workload, **step), seconds_of("evaluation", workload, **step)

    assert 0.25 * trained < evaluated < 0.4 * trained
    assert seconds_of("evaluation", replace(workload, eval_rows=None), **step) == 0


def test_an_evaluation_that_generates_takes_as_long_as_its_completions() -> None:
    rollout = Rollout(rows=8, prompt=128, completion=512)
    workload = Workload(1, schedule=TrainingSchedule(evaluations=1), eval_rows=8)
    grpo = {"method": Method.GRPO, "rollout": rollout, "eval_batch": 8}

    assert seconds_of("evaluation", workload, **grpo) > 10


def test_a_checkpoint_of_an_adapter_is_small() -> None:
    whole, adapter = training_step(), training_step(adapter=LORA)

    assert checkpoint_bytes(whole) > 2.9 * result_bytes(whole)
    assert 100 * checkpoint_bytes(adapter) < checkpoint_bytes(whole)
    saves = Workload(100, schedule=TrainingSchedule(saves=20))
    assert seconds_of("saving", saves) > 100 * seconds_of("saving", saves, adapter=LORA)


def test_processors_take_far_longer_than_a_gpu() -> None:
    """And a machine with more of them less."""
    workload = Workload(100)
    found = plan_on_processors(document(), training_step(), workload, MACHINE, "")
    more = plan_on_processors(document(), training_step(), workload, replace(MACHINE, cores=16), "")
    gpu = total_seconds(job_time(training_step(), workload, A100)).value

    assert total_seconds(found.parts).value > 10 * gpu
    assert total_seconds(more.parts).value < total_seconds(found.parts).value / 4
    highest = [total_seconds(each.parts).high for each in (found, more)]
    assert highest[0] == pytest.approx(highest[1]), "small products may not use more of them"


@pytest.mark.parametrize(
    ("changes", "workload", "because"),
    [
        ({}, None, "the number of rows is not known"),
        ({"adapter": LORA, "quantization": WeightQuantization()}, Workload(9), "quantized weights"),
        ({"method": Method.GRPO, "rollout": Rollout(rows=8, prompt=9, completion=9, here=False)}, Workload(9), "vLLM"),
    ],
)
def test_a_time_on_processors_that_is_not_known_has_a_reason(
    changes: dict[str, Any], workload: Workload | None, because: str
) -> None:
    found = plan_on_processors(
        document(), training_step(**changes), workload, MACHINE, "the number of rows is not known"
    )

    assert not found.parts
    assert because in found.no_time
    assert found.least_bytes > 0


@pytest.mark.parametrize(("adapter", "gigabytes"), [(None, 2 * 6 + 2), (LORA, 0)])
def test_the_disk_holds_the_kept_checkpoints_and_the_result(adapter: LoraAdapter | None, gigabytes: float) -> None:
    step = training_step(adapter=adapter)
    here = replace(MACHINE, disk_bytes=10**12)
    found = disk_need(MODEL, step, Workload(100, schedule=TrainingSchedule(saves=10, kept=2)), here)

    assert found is not None
    assert found.bytes == pytest.approx(gigabytes * total_parameters(step.model), rel=0.05, abs=2e9)
    assert found.because.startswith("2 checkpoints of ")
    assert disk_need(MODEL, step, None, here) is None
    assert disk_need(MODEL, step, Workload(100), MACHINE) is None


def test_a_rented_disk_holds_the_files_of_the_model() -> None:
    """Of a model whose files are quantized, their size is not known."""
    step, there = training_step(adapter=LORA), find_hardware("t4-small", prices=None)
    found = disk_need(MODEL, step, None, there)

    assert found is not None
    assert (found.bytes, found.room_bytes) == (2 * total_parameters(step.model), 50 * 10**9)
    quantized = replace(MODEL, config={"quantization_config": {"quant_method": "mxfp4"}})
    assert disk_need(quantized, step, None, there) is None


def test_answers_at_evaluations_take_time() -> None:
    """Prompts for people one by one, rows whose answers are measured in batches."""
    text = Workload(steps=10, schedule=TrainingSchedule(evaluations=10), eval_rows=100)
    one = replace(text, answers=WrittenAnswers(prompts=1, tokens=48))
    three = replace(text, answers=WrittenAnswers(rows=24, tokens=48))

    assert seconds_of("answers", text, eval_batch=8) == 0
    assert seconds_of("answers", one, eval_batch=8) > 0
    assert seconds_of("answers", three, eval_batch=8) == pytest.approx(3 * seconds_of("answers", one, eval_batch=8))
