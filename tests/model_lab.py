"""Carry models as far as a trainer's first step, one after another in one process: what refuses them?

Reads from standard input `{"folder", "cases"}`, where each case is `{"name", "base", "method", "rows", "until", "train", "peft",
"loaded", "config", "tokenizer", "drop", "files"}`; makes the models, and writes `{name: null | "Error: message"}`.
"""

import json
import logging
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

METHODS = {"sft": "SFT", "dpo": "DPO", "kto": "KTO", "reward": "Reward", "grpo": "GRPO", "rloo": "RLOO"}
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
}


def make_bases(folder: Path) -> None:
    """Make small models of other types beside the tiny one, with its tokenizer, and an adapter of it."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(folder / "tiny")
    size = {"vocab_size": len(tokenizer)}
    t5 = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
    models = {
        "granite": transformers.GraniteForCausalLM(transformers.GraniteConfig(**size, **SMALL)),
        "olmo2": transformers.Olmo2ForCausalLM(transformers.Olmo2Config(**size, **SMALL, pad_token_id=0)),
        "gpt2": transformers.GPT2LMHeadModel(
            transformers.GPT2Config(**size, n_embd=32, n_layer=1, n_head=2, n_positions=64)
        ),
        "t5": transformers.T5ForConditionalGeneration(transformers.T5Config(**size, **t5)),
        "adapter": get_peft_model(
            AutoModelForCausalLM.from_pretrained(folder / "tiny"), LoraConfig(target_modules=["q_proj"])
        ),
    }
    for name, model in models.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    AutoModelForCausalLM.from_pretrained(folder / "tiny").save_pretrained(folder / "sharded", max_shard_size="100KB")
    tokenizer.save_pretrained(folder / "sharded")


def change(folder: Path, case: dict[str, Any]) -> None:
    """Make of a copy of a model what a case wants."""
    shutil.copytree(folder.parent.parent / case["base"], folder)
    for name, edits in {"config.json": case["config"], "tokenizer_config.json": case["tokenizer"]}.items():
        if edits:
            values = json.loads((folder / name).read_text()) | edits
            kept = {key: value for key, value in values.items() if value is not None}
            (folder / name).write_text(json.dumps(kept))
    for pattern in case["drop"]:
        next(iter(sorted(folder.glob(pattern)))).unlink()
    for name, text in case["files"].items():
        (folder / name).write_text(text)


def carry(folder: Path, case: dict[str, Any]) -> None:
    """Build the trainer, and train a step if that is asked for."""
    title = METHODS[case["method"]]
    settings = {
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "max_steps": 1,
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    if case["method"] in ("grpo", "rloo"):
        settings |= {"num_generations": 2, "max_completion_length": 4, "per_device_train_batch_size": 2}
    config = getattr(trl, f"{title}Config")(output_dir=str(folder / "out"), **settings | case["train"])
    more: dict[str, Any] = {}
    if case["method"] in ("grpo", "rloo"):
        more["reward_funcs"] = [lambda completions, **_: [float(len(str(each))) for each in completions]]
    if case["peft"] is not None:
        more["peft_config"] = LoraConfig(**case["peft"])
    model = AutoModelForCausalLM.from_pretrained(folder) if case["loaded"] else str(folder)
    rows = Dataset.from_list(case["rows"])
    trainer = getattr(trl, f"{title}Trainer")(model=model, args=config, train_dataset=rows, **more)
    if not trainer.processing_class("a word")["input_ids"]:
        raise ValueError("the tokenizer makes nothing of any text")
    if case["until"] == "train":
        trainer.train()


def main() -> None:
    """Carry each case, and say what became of it."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    asked = json.load(sys.stdin)
    answers, sys.stdout = sys.stdout, sys.stderr  # trainers print
    folder = Path(asked["folder"])
    make_bases(folder)
    told: dict[str, str | None] = {}
    for case in asked["cases"]:
        trial = folder / "trials" / case["name"]
        change(trial, case)
        try:
            carry(trial, case)
            told[case["name"]] = None
        except Exception as error:  # noqa: BLE001 - whatever refuses a model is the answer
            told[case["name"]] = f"{type(error).__name__}: {error}"
    json.dump(told, answers)


if __name__ == "__main__":
    main()
