"""The twenty jobs of docs/estimates.md, as `plan` and as rules of thumb see them: the rows of the table there.

.venv/bin/python -m benchmarks.plan_jobs
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import holdfast
from holdfast.catalog.models.configs import load_configs

GB: Final = 1e9
HOUR_S: Final = 3600
DASH: Final = "\u2013"
FULL_GB, LORA_GB = 20, 4
"""The memory rule, per billion parameters."""


@dataclass(frozen=True, slots=True)
class ComparedJob:
    """A job of the table.

    Attributes:
        model: The model.
        way: How it is trained: `full`, `LoRA` or `LoRA, float32`.
        batch: Rows of a micro-batch.
        accumulation: Micro-batches of a step.
        flavor: Where.
        rows: Rows of the data, each of 1024 tokens.
        epochs: How often each is seen.
        script: What `estimate_cost.py` says, by its formula.
    """

    model: str
    way: str
    batch: int
    accumulation: int
    flavor: str
    rows: int
    epochs: int
    script: str

    def as_sets(self) -> dict[str, Any]:
        """Return what a job file sets."""
        adapter = {"peft": {"r": 16, "target_modules": "all-linear"}} if self.way != "full" else {}
        return {
            "model.path": self.model,
            "dataset.rows": self.rows,
            "train.num_train_epochs": self.epochs,
            "train.per_device_train_batch_size": self.batch,
            "train.gradient_accumulation_steps": self.accumulation,
            "where.hardware": self.flavor,
            **({"train.fp16": True} if self.flavor.startswith("t4") else {}),
            **({"model.dtype": "float32"} if "float32" in self.way else {}),
            **adapter,
        }


JOBS: Final = (
    ComparedJob("Qwen/Qwen2.5-0.5B", "full", 1, 8, "t4-small", 1_000, 1, "0.10 h, $0.08"),
    ComparedJob("Qwen/Qwen2.5-0.5B", "full", 1, 8, "l4x1", 1_000, 1, "0.06 h, $0.15"),
    ComparedJob("Qwen/Qwen3-1.7B", "full", 1, 8, "l4x1", 1_000, 1, "0.84 h, $2.10"),
    ComparedJob("Qwen/Qwen3-1.7B", "LoRA", 1, 8, "t4-small", 1_000, 1, "1.40 h, $1.05"),
    ComparedJob("Qwen/Qwen2.5-7B", "full", 1, 8, "a100-large", 1_000, 1, "0.49 h, $4.90"),
    ComparedJob("Qwen/Qwen2.5-7B", "full", 1, 8, "h200", 1_000, 1, "not listed"),
    ComparedJob("Qwen/Qwen2.5-7B", "LoRA", 1, 8, "a10g-large", 1_000, 1, "0.70 h, $3.50"),
    ComparedJob("Qwen/Qwen2.5-7B", "LoRA, float32", 1, 8, "a10g-large", 1_000, 1, "0.70 h, $3.50"),
    ComparedJob("Qwen/Qwen3-8B", "LoRA", 1, 8, "a10g-large", 1_000, 1, "0.10 h, $0.50"),
    ComparedJob("meta-llama/Llama-3.1-8B", "LoRA", 1, 8, "l40sx1", 1_000, 1, "not listed"),
    ComparedJob("Qwen/Qwen2.5-0.5B", "full", 4, 2, "t4-small", 1_000, 1, "0.10 h, $0.08"),
    ComparedJob("Qwen/Qwen2.5-0.5B", "full", 4, 2, "t4-small", 100, 1, "0.01 h, $0.01"),
    ComparedJob("Qwen/Qwen3-1.7B", "LoRA", 4, 2, "a10g-small", 10_000, 1, "9.10 h, $31.85"),
    ComparedJob("Qwen/Qwen2.5-3B", "LoRA", 2, 4, "a10g-small", 1_000, 1, "0.39 h, $1.37"),
    ComparedJob("Qwen/Qwen2.5-3B", "LoRA", 2, 4, "a10g-large", 10_000, 3, "9.00 h, $45.00"),
    ComparedJob("Qwen/Qwen2.5-7B", "LoRA", 1, 8, "a10g-large", 10_000, 1, "7.00 h, $35.00"),
    ComparedJob("Qwen/Qwen2.5-7B", "LoRA", 4, 2, "a100-large", 20_000, 3, "29.40 h, $294.00"),
    ComparedJob("meta-llama/Llama-3.1-8B", "LoRA", 4, 2, "a100-large", 10_000, 1, "0.70 h, $7.00"),
    ComparedJob("Qwen/Qwen3-30B-A3B", "LoRA", 1, 8, "h200", 10_000, 1, "not listed"),
    ComparedJob("openai/gpt-oss-20b", "LoRA", 1, 8, "a100-large", 1_000, 1, "0.07 h, $0.70"),
)
JOB: Final = "method: sft\nmodel: m\ndataset: me/data\ntrain: {max_length: 1024}\nwhere: {backend: hf-jobs}\n"


def render_table() -> Iterator[str]:
    """Yield a row of the table for each job."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "job.yaml")
        path.write_text(JOB, encoding="utf-8")
        for job in JOBS:
            yield _row(job, holdfast.plan(path, set=job.as_sets(), offline=True))


def _row(job: ComparedJob, plan: dict[str, Any]) -> str:
    memory, time, cost = plan["memory"], plan["time_s"], plan["cost_usd"]
    fits = "fits" if plan["fits"] else "does not fit" if memory["low_bytes"] > plan["card_bytes"] else "may not fit"
    rule = (FULL_GB if job.way == "full" else LORA_GB) * load_configs()[job.model].parameters / GB
    cells = (
        f"{job.model.partition('/')[2]}, {job.way}, {job.batch} x {job.accumulation}",
        job.flavor,
        f"{job.rows:,} x {job.epochs}",
        f"{rule:.0f} GB",
        f"{memory['low_bytes'] / GB:.0f}{DASH}{memory['high_bytes'] / GB:.0f} GB, {fits}",
        job.script,
        f"{time['low'] / HOUR_S:.1f}{DASH}{time['high'] / HOUR_S:.1f} h, ${cost['low']:.2f}{DASH}{cost['high']:.2f}",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("\n".join(render_table()))
