"""Formatting function that returns a list or a record instead of a text.

## What it does
Checks the `return` statements of the script's own function that is passed to `SFTTrainer` as `formatting_func`.
Reports functions in which every `return` gives a list, or every `return` gives a record.

## Why is this bad
Since trl 0.17 the trainer calls the function with one row and expects one text. A function that loops over
`example["question"]` and returns a list, as was correct in 2024, gets a text and loops over its letters; the trainer
then raises AttributeError, `'list' object has no attribute 'endswith'`, or trains on nonsense.

## Fix safety
There is no automatic fix. Remove the loop, and return the text of the one row that the function gets.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document

KEY = "trainer.formatting_func"
SPELLED = {"list": "a list", "dict": "a record"}


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a formatting function that does not return text."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or not trainer.name.endswith("SFTTrainer"):
        return
    function = trainer.arguments.get("formatting_func")
    if not isinstance(function, LocalName) or function.returns not in SPELLED or trainer.guard.because:
        return
    if since(api, "trl", "0.17.0"):
        yield Finding(
            KEY,
            f"`{function.name}` returns {SPELLED[function.returns]}, but trl calls it with one row and expects one text",
            place=function.place,
        )


SCRIPT = """from trl import SFTConfig, SFTTrainer


def to_texts(example):
    texts = []
    for i in range(len(example["question"])):
        texts.append(f"Q: {example['question'][i]} A: {example['answer'][i]}")
    return texts


trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows, formatting_func=to_texts
)
"""
ONE = """from trl import SFTConfig, SFTTrainer


def to_text(example):
    parts = [example["question"], example["answer"]]
    return " ".join(parts)


trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows, formatting_func=to_text
)
"""

RULE = Rule(
    code="DAT121",
    name="batched-formatting",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The wheels of trl 0.11 to 1.16: up to 0.16.1 `_prepare_dataset` asks `isinstance(formatting_func(…), list)` and maps in batches; "
        "0.17.0 writes what it returns into the column `text`. Tried with trl 1.16: lists and records raise AttributeError."
    ),
    bad=(
        Case(script=SCRIPT, at=KEY),
        Case(script=ONE.replace('" ".join(parts)', '{"text": " ".join(parts)}'), at=KEY),
    ),
    good=(
        Case(script=ONE),
        Case(script=SCRIPT, versions={"trl": "0.16.1"}),
        Case(script=ONE.replace('" ".join(parts)', "parts[0] if parts else example")),
    ),
    kinds=PROGRAMS,
)
