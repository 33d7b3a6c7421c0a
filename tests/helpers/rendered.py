"""Carry rendered scripts as far as asked, one after another in one process: what refuses them, and where?

Each case has `name`, `script`, `folder`, `until`. A script is run in its folder, without its `main`: the config is made, then the trainer, then a step is trained.
"""

import os
import types
from pathlib import Path
from typing import Any

from tests.helpers.children import answer_each

STAGES = ("config", "trainer", "train")


def carry(script: str, folder: Path, until: str) -> None:
    """Do what the script's `main` does, up to a stage."""
    module = types.ModuleType("rendered")
    exec(compile(script, "attempt.py", "exec"), module.__dict__)
    config = module.training_config()
    if until == "config":
        return
    config.output_dir, config.disable_tqdm = str(folder / "out"), True
    record: dict[str, Any] = {"settings": {}, "versions": {}, "config": {}}
    trainer = module.make_trainer(config, record, folder)
    if not trainer.processing_class("a word")["input_ids"]:
        raise ValueError("the tokenizer makes nothing of any text")
    if until == "train":
        trainer.train()


def in_its_folder(case: dict[str, Any]) -> None:
    """Carry one script."""
    os.chdir(case["folder"])
    carry(case["script"], Path(case["folder"]), case["until"])


if __name__ == "__main__":
    answer_each(in_its_folder)
