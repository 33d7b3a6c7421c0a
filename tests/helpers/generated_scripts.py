"""Good scripts drawn at random: the jobs of `generated_jobs`, written in the ways that people write them.

    generate_script(7)                     # the script of that number, the same each time
    python -m tests.helpers.generated_scripts 7    # prints it

None may be refused.
"""

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.helpers.generated_jobs import METHOD_WORDS, ONLINE, REWARDS, Draw, GeneratedJob

IMPORTS = """import os

from datasets import load_dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from transformers import EarlyStoppingCallback, HfArgumentParser
from trl import {word}Config, {word}Trainer
"""
DATA = """dataset = load_dataset("json", data_files="{rows}", split="train"{streaming})
"""
SPLIT = """parts = dataset.train_test_split(test_size={fraction}, seed=7)
dataset, held_out = parts["train"], parts["test"]
"""
PLAIN = """
args = {word}Config({settings})
trainer = {word}Trainer({model}, args=args, train_dataset=dataset{more})
trainer.train()
trainer.save_model("{output}/final")
"""
PARSED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--model", default="{path}")
parser.add_argument("--learning-rate", type=float, default={rate})
parser.add_argument("--output", default="{output}")
options = parser.parse_args()
"""
DATACLASS = """
from dataclasses import dataclass, field
@dataclass
class Options:
    model_name: str = field(default="{path}", metadata={{"help": "Model to start from."}})
    note: str | None = None
options, args = HfArgumentParser((Options, {word}Config)).parse_args_into_dataclasses()
"""
TRL_PARSER = """
from trl import ModelConfig, ScriptArguments, TrlParser, get_peft_config
script_args, args, model_args = TrlParser((ScriptArguments, {word}Config, ModelConfig)).parse_args_and_config()
"""
TRAINER = """import torch
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("{path}")
model = AutoModelForCausalLM.from_pretrained("{path}", dtype=torch.float32)
dataset = load_dataset("json", data_files="{rows}", split="train")

def tokenize(batch):
    return tokenizer([str(each) for each in batch["{column}"]], truncation=True, max_length=128)

dataset = dataset.map(tokenize, batched=True, remove_columns=dataset.column_names)
args = TrainingArguments({settings})
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
trainer = Trainer(model=model, args=args, train_dataset=dataset, data_collator=collator, processing_class=tokenizer)
trainer.train()
trainer.save_model()
"""
LOOP = """import torch
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer, get_scheduler

accelerator = Accelerator(gradient_accumulation_steps={accumulation})
tokenizer = AutoTokenizer.from_pretrained("{path}")
model = AutoModelForCausalLM.from_pretrained("{path}", dtype=torch.float32)
dataset = load_dataset("json", data_files="{rows}", split="train")

def collate(rows):
    batch = tokenizer([str(each["{column}"]) for each in rows], padding=True, truncation=True, max_length=128, return_tensors="pt")
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch

