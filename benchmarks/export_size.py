"""`holdfast export --gguf q8_0,q4_k_m` of an adapter on a model of the size of Qwen2.5-0.5B, with random weights: time and memory of each step.

    python -m benchmarks.export_size [LAYERS]

Needs `holdfast[gguf]`, and 6 GB of disk. Fewer layers make a smaller model. Of random weights, the checks of perplexity mean nothing.
"""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.evaluation.builtin_model import make_builtin

LAYERS: Final = 24
SIZES: Final = {
    "vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864, "num_attention_heads": 14, "num_key_value_heads": 2,
    "max_position_embeddings": 32768, "tie_word_embeddings": True,
}  # fmt: skip
"""Of Qwen/Qwen2.5-0.5B, from its config.json."""


def make_adapter(folder: Path, layers: int) -> Path:
    """Return the folder of an adapter, made beside its base."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(make_builtin("builtin:tiny-chat"))
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    model = Qwen2ForCausalLM(Qwen2Config(**SIZES, **ends, num_hidden_layers=layers)).to(torch.bfloat16)
    base, adapter = folder / "base", folder / "adapter"
    for each, out in ((model, base), (tokenizer, base), (tokenizer, adapter)):
        each.save_pretrained(out)
    adapted = get_peft_model(model, LoraConfig(r=16, target_modules="all-linear", init_lora_weights=False))
    adapted.peft_config["default"].base_model_name_or_path = str(base)
    adapted.save_pretrained(adapter)
    return adapter


def main() -> None:
    """Print a line for each step and each file, and the processor time of all."""
    print(heading("export"))
    with tempfile.TemporaryDirectory() as box:
        adapter = make_adapter(Path(box), int(sys.argv[1]) if len(sys.argv) > 1 else LAYERS)
        words = [
            "export",
            str(adapter),
            "--gguf",
            "q8_0,q4_k_m",
            "--out",
            f"{box}/out",
            "--offline",
            "--format",
            "json",
        ]
        command = [sys.executable, "-m", "holdfast", *words]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        answer = json.loads(done.stdout)
        if "steps" not in answer:
            sys.exit(done.stdout)
        for step in answer["steps"]:
            print(f"{step['name']:20} {step['elapsed_s']:8.1f} s  {step['peak_bytes'] / 1e9:6.2f} GB")
        for file in answer["files"]:
            checks = ", ".join(f"{each['name']} {each['verdict']}" for each in file["checks"])
            print(f"{file['quantization'] or file['format']:20} {file['bytes'] / 1e9:8.2f} GB: {checks}")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{'processor':20} {used.ru_utime + used.ru_stime:8.1f} s")


if __name__ == "__main__":
    main()
