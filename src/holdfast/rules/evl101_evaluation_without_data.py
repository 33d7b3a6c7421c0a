"""Evaluation requested without evaluation data.

## What it does
Checks for settings that make the trainer evaluate, or need an evaluation (`eval_strategy`, `load_best_model_at_end`,
`eval_on_start`, `early_stopping`), in a job whose `dataset` has neither `eval_split` nor `eval_fraction`; in a
script, for a trainer without an `eval_dataset`.

## Why is this bad
With an evaluation strategy and no evaluation data, building the trainer raises ValueError. `eval_on_start` raises
when training begins. It does not hang, as older advice says.

## Fix safety
The fix is unsafe: it holds out a tenth of the training split, which most jobs intend, but these rows are no longer
trained on.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.constructions import refusals
from holdfast.catalog.calls.train_arguments import setting
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Set

HOLD_OUT = Fix("hold out a tenth of the rows", (Set("dataset.eval_fraction", 0.1),), safe=False)


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each setting that needs evaluation data, where there is none."""
    return _in_job_file(job) if job.kind == "job" else _in_program(job, api)


def _in_job_file(job: Document) -> Iterator[Finding]:
    if job.get("dataset.eval_split", None) is not None or job.get("dataset.eval_fraction", None) is not None:
        return
    fix = None if job.get("dataset.streaming", default=False) else HOLD_OUT  # a stream has no length to take a part of
    for key in _evaluating(job):
        yield Finding(key, "there is no evaluation data: name `dataset.eval_split` or `dataset.eval_fraction`", fix)


def _in_program(job: Document, api: Api) -> Iterator[Finding]:
    for made, raised in refusals(job, api, "evaluation-without-data"):
        message = f"`{made.call.name}` of {made.versions(api)} is set to evaluate, but gets no `eval_dataset`"
        yield Finding(made.key(job, raised), message)


def _evaluating(job: Document) -> Iterator[str]:
    if setting(job, "eval_strategy") in ("steps", "epoch"):
        yield "train.eval_strategy"
    elif setting(job, "load_best_model_at_end") is True and job.get("train.eval_strategy", None) is None:
        yield "train.load_best_model_at_end"
    if setting(job, "eval_on_start") is True:
        yield "train.eval_on_start"
    if job.get("early_stopping", None) not in (None, ABSENT):
        yield "early_stopping"


BLIND = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset:
  path: trl-lib/Capybara
train:
  eval_strategy: steps
"""
SEEING = BLIND.replace("Capybara\n", "Capybara\n  eval_fraction: 0.1\n")
BEST = BLIND.replace("eval_strategy: steps", "load_best_model_at_end: true")
START = BLIND.replace("eval_strategy: steps", "eval_on_start: true")
STOPPING = BLIND.replace("train:\n  eval_strategy: steps", "early_stopping:\n  patience: 2")
STREAMED = BLIND.replace("Capybara\n", "Capybara\n  streaming: true\n")

SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capybara")
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B",
    args=SFTConfig(output_dir="out", eval_strategy="epoch"),
    train_dataset=rows["train"],
)
"""

RULE = Rule(
    code="EVL101",
    name="evaluation-without-data",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=ANY_KIND,
    source=(
        "transformers 5.23, `Trainer._validate_args` and `get_eval_dataloader`. Tried with all six methods: each trainer "
        "raises ValueError while it is built with `eval_strategy`, and in `train()` with `eval_on_start`."
    ),
    bad=(
        Case(job=BLIND, at="train.eval_strategy", fixed=SEEING),
        Case(
            job=BEST,
            at="train.load_best_model_at_end",
            fixed=BEST.replace("Capybara\n", "Capybara\n  eval_fraction: 0.1\n"),
        ),
        Case(
            job=START, at="train.eval_on_start", fixed=START.replace("Capybara\n", "Capybara\n  eval_fraction: 0.1\n")
        ),
        Case(
            job=STOPPING,
            at="early_stopping",
            fixed=STOPPING.replace("Capybara\n", "Capybara\n  eval_fraction: 0.1\n"),
        ),
        Case(job=STREAMED, at="train.eval_strategy"),
        Case(script=SCRIPT, at="train.eval_strategy"),
    ),
    good=(
        Case(job=SEEING),
        Case(script=SCRIPT.replace('rows["train"],', 'rows["train"],\n    eval_dataset=rows["test"],')),
        Case(script=SCRIPT.replace('"epoch"', '"no"')),
        Case(script=SCRIPT.replace('rows["train"],', 'rows["train"],\n    **others,')),
        Case(job=BLIND.replace("Capybara\n", "Capybara\n  eval_split: test\n")),
        Case(job=BLIND.replace("steps", '"no"')),
        Case(job=BLIND.replace("eval_strategy: steps", "per_device_eval_batch_size: 4\n  do_eval: true")),
    ),
)
