"""Callback that needs an argument which the trainer no longer passes.

## What it does
Checks the methods of the program's own `TrainerCallback`s, such as `on_evaluate`, for the parameter `tokenizer`:
without a default, or None by default and then called or read. Transformers 4.46.0 passes `processing_class` instead.

## Why is this bad
The training ends when the event comes for the first time, such as after the first evaluation: with `TypeError:
on_evaluate() missing 1 required positional argument: 'tokenizer'`, or with `'NoneType' object is not callable`.

## Fix safety
There is no automatic fix. Rename the parameter to `processing_class`, and its uses with it.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

EVENT: Final = "transformers.TrainerCallback.on_"
OLD, NEW, SINCE = "tokenizer", "processing_class", "4.46.0"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each callback method that needs an argument which the trainer does not pass."""
    if not since(api, "transformers", SINCE):
        return
    for override in job.overrides:
        if override.path.startswith(EVENT) and OLD in override.needed and not override.guard.because:
            passes = f"the trainer of transformers {api.versions['transformers']} passes `{NEW}` and no `{OLD}`"
            yield Finding(
                override.key, f"`{override.label}()` needs `{OLD}`: {passes}; rename it", place=override.place
            )


SCRIPT = """
from transformers import Trainer, TrainerCallback, TrainingArguments


class Sample(TrainerCallback):
    def on_evaluate(self, args, state, control, model, tokenizer, **kwargs):
        print(tokenizer.decode(model.generate(max_new_tokens=8)[0]))


args = TrainingArguments(output_dir="out")
trainer = Trainer(model=model, args=args, train_dataset=rows, callbacks=[Sample()])
trainer.train()
"""
NONE = SCRIPT.replace("model, tokenizer,", "model=None, tokenizer=None,")

RULE = Rule(
    code="ARG127",
    name="unpassed-callback-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "`CallbackHandler.call_event` in the wheels of transformers 4.45.2, which passes `tokenizer`, and 4.46.0, which passes "
        "`processing_class`. Tried with transformers 5.23 and a tiny model, with `tokenizer=None`: TypeError after the first evaluation."
    ),
    bad=(
        Case(script=SCRIPT, at="overrides.0"),
        Case(script=NONE, at="overrides.0"),
        Case(script=SCRIPT, at="overrides.0", versions={"transformers": "4.46.1"}),
    ),
    good=(
        Case(script=SCRIPT, versions={"transformers": "4.45.2"}),
        Case(script=SCRIPT.replace("tokenizer", "processing_class")),
        Case(script=NONE.replace("        print", "        tokenizer = tokenizer or processing_class\n        print")),
        Case(script=NONE.replace("        print", "        if tokenizer is not None:\n            print")),
    ),
    kinds=PROGRAMS,
)