loader = DataLoader(dataset, batch_size={batch}, shuffle=True, collate_fn=collate)
optimizer = torch.optim.AdamW(model.parameters(), lr={rate})
schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=len(loader))
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
model.train()
for batch in loader:
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
accelerator.wait_for_everyone()
accelerator.unwrap_model(model).save_pretrained("{output}")
tokenizer.save_pretrained("{output}")
"""


@dataclass(frozen=True, kw_only=True)
class GeneratedScript:
    """A script, or a command line, with the files it names.

    Attributes:
        name: Its own.
        source: Its text; empty for a command line.
        suffix: Of its file.
        arguments: Its own arguments, or the words of the command line.
        files: The text of the files beside it, by path.
        is_local: Whether it is rehearsed for this machine, as it is; else for one with a GPU.
    """

    name: str
    source: str
    files: Mapping[str, str]
    suffix: str = ".py"
    arguments: tuple[str, ...] = ()
    is_local: bool = True


class Writer:
    """Writes one job as a script."""

    def __init__(self, job: GeneratedJob, *, is_local: bool) -> None:
        self.job, self.is_local = job, is_local
        values = job.values
        self.word = METHOD_WORDS[values["method"]]
        self.path: str = "work/tiny"
        self.output = f"out/{job.name}"
        self.held_out = values["dataset"].get("eval_fraction")
        self.settings = self._settings()

    def _settings(self) -> dict[str, Any]:
        train = dict(self.job.values["train"])
        train |= {"output_dir": self.output, "report_to": "none"}
        if self.is_local:
            train |= {"bf16": False, "use_cpu": True}
        if self.held_out and "eval_strategy" not in train:
            train["eval_strategy"] = "steps" if "eval_steps" in train else "epoch"
        if "early_stopping" in self.job.values:
            train |= {"load_best_model_at_end": True, "save_strategy": train["eval_strategy"]}
            train |= {"save_steps": train["eval_steps"]} if "eval_steps" in train else {}
            train |= {"metric_for_best_model": "eval_loss", "greater_is_better": False}
        return train

    def plain(self) -> str:
        """Everything at the top level, in the order that it happens."""
        return self._head() + self._body(f'model="{self.path}"', _keywords(self.settings))

    def in_main(self) -> str:
        """In `main()`, behind the usual guard."""
        body = DATA.format(**self._names) + self._split() + self._train(f'"{self.path}"', _keywords(self.settings))
        lines = [*self._definitions(), "def main():", *(f"    {line}" if line else "" for line in body.splitlines())]
        return IMPORTS.format(word=self.word) + "\n".join([*lines, "", 'if __name__ == "__main__":', "    main()", ""])

    def with_argparse(self) -> str:
        """With options of its own."""
        settings = {name: value for name, value in self.settings.items() if name not in ("learning_rate", "output_dir")}
        given = f"output_dir=options.output, learning_rate=options.learning_rate, {_keywords(settings)}"
        options = PARSED.format(path=self.path, rate=self.settings["learning_rate"], output=self.output)
        return self._head() + options + self._body("model=options.model", given)

    def with_dataclasses(self) -> str:
        """Options and settings as dataclasses that `HfArgumentParser` reads."""
        parsed = DATACLASS.format(path=self.path, word=self.word)
        body = self._body("model=options.model_name", "").replace(f"args = {self.word}Config()\n", "")
        return self._head() + parsed + body

    def with_trl_parser(self) -> str:
        """As TRL's own example scripts."""
        body = self._body("model=model_args.model_name_or_path", "").replace(f"args = {self.word}Config()\n", "")
        return self._head() + TRL_PARSER.format(word=self.word) + body

    def with_settings_above(self) -> str:
        """Settings in a dictionary at the top, updated from the environment."""
        table = f"SETTINGS = {self.settings!r}\n"
        table += 'SETTINGS["learning_rate"] = float(os.environ.get("RATE", SETTINGS["learning_rate"]))\n'
        return self._head() + table + self._body(f'model="{self.path}"', "**SETTINGS")

    def with_loaded_model(self) -> str:
        """Model and tokenizer loaded by the script, and an adapter added by it."""
        kind = "AutoModelForSequenceClassification" if self.word == "Reward" else "AutoModelForCausalLM"
        labels = ", num_labels=1" if self.word == "Reward" else ""
        loading = f'tokenizer = AutoTokenizer.from_pretrained("{self.path}")\n'
        loading += f'model = {kind}.from_pretrained("{self.path}"{labels})\n'
        if self.word == "Reward":
            loading += "model.config.pad_token_id = tokenizer.pad_token_id\n"
        body = self._body("model=model", _keywords(self.settings)).replace(
            "train_dataset=dataset", "train_dataset=dataset, processing_class=tokenizer"
        )
        return self._head() + loading + body

    def as_notebook(self) -> str:
        """As cells of a notebook."""
        cells: list[dict[str, Any]] = [
            {"cell_type": "code", "source": part, "metadata": {}, "outputs": [], "execution_count": None}
            for part in (self._head(), self._body(f'model="{self.path}"', _keywords(self.settings)))
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def with_trainer(self) -> str:
        """With the `Trainer` of transformers, on rows that it tokenizes itself."""
        own = ("max_length", "packing", "neftune_noise_alpha", "eval_steps", "eval_strategy", "eval_on_start")
        chosen = {name: value for name, value in self.settings.items() if name not in (*own, *_OF_METHODS, *_BEST)}
        return TRAINER.format(path=self.path, settings=_keywords(chosen), **self._names)

    def with_loop(self) -> str:
        """With accelerate and a loop of its own."""
        train = self.job.values["train"]
        return LOOP.format(
            path=self.path,
            accumulation=train.get("gradient_accumulation_steps", 1),
            batch=train["per_device_train_batch_size"],
            rate=train["learning_rate"],
            output=self.output,
            **self._names,
        )

    def words(self) -> tuple[str, ...]:
        """Return the settings as words of a command line."""
        words = []
        for name, value in self.settings.items():
            values = value if isinstance(value, list) else [value]
            words += [f"--{name}", *(str(each) for each in values)]
        return tuple(words)

    @property
    def _names(self) -> dict[str, str]:
        streaming = ", streaming=True" if self.job.values["dataset"].get("streaming") else ""
        return {"rows": f"{self.job.name}.jsonl", "streaming": streaming, "column": next(iter(self.job.rows[0]))}

    def _definitions(self) -> list[str]:
        return REWARDS.splitlines() if self.job.values["method"] in ONLINE else []

    def _head(self) -> str:
        imports = IMPORTS.format(word=self.word)
        return "\n".join([imports, *self._definitions(), DATA.format(**self._names) + self._split()])

    def _split(self) -> str:
        return SPLIT.format(fraction=self.held_out) if self.held_out else ""

    def _body(self, model: str, settings: str) -> str:
        return self._train(model.removeprefix("model="), settings)

    def _train(self, model: str, settings: str) -> str:
        more = ", eval_dataset=held_out" if self.held_out else ""
        if self.job.values["method"] in ONLINE:
            more += ", reward_funcs=length"
        if peft := self.job.values.get("peft"):
            more += f", peft_config=LoraConfig({_keywords(self._task() | peft)})"
        if stopping := self.job.values.get("early_stopping"):
            more += f", callbacks=[EarlyStoppingCallback(early_stopping_patience={stopping['patience']})]"
        return PLAIN.format(word=self.word, settings=settings, model=f"model={model}", more=more, output=self.output)

    def _task(self) -> dict[str, str]:
        return {"task_type": "SEQ_CLS" if self.word == "Reward" else "CAUSAL_LM"}


_OF_METHODS = [
    "beta",
    "loss_type",
    "precompute_ref_log_probs",
    "temperature",
    "num_generations",
    "max_completion_length",
    "per_device_eval_batch_size",
]
_BEST = ("load_best_model_at_end", "metric_for_best_model", "greater_is_better")


def _keywords(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


STYLES: Mapping[str, Callable[[Writer], str]] = {
    "plain": Writer.plain,
    "main": Writer.in_main,
    "argparse": Writer.with_argparse,
    "dataclasses": Writer.with_dataclasses,
    "trl-parser": Writer.with_trl_parser,
    "settings-above": Writer.with_settings_above,
    "loaded-model": Writer.with_loaded_model,
    "notebook": Writer.as_notebook,
    "trainer": Writer.with_trainer,
    "loop": Writer.with_loop,
    "command-line": lambda _: "",
}
PLAIN_ROWS = ("trainer", "loop")
"""Styles that train on texts alone."""


def generate_script(number: int) -> GeneratedScript:
    """Return the script of a number, the same each time."""
    style = [*STYLES][number % len(STYLES)]
    job = _job_for(style, number)
    drawn = random.Random(-number)  # noqa: S311 - drawn again from its number
    writer = Writer(job, is_local=drawn.random() < 0.5)
    arguments: tuple[str, ...] = ()
    if style == "dataclasses":
        arguments = writer.words()
    elif style in ("trl-parser", "command-line"):
        arguments = ("--model_name_or_path", writer.path, *writer.words())
    if style == "trl-parser":
        arguments = ("--dataset_name", "unused", *arguments)
    if style == "command-line":
        arguments = ("trl", job.values["method"], "--dataset_name", f"rows-{job.name}", *arguments)
    files = {path: text for path, text in job.files.items() if not path.endswith(".yaml")}
    if style == "command-line":
        files = {f"rows-{job.name}/train.jsonl": files[f"{job.name}.jsonl"]}
    return GeneratedScript(
        name=f"{style}-{number}",
        source=STYLES[style](writer),
        suffix=".ipynb" if style == "notebook" else ".py",
        arguments=arguments,
        files=files,
        is_local=writer.is_local,
    )


def _job_for(style: str, number: int) -> GeneratedJob:
    """Return the first job from a number on that a style can write."""
    for each in range(1000 * number, 1000 * number + 1000):
        job = Draw(each).job(f"script-{number}")
        if _can_write(style, job.values):
            return job
    raise LookupError(f"no job for the style {style}")


def _can_write(style: str, job: Mapping[str, Any]) -> bool:
    dataset, method = job["dataset"], job["method"]
    if "rows" in dataset or "where" in job:
        return False
    if style in PLAIN_ROWS:
        return method == "sft" and not dataset.get("streaming") and "eval_fraction" not in dataset
    if style == "command-line":  # it has one split, and rewards by name alone
        return method not in ONLINE and dataset.keys() <= {"path", "seed"} and "peft" not in job
    return not (dataset.get("streaming") and style == "loop")


if __name__ == "__main__":
    script = generate_script(int(sys.argv[1]))
    sys.stdout.write(script.source + "\n# " + " ".join(script.arguments) + "\n")
