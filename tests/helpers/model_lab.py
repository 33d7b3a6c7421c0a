"""Carry models as far as a trainer's first step, one after another in one process: what refuses them?

Each case has `name`, `folder`, `base`, `method`, `rows`, `until`, `train`, `peft`, `loaded`, `config`, `tokenizer`, `drop`, `files`.
"""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
import trl
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.helpers.children import EVERYWHERE, answer_each, title_of

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
        "granitemoe": transformers.GraniteMoeForCausalLM(
            transformers.GraniteMoeConfig(**size, **SMALL, num_local_experts=4)
        ),
        "mixtral": transformers.MixtralForCausalLM(
            transformers.MixtralConfig(**size, **SMALL, num_local_experts=4, pad_token_id=0)
        ),
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
    title = title_of(case["method"])
    settings = {**EVERYWHERE, "max_steps": 1}
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


@cache
def bases_in(folder: Path) -> Path:
    """Return a folder with models to begin with, made once."""
    make_bases(folder)
    return folder


def try_out(case: dict[str, Any]) -> None:
    """Make a model, and carry it."""
    trial = bases_in(Path(case["folder"])) / "trials" / case["name"]
    change(trial, case)
    carry(trial, case)


if __name__ == "__main__":
    answer_each(try_out)
