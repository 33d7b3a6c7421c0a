"""Masked labels that `DataCollatorForLanguageModeling` overwrites.

## What it does
Checks whether a function of `map` masks the prompt in `labels` by -100, and the trainer gets
`DataCollatorForLanguageModeling(…, mlm=False)`.

## Why is this bad
This collator makes the labels itself, of all `input_ids`: the model learns the prompts too. If rows differ in length, it
raises ValueError.

## Fix safety
There is no automatic fix. `DataCollatorForSeq2Seq(tokenizer)` keeps and pads labels.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult, LocalName
from holdfast.core.job.document import Document

COLLATOR: Final = "trainer.data_collator"
OVERWRITES: Final = "transformers.DataCollatorForLanguageModeling"
TRAINERS: Final = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"})
KEEPING: Final = frozenset({"shuffle", "select", "filter", "take", "skip", "sort", "shard", "train_test_split"})
"""Methods of datasets that leave labels as they are."""


def check(job: Document) -> Iterator[Finding]:
    """Report a collator that overwrites the labels of a `map`."""
    trainer = job.call("trainer")
    if trainer is None or trainer.path not in TRAINERS or trainer.own or trainer.open or trainer.guard.because:
        return
    collator = _call_of(job, trainer.arguments.get("data_collator"))
    if collator is None or collator.path != OVERWRITES or collator.open or collator.arguments.get("mlm") is not False:
        return
    if masking := _masking(job, trainer):
        what = f"`DataCollatorForLanguageModeling` does not use the labels that `{masking.name}` masks"
        instead = "it makes labels of all `input_ids`, or raises ValueError if rows differ in length"
        yield Finding(COLLATOR, f"{what}: {instead}; use `DataCollatorForSeq2Seq(tokenizer)`, which keeps them")


def _call_of(job: Document, value: object) -> Call | None:
    return job.call(value.key) if isinstance(value, CallResult) else None


def _masking(job: Document, trainer: Call) -> LocalName | None:
    """Return the last function that made the training rows, if it masks their labels; None otherwise."""
    step = _call_of(job, trainer.arguments.get("train_dataset"))
    while step is not None and step.path.startswith("datasets.") and step.name in KEEPING:
        step = _call_of(job, step.receiver)
    if step is None or step.name != "map" or not step.path.startswith("datasets."):
        return None
    function = step.arguments.get("function", next(iter(step.positional), None))
    return function if isinstance(function, LocalName) and function.masks_prompt else None


SCRIPT = """
from datasets import load_dataset
from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")


def mask(row):
    prompt, answer = tokenizer([row["prompt"], row["completion"]])["input_ids"]
    return {"input_ids": prompt + answer, "labels": [-100] * len(prompt) + answer}


rows = load_dataset("json", data_files="rows.jsonl", split="train").map(mask).shuffle(seed=1)
collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
trainer = Trainer(load_model(), TrainingArguments("out"), train_dataset=rows, data_collator=collate)
"""
KEPT = SCRIPT.replace("DataCollatorForLanguageModeling", "DataCollatorForSeq2Seq").replace(", mlm=False", "")
SLICED = SCRIPT.replace('"labels": [-100] * len(prompt) + answer}', '"labels": labels}').replace(
    "    return", "    labels = prompt + answer\n    labels[: len(prompt)] = [-100] * len(prompt)\n    return"
)
COPIED = SCRIPT.replace("[-100] * len(prompt) + answer", "prompt + answer")
COUNTED = SLICED.replace("    labels[:", "    end = len(prompt)\n    labels[:").replace(
    "[: len(prompt)] = [-100] * len(prompt)", "[:end] = [-100] * end"
)
PADDED = SCRIPT.replace("[-100] * len(prompt) + answer", "prompt + answer + [-100] * (512 - len(prompt) - len(answer))")
FILLED = SCRIPT.replace("[-100] * len(prompt) + answer", "prompt + answer + [-100] * len(rest)").replace(
    "    return", "    rest = range(512 - len(prompt) - len(answer))\n    return"
)
FILLED_LEFT = SLICED.replace(
    "labels = prompt + answer", "missing = 512 - len(prompt)\n    labels = prompt + answer"
).replace("[: len(prompt)] = [-100] * len(prompt)", "[:missing] = [-100] * missing")
ASKED = SLICED.replace("mask(row)", "mask(row, train_on_inputs=True)").replace(
    "    labels[:", "    if not train_on_inputs:\n        labels[:"
)
CHOSEN = SCRIPT.replace("len(prompt) + answer", "len(prompt) + answer if MASKED else prompt + answer")
RESET = COUNTED.replace("    labels[:", "    if TRAIN_ON_INPUTS:\n        end = 0\n    labels[:")
BY_TRL = SCRIPT.replace("Trainer, TrainingArguments", "set_seed").replace("Trainer(", "SFTTrainer(")
BY_TRL = BY_TRL.replace("TrainingArguments(", "SFTConfig(").replace(
    "from trans", "from trl import SFTConfig, SFTTrainer\nfrom trans", 1
)

RULE = Rule(
    code="DAT132",
    name="overwritten-labels",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23, `DataCollatorForLanguageModeling.torch_call`. Tried by `Trainer` and `SFTTrainer`: "
        "a batch of one length loses the mask, others raise; `DataCollatorForSeq2Seq` keeps it."
    ),
    bad=(
        Case(script=SCRIPT, at=COLLATOR),
        Case(script=SLICED, at=COLLATOR),
        Case(script=COUNTED, at=COLLATOR),
        Case(script=BY_TRL, at=COLLATOR),
    ),
    good=(
        Case(script=KEPT),
        Case(script=COPIED),
        Case(script=PADDED),
        Case(script=FILLED),
        Case(script=FILLED_LEFT),
        Case(script=ASKED),
        Case(script=CHOSEN),
        Case(script=RESET),
        Case(script=SCRIPT.replace("mlm=False", "mlm=with_masks()")),
        Case(script=SCRIPT.replace(".map(mask)", ".map(mask).map(whole)")),
        Case(
            script=SCRIPT.replace(
                "collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)", "from mine import collate"
            )
        ),
        Case(
            script=SCRIPT.replace("import AutoTok", "import default_data_collator, AutoTok").replace(
                "=collate)", "=default_data_collator)"
            )
        ),
    ),
    kinds=PROGRAMS,
)
