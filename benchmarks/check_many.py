"""How long `holdfast check .` takes on a folder of many scripts: the first time, with one core, and from the cache.

    .venv/bin/python -m benchmarks.check_many [--scripts 500] [--seed 0]

The scripts are made from a seed: all methods, pinned and unpinned, with and without a header, right and stale, some with
the code around them that people have, some that import a module of their own.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import heading

METHODS = {"SFT": "trl-lib/Capybara", "DPO": "trl-lib/ultrafeedback_binarized", "GRPO": "trl-lib/DeepMath-103K"}
PINS = ["trl==1.16.0", "trl>=0.12", "trl", "trl==0.15.2", "trl>=0.20,<1"]
ARGUMENTS = {
    "learning_rate": "2e-5",
    "per_device_train_batch_size": "2",
    "gradient_accumulation_steps": "8",
    "num_train_epochs": "1",
    "logging_steps": "10",
    "bf16": "True",
    "gradient_checkpointing": "True",
    "max_length": "1024",
    "report_to": '"trackio"',
    "push_to_hub": "True",
    "max_seq_length": "1024",  # from here on names that are gone, or were never there
    "evaluation_strategy": '"steps"',
    "max_prompt_length": "512",
    "save_safetensors": "True",
}
FILLER = '''
def clean_{number}(row, length={number}):
    """Return the row without what nobody needs."""
    text = row["text"].strip()
    words = [word for word in text.split() if len(word) < 40 and not word.startswith("http")]
    return {{"text": " ".join(words[:length]), "count": len(words), "first": words[0] if words else None}}
'''
SCRIPT = """\
{header}import os
from dataclasses import dataclass

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoTokenizer
from trl import {method}Config, {method}Trainer
{imports}
os.environ["TOKENIZERS_PARALLELISM"] = "false"
MODEL = "Qwen/Qwen2.5-0.5B"

@dataclass
class Settings:
    rank: int = {rank}
    model: str = MODEL
{filler}
def main():
    settings = Settings()
    tokenizer = AutoTokenizer.from_pretrained(settings.model)
    dataset = load_dataset("{dataset}", split="train")
    args = {method}Config(
        output_dir="out-{number}",
{arguments}    )
    trainer = {method}Trainer(
        model=settings.model,
        args=args,
        train_dataset=dataset,
        {processing}=tokenizer,
        peft_config=LoraConfig(r=settings.rank, target_modules="all-linear"),{rewards}
    )
    trainer.train()
    trainer.save_model()


if __name__ == "__main__":
    main()
"""


def script(draw: random.Random, number: int) -> str:
    """Return one training script."""
    method = draw.choice(list(METHODS))
    names = draw.sample(list(ARGUMENTS), k=draw.randint(4, len(ARGUMENTS)))
    requirements = json.dumps([draw.choice(PINS), "peft", "datasets"])
    header = f"# /// script\n# dependencies = {requirements}\n# ///\n" if draw.random() < 0.5 else ""  # noqa: PLR2004
    return SCRIPT.format(
        header=header,
        method=method,
        imports="from settings import SIZE\n" if draw.random() < 0.2 else "",  # noqa: PLR2004
        rank=draw.choice([8, 16, 64]),
        filler="".join(FILLER.format(number=each) for each in range(draw.randint(0, 8))),
        dataset=METHODS[method],
        number=number,
        arguments="".join(f"        {name}={ARGUMENTS[name]},\n" for name in names),
        processing=draw.choice(["processing_class", "tokenizer"]),
        rewards='\n        reward_funcs="accuracy_reward",' if method == "GRPO" else "",
    )


def lay_out(folder: Path, scripts: int, seed: int) -> None:
    """Write the scripts, in folders of fifty."""
    draw = random.Random(seed)  # noqa: S311 - the same scripts each time
    for number in range(scripts):
        path = folder / f"part_{number // 50:02}" / f"train_{number:04}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script(draw, number))
        (path.parent / "settings.py").write_text("SIZE = 1\n")
    (folder / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n")
    (folder / "holdfast.toml").write_text("")


def seconds(folder: Path, *options: str, one_core: bool = False) -> tuple[float, int]:
    """Check the folder; return how long that took, and how many findings there are."""
    words = [sys.executable, "-m", "holdfast", "check", ".", "--format", "json", *options]
    words = ["taskset", "-c", str(min(os.sched_getaffinity(0))), *words] if one_core else words
    begun = time.perf_counter()
    told = subprocess.run(words, cwd=folder, check=False, capture_output=True, text=True)
    took = time.perf_counter() - begun
    targets = json.loads(told.stdout)["targets"]
    return took, sum(len(target["findings"]) for target in targets)


def main() -> None:
    """Measure, and print a line for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print(heading(f"check of {asked.scripts} scripts, seconds"))
    with TemporaryDirectory() as folder:
        lay_out(Path(folder), asked.scripts, asked.seed)
        ways: dict[str, Callable[[], tuple[float, int]]] = {
            "without a cache, one core": lambda: seconds(Path(folder), "--no-cache", one_core=True),
            "without a cache": lambda: seconds(Path(folder), "--no-cache"),
            "the first time": lambda: seconds(Path(folder)),
            "from the cache": lambda: seconds(Path(folder)),
        }
        for name, way in ways.items():
            took, findings = way()
            print(f"{name:28} {took:6.2f}   {findings} findings")


if __name__ == "__main__":
    main()
