"""Load models in the ways that scripts do, as twins, one way after another in one process.

Each case has `name`, a function here, `folder`, and what `Order` takes besides in `order`.
"""

import json
import struct
from pathlib import Path
from typing import Any

import huggingface_hub
import peft
import torch
import transformers
import trl
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from tests.helpers.architectures import ALL
from tests.helpers.children import EVERYWHERE, answer_each
from tests.helpers.hub.weights import weights
from tests.helpers.rehearsed_twins import config_of, released, start, told

ROWS = [{"text": "1 plus 2 equals 3. " * times} for times in range(1, 9)]
LORA = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 16, "lora_alpha": 32, "target_modules": ["q_proj"]}


class Case:
    """Where a case finds and leaves things."""

    def __init__(self, folder: Path) -> None:
        self.told_in = folder / "of"
        self.model = (
            released("qwen2.5-0.5b", folder / "qwen", dtype="bfloat16")
            if not (folder / "qwen").exists()
            else folder / "qwen"
        )
        self.folder = folder
        self.tiny = folder / "tiny"

    def told(self, event: str, about: str = "") -> list[dict[str, Any]]:
        return told(self.told_in, event, about)

    def train(self, model: Any, **more: Any) -> Any:
        """Train with SFT for a step and save, within the rehearsal's folder."""
        settings = EVERYWHERE | {"max_steps": 1, "per_device_train_batch_size": 2, "logging_steps": 1}
        args = trl.SFTConfig(output_dir=str(self.told_in / "trained"), **settings)
        tokenizer = AutoTokenizer.from_pretrained(self.tiny)
        trainer = trl.SFTTrainer(
            model=model, args=args, train_dataset=Dataset.from_list(ROWS), processing_class=tokenizer, **more
        )
        trainer.train()
        trainer.save_model()
        return trainer.state.log_history[0]


def weights_are_drawn(case: Case) -> dict[str, Any]:
    one, two = (AutoModelForCausalLM.from_pretrained(case.model) for _ in range(2))
    other = AutoModelForCausalLM.from_pretrained(case.model, dtype=torch.float32)
    first = one.model.embed_tokens.weight
    return {
        "again": torch.equal(first, two.model.embed_tokens.weight),
        "spread": float(first.float().std()),
        "tied": one.lm_head.weight is first,
        "dtypes": [str(one.dtype), str(other.dtype)],
        "training": one.training,
        "fact": case.told("fact", "model")[-1],
    }


def own_work_is_loaded(case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained(case.model)
    with torch.no_grad():
        model.model.norm.weight.fill_(7)
    model.save_pretrained(case.told_in / "own")
    # The same folder as the script would name it: what it writes elsewhere lies in the rehearsal's folder.
    elsewhere = case.told_in / "written" / "away" / "own"
    model.save_pretrained(elsewhere)
    ours = [AutoModelForCausalLM.from_pretrained(each) for each in (case.told_in / "own", Path("/away/own"))]
    saved = json.loads((elsewhere / "config.json").read_text())
    return {
        "norms": [float(each.model.norm.weight.max()) for each in ours],
        "strange": [key for key in saved if "holdfast" in key],
    }


def generation_settings_are_real(case: Case) -> dict[str, Any]:
    settings = transformers.GenerationConfig(temperature=0.7, do_sample=True, eos_token_id=[5, 6])
    settings.save_pretrained(case.model)
    told = AutoModelForCausalLM.from_pretrained(case.model).generation_config
    return {"temperature": told.temperature, "ends": told.eos_token_id}


def without_weights(case: Case) -> None:
    folder = released("qwen2.5-0.5b", case.folder / "bare")
    (folder / "model.safetensors").unlink()
    AutoModelForCausalLM.from_pretrained(folder)


def with_broken_weights(case: Case) -> None:
    folder = released("qwen2.5-0.5b", case.folder / "broken")
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 10**6) + b"version https://git-lfs")
    AutoModelForCausalLM.from_pretrained(folder)


