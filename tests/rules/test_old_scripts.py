"""A script as it was written years ago, fixed by `check --unsafe-fixes`, and trained with the newest libraries."""

import json
from pathlib import Path

import pytest

from holdfast import check
from tests.helpers.forked import Done, fork
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

OLD = """\
import argparse
import json

from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainingArguments
from trl import DataCollatorForCompletionOnlyLM, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--model")
parser.add_argument("--length", type=int, default=64)


def main():
    options = parser.parse_args()
    rows = Dataset.from_list([{"text": f"{i} plus 1 equals {i + 1}."} for i in range(32)])
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    lora = LoraConfig(r=4, target_modules="all-linear")
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(options.model, torch_dtype="auto"), lora)
    arguments = TrainingArguments(
        output_dir="out",
        evaluation_strategy="no",
        warmup_ratio=0.1,
        logging_dir="logs",  # for TensorBoard
        max_steps=2,
        use_cpu=True,
        report_to="none",
    )
    trainer = SFTTrainer(
        model=model,
        tokenizer=tokenizer,
        args=arguments,
        train_dataset=rows,
        dataset_text_field="text",
        max_seq_length=options.length,
        packing=False,
        peft_config=lora,
    )
    trainer.train()
    given = ("learning_rate", "logging_steps", "bf16", "gradient_checkpointing", "max_length", "packing", "warmup_steps")
    print(json.dumps({name: getattr(trainer.args, name) for name in given}))


main()
"""


def run(script: Path, *arguments: str) -> Done:
    return fork([str(script), *arguments], script.parent, quiet_environment())


def test_an_old_script_is_mended_and_means_what_it_meant(tmp_path: Path, tiny: Path) -> None:
    """What TrainingArguments leave to their defaults stays so, though the trainer's own config has others."""
    script = tmp_path / "train.py"
    script.write_text(OLD)
    assert run(script, "--model", str(tiny)).exit_code

    told = check([str(script)], unsafe_fixes=True, offline=True, cache=False)
    fixed = run(script, "--model", str(tiny), "--length", "48")

    assert not [each for target in told["targets"] for each in target["findings"] if each["severity"] == "error"]
    assert fixed.exit_code == 0, fixed.stderr[-2000:]
    assert json.loads(fixed.stdout.splitlines()[-1]) == {
        "learning_rate": 5e-05,
        "logging_steps": 500,
        "bf16": False,
        "gradient_checkpointing": False,
        "max_length": 48,
        "packing": False,
        "warmup_steps": 0.1,
    }
