"""Models for tests of exports, made by one process: adapters of every kind on tiny bases, and what is wrong with others.

    from tests.helpers.exported import exportable_models  # noqa: F401 - the fixture `exportable`

Run as a program it makes them: `python tests/helpers/exported.py FOLDER`.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tiny import make_tiny, quiet_environment

ROOT = Path(__file__).parents[2]
SIZES = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")


@pytest.fixture(scope="session", name="exportable")
def exportable_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models; they are made once."""
    folder = tmp_path_factory.getbasetemp() / "exportable"
    if not folder.exists():
        environment = quiet_environment(PYTHONPATH=str(ROOT))
        subprocess.run([sys.executable, __file__, str(folder)], check=True, env=environment, capture_output=True)
    return folder


def make_models(folder: Path) -> None:
    """Save the models.

    Bases: tiny (tied), half (tied, in bfloat16), untied, llama (of another architecture), quantized (as its config.json says).
    Adapters: those of `adapters`, stacked (on lora), on-quantized.
    """
    make_tiny(folder / "tiny")
    make_bases(folder)
    for name, (base, config, more) in adapters().items():
        adapt(folder / name, folder / base, config, **more)
    for name, base in (("stacked", "lora"), ("on-quantized", "quantized")):
        shutil.copytree(folder / "lora", folder / name)
        edit_json(folder / name / "adapter_config.json", base_model_name_or_path=str(folder / base))


def make_bases(folder: Path) -> None:
    """Save the other bases beside the tiny one."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(folder / "tiny")
    tiny = Qwen2ForCausalLM.from_pretrained(folder / "tiny")
    given: dict[str, Any] = tiny.config.to_dict()
    torch.manual_seed(1)
    small = {key: given[key] for key in SIZES}
    bases = {
        "half": tiny.to(torch.bfloat16),
        "untied": Qwen2ForCausalLM(Qwen2Config(**{**given, "tie_word_embeddings": False})),
        "llama": LlamaForCausalLM(LlamaConfig(**{**small, "num_hidden_layers": 3})),
    }
    for name, model in bases.items():
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    shutil.copytree(folder / "tiny", folder / "quantized")
    edit_json(folder / "quantized" / "config.json", quantization_config={"quant_method": "bitsandbytes"})


def edit_json(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def adapters() -> dict[str, tuple[str, Any, dict[str, Any]]]:
    """The adapters: of which base, how configured, and what else is done.

    head: LoRA on the output layer alone, of tied weights; embeddings: on the input layer. whole-head: the output layer saved whole. grown: two more tokens,
    embeddings saved; unsaved: not saved. idle: as it was initialized. foreign: of llama, with tiny as its base, which has
    fewer layers; wide: of llama, with tiny as its base, whose keys are narrower.
    """
    from peft import LoraConfig, PromptTuningConfig

    lora: dict[str, Any] = {"r": 4, "task_type": "CAUSAL_LM", "init_lora_weights": False}
    whole = {"target_modules": "all-linear", **lora}
    tokens = {"tokens": ("<a>", "<b>")}
    return {
        "lora": ("tiny", LoraConfig(**whole), {}),
        "second": ("tiny", LoraConfig(**{**whole, "r": 2}), {}),
        "dora": ("tiny", LoraConfig(**whole, use_dora=True), {}),
        "rslora": ("tiny", LoraConfig(**whole, use_rslora=True, lora_alpha=16), {}),
        "head": ("tiny", LoraConfig(**lora, target_modules=["q_proj", "lm_head"]), {}),
        "embeddings": ("untied", LoraConfig(**lora, target_modules=["q_proj", "embed_tokens"]), {}),
        "tied-embeddings": ("tiny", LoraConfig(**lora, target_modules=["embed_tokens"]), {}),
        "whole-head": ("tiny", LoraConfig(**whole, modules_to_save=["lm_head"]), {}),
        "grown": ("tiny", LoraConfig(**whole), tokens),
        "unsaved": ("tiny", LoraConfig(**whole), {**tokens, "saved": False}),
        "on-half": ("half", LoraConfig(**whole), {}),
        "idle": ("tiny", LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"), {}),
        "foreign": ("llama", LoraConfig(**lora, target_modules=["q_proj", "up_proj"]), {"named": "tiny"}),
        "wide": ("llama", LoraConfig(**lora, target_modules=["k_proj"], layers_to_transform=[0]), {"named": "tiny"}),
        "prompt": ("tiny", PromptTuningConfig(num_virtual_tokens=3, task_type="CAUSAL_LM"), {}),
    }


def adapt(
    out: Path, base: Path, config: Any, *, tokens: tuple[str, ...] = (), saved: bool = True, named: str = ""
) -> None:
    """Save an adapter with weights as training leaves them, and its tokenizer."""
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    if tokens:
        tokenizer.add_special_tokens({"additional_special_tokens": list(tokens)})
        model.resize_token_embeddings(len(tokenizer))
    model.name_or_path = model.config._name_or_path = str(base.parent / named if named else base)
    adapted = get_peft_model(model, config)
    with torch.no_grad():
        for key, weight in adapted.named_parameters():
            if "modules_to_save" in key or "magnitude" in key:
                weight.add_(torch.randn_like(weight) / 10)
    adapted.save_pretrained(out, save_embedding_layers=saved and bool(tokens))
    tokenizer.save_pretrained(out)


if __name__ == "__main__":
    make_models(Path(sys.argv[1]))
