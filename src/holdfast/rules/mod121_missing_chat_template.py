"""Conversations for a model without a chat template.

## What it does
Where the training data holds lists of messages with `role` and `content`, checks whether the model's tokenizer or the
job has a chat template.

## Why is this bad
Every trainer raises ValueError, `tokenizer.chat_template is not set`: most while they prepare the data, after the
model is loaded; GRPO and RLOO at the first step. Base models often have no chat template.

## Fix safety
There is no automatic fix: only you know which template is right. Name a model that has one in `model.chat_template`
of a job file or in `chat_template_path` of `SFTConfig`, train the instruct model instead, or convert the rows to
plain text.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import base_of, is_conversational, rows_are_raw, writes_as_saved
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING, ListOf, Struct

TEMPLATE = "train.chat_template_path"
# Without one of these files, transformers makes another tokenizer, which MOD102 reports.
VOCABULARY = {"tokenizer.json", "tokenizer.model", "vocab.json", "tokenizer_config.json"}


def check(job: Document, model: ModelFacts, dataset: Dataset) -> Iterator[Finding]:
    """Report conversations for a model without a chat template."""
    base = base_of(job, model)
    if base is None or not _has_none(model) or not writes_as_saved(job, base):
        return
    if job.get(TEMPLATE, None) is None and rows_are_raw(job) and is_conversational(dataset.readable()):
        fault = "the data holds conversations, and the model's tokenizer has no chat template to write them out"
        yield base.finding(fault + _advice(job))


def _advice(job: Document) -> str:
    """Return which setting can name a template; empty if none can."""
    can = job.get("method") == "sft" or job.kind == "job"
    where = "model.chat_template" if job.kind == "job" else "chat_template_path"
    return f"; name one in `{where}`" if can else ""


def _has_none(model: ModelFacts) -> bool:
    readable = model.repo is None or model.repo.readable
    return model.chat_template is None and readable and bool(VOCABULARY.intersection(model.files or ()))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
"""
SCRIPT = """from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

rows = load_dataset("acme/questions", split="train")
trainer = GRPOTrainer(model="acme/base", args=GRPOConfig(output_dir="out"), train_dataset=rows, reward_funcs=score)
"""
MESSAGES = ListOf(Struct({"role": STRING, "content": STRING}))
FILES = frozenset({"config.json", "model.safetensors", "tokenizer.json"})


def _facts(column: str = "messages", *, template: str | None = None, chat: bool = True) -> dict[str, object]:
    types = {column: MESSAGES if chat else STRING}
    return {
        "model": ModelFacts(files=FILES, chat_template=template),
        "dataset": Dataset(columns=(column,), types=types),
    }


RULE = Rule(
    code="MOD121",
    name="missing-chat-template",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and a tiny model without a template: all six trainers raise ValueError for "
        "conversations, and train on plain text; `chat_template_path` helps `SFTTrainer`. Of several templates without a `default` the "
        "same is true."
    ),
    bad=(
        Case(job=JOB, facts=_facts(), at="model"),
        Case(job=JOB.replace("sft", "dpo"), facts=_facts("chosen"), at="model"),
        Case(script=SCRIPT, facts=_facts("prompt"), at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts=_facts(template="{{ messages }}")),
        Case(job=JOB, facts=_facts("text", chat=False)),
        Case(job=JOB.replace("Qwen/Qwen2.5-0.5B", "{path: acme/base, chat_template: Qwen/Qwen3-0.6B}"), facts=_facts()),
        Case(job=JOB + "train: {chat_template_path: Qwen/Qwen3-0.6B}\n", facts=_facts()),
        Case(script=SCRIPT.replace('split="train")', 'split="train").map(flat)'), facts=_facts("prompt")),
        Case(
            script=SCRIPT.replace("train_dataset", "processing_class=tokenizer, train_dataset"), facts=_facts("prompt")
        ),
    ),
    kinds=ANY_KIND,
)