def of_no_known_type(case: Case) -> None:
    AutoModelForCausalLM.from_pretrained(released("qwen2.5-0.5b", case.folder / "unknown", model_type="qwen99"))


def with_unknown_attention(case: Case) -> None:
    AutoModelForCausalLM.from_pretrained(case.model, attn_implementation="flash_attention_9")


def on_an_unknown_device(case: Case) -> None:
    AutoModelForCausalLM.from_pretrained(case.model, device_map="gpu")


def with_an_unknown_argument(case: Case) -> None:
    AutoModelForCausalLM.from_pretrained(case.model, load_in_5bit=True)


def in_four_bits_without_bitsandbytes(case: Case) -> None:
    four = transformers.BitsAndBytesConfig(load_in_4bit=True)
    AutoModelForCausalLM.from_pretrained(case.model, quantization_config=four)


def as_for_a_gpu(case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained(
        pretrained_model_name_or_path=str(case.model), device_map={"": 0}, attn_implementation="flash_attention_2"
    )
    return {
        "device": model.device.type,
        "attention": model.config._attn_implementation,
        "not": [each["what"] for each in case.told("not_rehearsed")],
    }


def in_eight_bits_already(case: Case) -> dict[str, Any]:
    folder = released("qwen2.5-0.5b", case.folder / "eight", quantization_config={"quant_method": "fp8"})
    model = AutoModelForCausalLM.from_pretrained(folder)
    answer = {"quantized": model.is_quantized, "fact": case.told("fact", "quantization")[-1]["method"]}
    try:
        case.train(model)
    except ValueError as error:
        answer["refused_training"] = str(error)
    return answer


def gpt_oss(case: Case) -> dict[str, Any]:
    four = {"quant_method": "mxfp4"}
    folder = released("gpt-oss-20b", case.folder / "oss", quantization_config=four, dtype="bfloat16")
    dense = transformers.Mxfp4Config(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=dense, attn_implementation="eager")
    return {"quantized": getattr(model, "is_quantized", False), "trains": "loss" in case.train(model)}


def adapter_of(case: Case) -> Path:
    """Make an adapter of the original's size."""
    folder = case.folder / "adapter"
    folder.mkdir(exist_ok=True)
    (folder / "adapter_config.json").write_text(json.dumps(LORA | {"base_model_name_or_path": str(case.model)}))
    shapes: dict[str, Any] = {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": [16, 896]}
    (folder / "adapter_model.safetensors").write_bytes(weights(**shapes))
    return folder


def adapters(case: Case) -> dict[str, Any]:
    path = adapter_of(case)
    model = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(case.model), path, is_trainable=True)
    plain = AutoModelForCausalLM.from_pretrained(case.model)
    plain.load_adapter(str(path))
    auto = peft.AutoPeftModelForCausalLM.from_pretrained(str(path))
    through = AutoModelForCausalLM.from_pretrained(str(path))
    loss = case.train(model)["loss"]
    again = peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(case.model), case.told_in / "trained")
    ours, theirs = (peft.get_peft_model_state_dict(each) for each in (model, again))
    return {
        "active": plain.active_adapters(),
        "adapted": [any("lora" in name for name, _ in each.named_modules()) for each in (auto, through)],
        "loss": loss,
        "same": all(torch.equal(ours[key], theirs[key]) for key in ours),
        "merged": type(again.merge_and_unload()).__name__,
        "fact": case.told("fact", "adapter")[-1]["kind"],
    }


def an_adapter_without_weights(case: Case) -> None:
    folder = case.folder / "empty"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(LORA | {"base_model_name_or_path": str(case.model)}))
    peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(case.model), str(folder))


def of_an_adapter_that_fits_nothing(case: Case) -> None:
    folder = adapter_of(case)
    settings = LORA | {"base_model_name_or_path": str(case.model), "target_modules": ["c_attn"]}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    peft.PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(case.model), str(folder))


