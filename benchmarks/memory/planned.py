"""A point of the grid as the job file that a user would write, and the step that `holdfast plan` makes of it."""

from dataclasses import replace
from typing import Any, Final

from benchmarks.memory.models import load_models
from benchmarks.memory.points import COMPLETION, GENERATIONS, LORA_RANK, Point
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.catalog.hub.flavors import table_prices
from holdfast.core.check.facts import Dataset, Machine, ModelFacts
from holdfast.core.job.document import Document
from holdfast.engine.plan.asking import ask_plan
from holdfast.engine.plan.step import Sharding, TrainingStep

NO_MACHINE: Final = Machine(cpus=1)
PACKED_EVALUATION: Final = 2
"""Rows that the eight evaluation rows of a packed point are packed into, a quarter of its length each."""


def step_of(point: Point) -> TrainingStep:
    """Return the training step of a point.

    What a job file cannot say is set afterwards: how long GRPO's prompts are, how few rows are evaluated, and that rows of
    the same length need no mask.

    Raises:
        MissingFactError: The closed form does not know it.
    """
    model = load_models()[point.model]
    facts = ModelFacts(files=frozenset(), config=model.config, parameters={"BF16": model.parameters})
    job = Document(path="job.yaml", kind="job", values=job_of(point))
    question = ask_plan(
        job,
        stack_api(),
        NO_MACHINE,
        prices=table_prices(),
        model=lambda: facts,
        dataset=Dataset,
        rehearsed=None,
        lengths=None,
    )
    step, _ = question.read_step(Sharding())
    if step.rollout:
        rollout = replace(step.rollout, prompt=point.length - COMPLETION)
        step = replace(step, rollout=rollout, length=point.length)
    if point.rows == "packed" and step.eval_batch:
        step = replace(step, eval_batch=PACKED_EVALUATION)
    return replace(step, masked=False) if point.rows == "constant" else step


def job_of(point: Point) -> dict[str, Any]:
    """Return the values of the job file.

    >>> job_of(Point("qwen3-8b", length=512))["train"]["max_length"]
    512
    """
    job: dict[str, Any] = {
        "method": point.method,
        "model": {"path": point.model, "dtype": point.weights, "attn_implementation": point.attention},
        "dataset": {"path": "rows.jsonl"} | ({"eval_split": "test"} if point.evaluation else {}),
        "train": {
            "per_device_train_batch_size": point.batch,
            "gradient_accumulation_steps": point.accumulation,
            "activation_checkpointing": point.checkpointing,
            "optim": point.optimizer,
            "bf16": point.autocast,
            **_method_settings(point),
        },
    }
    if point.tuning != "full":
        job["peft"] = {"r": LORA_RANK, "lora_alpha": 2 * LORA_RANK, "target_modules": "all-linear"}
    if point.tuning == "qlora":
        nf4 = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"}
        job["quantization"] = {"load_in_4bit": True, "bnb_4bit_use_double_quant": True, **nf4}
    return job


def _method_settings(point: Point) -> dict[str, Any]:
    if point.method == "grpo":
        return {"max_completion_length": COMPLETION, "num_generations": GENERATIONS}
    return {"max_length": point.length} | ({"packing": True} if point.rows == "packed" else {})
