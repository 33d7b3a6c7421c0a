"""The real trainer of a point: settings, rows and model as a job would have them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from datasets import Dataset
from peft import LoraConfig
from transformers import BitsAndBytesConfig
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

from benchmarks.memory.checkpoint import make_tokenizer, words
from benchmarks.memory.models import load_models
from benchmarks.memory.points import COMPLETION, GENERATIONS, LORA_RANK, STEPS, Point

TRAINERS: Final = {"sft": (SFTTrainer, SFTConfig), "dpo": (DPOTrainer, DPOConfig), "grpo": (GRPOTrainer, GRPOConfig)}
EVALUATED: Final = 8  # rows: one batch of the default size
PACKED: Final = 4  # rows in one


def make_trainer(point: Point, checkpoint: Path, output: Path, *, cpu: bool) -> Any:
    """Return the trainer, with its model loaded and its rows tokenized."""
    trainer, config = TRAINERS[point.method]
    rewards = {"reward_funcs": reward} if point.method == "grpo" else {}
    return trainer(
        model=str(checkpoint),
        args=config(**arguments(point, output, cpu=cpu)),
        train_dataset=Dataset.from_list([*train_rows(point)]),
        eval_dataset=Dataset.from_list([*rows(point, EVALUATED)]) if point.evaluation else None,
        processing_class=make_tokenizer(),  # transformers takes a class of its own for some designs, whatever the folder says
        peft_config=None if point.tuning == "full" else LoraConfig(**lora()),
        quantization_config=BitsAndBytesConfig(**four_bit()) if point.tuning == "qlora" else None,
        **rewards,
    )


def arguments(point: Point, output: Path, *, cpu: bool) -> dict[str, Any]:
    """Return the keywords of the config: those that the point names; all else is TRL's default."""
    loaded = {"dtype": point.weights, "attn_implementation": point.attention}
    return {
        "output_dir": str(output),
        "max_steps": STEPS,
        "per_device_train_batch_size": point.batch,
        "gradient_accumulation_steps": point.accumulation,
        "activation_checkpointing": point.checkpointing,
        "optim": point.optimizer,
        "bf16": point.autocast,
        "model_init_kwargs": loaded,
        "train_sampling_strategy": "sequential",  # so that each batch holds the rows that were meant for it
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": "none",
        "disable_tqdm": True,
        "use_cpu": cpu,
        "dataloader_pin_memory": not cpu,
        **_router_arguments(point),
        **_method_arguments(point),
    }


def lora() -> dict[str, Any]:
    """Return the arguments of `peft.LoraConfig`."""
    return {"r": LORA_RANK, "lora_alpha": 2 * LORA_RANK, "target_modules": "all-linear", "task_type": "CAUSAL_LM"}


def four_bit() -> dict[str, Any]:
    """Return the arguments of `BitsAndBytesConfig`: those of QLoRA's paper."""
    return {
        "load_in_4bit": True,
        "bnb_4bit_quant_type": "nf4",
        "bnb_4bit_use_double_quant": True,
        "bnb_4bit_compute_dtype": "bfloat16",
    }


def train_rows(point: Point) -> Iterator[dict[str, str]]:
    """Yield as many rows as the steps of a run take."""
    count = point.batch * point.accumulation * (STEPS + 1)
    yield from rows(point, count * (PACKED if point.rows == "packed" else 1))


def rows(point: Point, count: int) -> Iterator[dict[str, str]]:
    """Yield rows of as many tokens as the point says; what is too long by the end token is cut to `max_length`."""
    for place in range(count):
        yield row(point, row_length(point, place), place)


def row_length(point: Point, place: int) -> int:
    """Return the tokens of a row.

    >>> [row_length(Point("qwen3-8b", batch=2, rows="padded", length=512), place) for place in range(3)]
    [512, 256, 512]
    """
    if point.rows == "packed":
        return point.length // PACKED
    return point.length // 2 if point.rows == "padded" and place % point.batch else point.length


def row(point: Point, length: int, seed: int) -> dict[str, str]:
    """Return a row of a method; the end token counts where the trainer adds one."""
    if point.method == "sft":
        return {"text": " ".join(words(length - 1, seed))}
    if point.method == "grpo":
        return {"prompt": " ".join(words(length - COMPLETION, seed))}
    prompt, answer = length // 2, length - length // 2 - 1
    return {
        "prompt": " ".join(words(prompt, seed)),
        "chosen": " ".join(["", *words(answer, seed + 1)]),
        "rejected": " ".join(["", *words(answer, seed + 2)]),
    }


def reward(completions: list[str], **_: Any) -> list[float]:
    """Return rewards that differ, so that advantages are not all zero."""
    return [float(place % 3) for place, _ in enumerate(completions)]


def _router_arguments(point: Point) -> Mapping[str, Any]:
    """Return what keeps the load-balancing loss out where TRL 1.16 asks for `num_experts`, which not every design has."""
    return {"router_aux_loss_coef": 0.0} if "num_local_experts" in load_models()[point.model].config else {}


def _method_arguments(point: Point) -> Mapping[str, Any]:
    """Return the keywords that only the method's config has."""
    if point.method == "grpo":
        lengths = {"max_completion_length": COMPLETION, "generation_kwargs": {"min_new_tokens": COMPLETION}}
        return {"num_generations": GENERATIONS, "shuffle_dataset": False, **lengths}
    return {"max_length": point.length} | ({"packing": True} if point.rows == "packed" else {})