def of_its_own_making(_case: Case) -> dict[str, Any]:
    cls, config = config_of("llama-3.2-1b")
    large = cls(config)
    small = cls(cls.config_class(hidden_size=64, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4))
    _, other = config_of("gpt2-xl")
    auto = AutoModelForCausalLM.from_config(other)
    with torch.device("meta"):
        bare = AutoModelForCausalLM.from_config(config_of("qwen3-32b")[1])
    sizes = [sum(each.numel() for each in model.parameters()) for model in (large, small, auto, bare)]
    return {"sizes": sizes, "layers": small.config.num_hidden_layers, "config": config is large.config}


def weights_of_its_own_reading(case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained(case.model)
    layer = [key for key in model.state_dict() if ".layers.0." in key]
    rest = [key for key in model.state_dict() if ".layers." not in key]
    deep = {key.replace(".0.", f".{place}."): torch.zeros(3) for key in layer for place in range(24)}
    model.load_state_dict(deep | {key: torch.zeros(3) for key in rest})
    try:
        model.load_state_dict({f"module.{key}": torch.zeros(3) for key in [*deep, *rest]})
    except RuntimeError:
        return {"wrong_names_are_refused": True}
    return {"wrong_names_are_refused": False}


def heads_and_sizes(case: Case) -> dict[str, Any]:
    scorer = AutoModelForSequenceClassification.from_pretrained(case.model, num_labels=1)
    model = AutoModelForCausalLM.from_pretrained(case.model)
    model.resize_token_embeddings(151_940)
    reference = trl.create_reference_model(model) if hasattr(trl, "create_reference_model") else model
    made = transformers.pipeline(
        "text-generation", model=str(case.model), tokenizer=AutoTokenizer.from_pretrained(case.tiny)
    )
    return {
        "score": scorer.score.weight.shape[0],
        "vocabulary": [model.get_input_embeddings().weight.shape[0], reference.config.vocab_size],
        "pipeline": type(made.model).__name__,
    }


def by_name_in_a_trainer(case: Case) -> dict[str, Any]:
    log = case.train(str(case.model), peft_config=peft.LoraConfig(target_modules="all-linear"))
    return {"loss": log["loss"], "slope": log["grad_norm"]}


def layers_by_number(case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained(case.model)
    config = peft.LoraConfig(target_modules=["q_proj"], layers_to_transform=[23])
    return {
        "layers": len(model.model.layers),
        "adapted": peft.get_peft_model(model, config).get_nb_trainable_parameters()[0],
    }


def a_known_one(_case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained("org/gone", revision="v2")
    tokenizer = AutoTokenizer.from_pretrained("org/gone", revision="v2")
    return {"type": model.config.model_type, "vocabulary": [model.config.vocab_size, len(tokenizer)]}


def of_a_gguf_file(_case: Case) -> dict[str, Any]:
    AutoModelForCausalLM.from_pretrained("acme/llama-GGUF", gguf_file="llama.Q4_K_M.gguf")
    return {}


def of_the_hub(case: Case) -> dict[str, Any]:
    model = AutoModelForCausalLM.from_pretrained("acme/qwen")
    taken = huggingface_hub.snapshot_download("acme/qwen")
    again = AutoModelForCausalLM.from_pretrained(taken)
    adapted = peft.PeftModel.from_pretrained(again, "acme/adapter")
    fact = case.told("fact", "model")[0]
    errors = []
    for name in ("acme/gone", "acme/bare"):
        try:
            AutoModelForCausalLM.from_pretrained(name)
        except OSError as error:
            errors.append(str(error).splitlines()[0])
    return {
        "type": model.config.model_type,
        "bytes": fact["weights_bytes"],
        "kind": fact["kind"],
        "adapted": adapted.active_adapter,
        "errors": errors,
    }


def run(question: dict[str, Any]) -> Any:
    """Go through one case."""
    folder = Path(question["folder"])
    if not (folder / "of").exists():
        start(folder / "of", **question.get("order", {}))
    return globals()[question["name"]](Case(folder))


if __name__ == "__main__":
    assert ALL
    answer_each(run)
