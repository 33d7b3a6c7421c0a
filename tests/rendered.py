"""Carry rendered scripts as far as asked, one after another in one process: what refuses them, and where?

Reads from standard input a list of `{"name", "script", "folder", "until"}`; writes `{name: null | "Error: message"}`.
A script is run in its folder, without its `main`: the config is made, then the trainer, then a step is trained.
"""

import json
import logging
import os
import sys
import types
import warnings
from pathlib import Path
from typing import Any

STAGES = ("config", "trainer", "train")


def carry(script: str, folder: Path, until: str) -> None:
    """Do what the script's `main` does, up to a stage."""
    module = types.ModuleType("rendered")
    exec(compile(script, "attempt.py", "exec"), module.__dict__)  # noqa: S102 - our own renderer wrote it
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


def main() -> None:
    """Carry each script, and say what became of it."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    told: dict[str, str | None] = {}
    answers, sys.stdout = sys.stdout, sys.stderr  # trainers print
    for each in json.load(sys.stdin):
        os.chdir(each["folder"])
        try:
            carry(each["script"], Path(each["folder"]), each["until"])
            told[each["name"]] = None
        except Exception as error:  # noqa: BLE001 - whatever refuses a job is the answer
            told[each["name"]] = f"{type(error).__name__}: {error}"
    json.dump(told, answers)


if __name__ == "__main__":
    main()
