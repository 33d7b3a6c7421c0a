"""Train one step on damaged rows, in one process: what is refused, and how large is the gradient?

Reads from standard input `{"model", "out", "cases": [{"name", "method", "rows", "settings"}]}`; writes for each case by
name `{"refused": null | "ErrorType", "gradient": number | null, "rows": how many are trained on}`.
"""

import json
import logging
import sys
import warnings
from typing import Any

import torch
from datasets import Dataset, disable_progress_bars
from transformers import AutoTokenizer
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)

TRAINERS: dict[str, tuple[Any, Any]] = {
    "sft": (SFTConfig, SFTTrainer),
    "dpo": (DPOConfig, DPOTrainer),
    "kto": (KTOConfig, KTOTrainer),
    "reward": (RewardConfig, RewardTrainer),
    "grpo": (GRPOConfig, GRPOTrainer),
}
SMALL = {"max_completion_length": 4, "num_generations": 2}


def score(completions: list[Any], **_: Any) -> list[float]:
    """Return a reward that varies."""
    return [float(len(str(completion))) for completion in completions]


def train(model: str, out: str, case: dict[str, Any]) -> dict[str, Any]:
    """Return what became of one case."""
    config, trainer_class = TRAINERS[case["method"]]
    settings = {**(SMALL if case["method"] == "grpo" else {}), **case["settings"]}
    arguments = config(
        output_dir=out,
        max_steps=1,
        per_device_train_batch_size=len(case["rows"]) or 1,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
        **settings,
    )
    beside = {"reward_funcs": score} if case["method"] == "grpo" else {}
    tokenizer = AutoTokenizer.from_pretrained(model)
    rows = Dataset.from_list(case["rows"])
    trainer = trainer_class(model, args=arguments, train_dataset=rows, processing_class=tokenizer, **beside)
    trainer.train()
    return {"refused": None, "gradient": trainer.state.log_history[0]["grad_norm"], "rows": len(trainer.train_dataset)}


def main() -> None:
    """Train each case, and say what became of it."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    disable_progress_bars()
    torch.set_num_threads(1)
    asked = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # trainers print
    told: dict[str, dict[str, Any]] = {}
    for case in asked["cases"]:
        try:
            told[case["name"]] = train(asked["model"], asked["out"], case)
        except Exception as error:  # noqa: BLE001 - whatever refuses the rows is the answer
            told[case["name"]] = {"refused": type(error).__name__, "gradient": None, "rows": 0}
    json.dump(told, answers)


if __name__ == "__main__":
    main()
