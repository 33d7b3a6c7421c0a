"""Collator that reads columns which the trainer has dropped.

## What it does
Where `Trainer` or `SFTTrainer` gets a function of the program as `data_collator`, and data of `datasets`, checks for
columns such as `text` or `question` that the function certainly reads from each row: `[row["text"] for row in rows]`.

## Why is this bad
By default the trainer keeps only the columns that the model's `forward` takes. The first step ends with
`KeyError: 'text'`, or the training ends with ValueError,
`No columns in the dataset match the model's forward method signature`.

## Fix safety
The fix is safe: `remove_unused_columns=False` keeps all columns, which such a collator needs.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, CallResult, LocalName
from holdfast.core.job.document import Document, Set

KEY: Final = "train.remove_unused_columns"
COLLATOR: Final = "trainer.data_collator"
TRAINERS: Final = frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"})
RAW: Final = frozenset(
    {"text", "texts", "messages", "prompt", "completion", "question", "answer", "answers", "instruction", "response"}
    | {"chosen", "rejected", "sentence", "sentence1", "sentence2", "premise", "hypothesis", "content", "caption"}
    | {"conversations", "conversation", "document", "summary", "title", "passage", "translation", "article", "audio"}
    | {"dialogue", "review", "source", "solution", "system", "path", "id"}
)
"""Columns that no model of transformers 5.23 takes."""
KEPT_BY_TRL: Final = frozenset({"messages", "prompt", "completion"})
"""Those of them that `SFTTrainer` keeps where the data has images."""


def check(job: Document) -> Iterator[Finding]:
    """Report each collator that reads a column which the trainer drops."""
    trainer = _library_trainer(job)
    if trainer is None:
        return
    collator = trainer.arguments.get("data_collator")
    if not isinstance(collator, LocalName) or trainer.guard.because or not _is_dataset(trainer):
        return
    column = _dropped_column(collator, trainer)
    if column and _has_known_model(job, trainer) and _drops(job, trainer):
        why = (
            f"which `{trainer.name}` drops first, because the model does not take it: set `remove_unused_columns=False`"
        )
        what = f"`{collator.name}` reads the column `{column}`, {why}"
        yield Finding(COLLATOR, what, _keeping(job), place=collator.place)


def _keeping(job: Document) -> Fix | None:
    """Return the edit that keeps all columns; None without a config to write it in."""
    return Fix("keep all columns", (Set(KEY, value=False),)) if job.call("train") else None


def _library_trainer(job: Document) -> Call | None:
    """Return the call of a library's trainer that drops columns, if all its arguments can be seen."""
    trainer = job.call("trainer")
    if trainer is None or trainer.path not in TRAINERS or trainer.own or trainer.open:
        return None
    return trainer


def _dropped_column(collator: LocalName, trainer: Call) -> str | None:
    """Return the first column that a collator surely reads and no model takes."""
    dropped = RAW - KEPT_BY_TRL if trainer.package == "trl" else RAW
    return next(filter(dropped.__contains__, collator.element_reads), None)


def _drops(job: Document, trainer: Call) -> bool:
    """True if the config that a trainer is surely given drops columns, as it does by default."""
    config = trainer.arguments.get("args", trainer.positional[1] if len(trainer.positional) > 1 else None)
    made = job.call("train")
    written = made is not None and made.via == "call" and not made.open
    seen = config is None or (isinstance(config, CallResult) and config.key == "train" and written)
    return seen and job.get(KEY, default=True) is True


def _is_dataset(trainer: Call) -> bool:
    """True if the trainer is surely given data of `datasets`."""
    rows = trainer.arguments.get("train_dataset")
    return isinstance(rows, CallResult) and rows.path.startswith("datasets.")


def _has_known_model(job: Document, trainer: Call) -> bool:
    """True if the model is a class of transformers, with or without an adapter."""
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    if isinstance(model, str):
        return trainer.package == "trl"
    call = job.call(model.key) if isinstance(model, CallResult) else None
    if call is None or call.arguments.get("trust_remote_code"):
        return False
    return call.path == "peft.get_peft_model" or call.path.startswith("transformers.")


SCRIPT = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")


def collate(rows):
    batch = tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")
    return {**batch, "labels": batch["input_ids"].clone()}


rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = Trainer(model, TrainingArguments(output_dir="out"), train_dataset=rows, data_collator=collate)
"""
KEPT = SCRIPT.replace('"out"', '"out", remove_unused_columns=False')
BY_TRL = SCRIPT.replace("Trainer, TrainingArguments", "TrainingArguments").replace(
    "from trans", "from trl import SFTConfig, SFTTrainer\nfrom trans"
)
BY_TRL = BY_TRL.replace("trainer = Trainer", "trainer = SFTTrainer").replace(" TrainingArguments(", " SFTConfig(")
BY_TRL = BY_TRL.replace("AutoTokenizer, TrainingArguments", "AutoTokenizer")
LOOP = SCRIPT.replace('tokenizer([row["text"] for row in rows], ', "tokenizer(texts, ").replace(
    "    batch =", '    texts = []\n    for row in rows:\n        texts.append(row["text"])\n    batch ='
)

RULE = Rule(
    code="DAT130",
    name="dropped-collator-columns",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `Trainer._remove_unused_columns`. Tried with a tiny model, on plain and on tokenized data, read and streamed: `Trainer` "
        "and `SFTTrainer` raise, and train with `remove_unused_columns=False`."
    ),
    bad=(
        Case(script=SCRIPT, at=COLLATOR, fixed=KEPT),
        Case(script=LOOP, at=COLLATOR, fixed=LOOP.replace('"out"', '"out", remove_unused_columns=False')),
        Case(script=BY_TRL, at=COLLATOR, fixed=BY_TRL.replace('"out"', '"out", remove_unused_columns=False')),
    ),
    good=(
        Case(script=KEPT),
        Case(script=SCRIPT.replace('row["text"]', 'row["input_ids"]').replace("tokenizer([", "pad([")),
        Case(script=SCRIPT.replace('row["text"]', 'row.get("text", "")')),
        Case(script=SCRIPT.replace("AutoModelForCausalLM.from_pretrained", "MyModel")),
        Case(script=BY_TRL.replace('"text"', '"messages"')),
        Case(script=SCRIPT.replace('TrainingArguments(output_dir="out")', "settings.ARGS")),
        Case(script=SCRIPT.replace("rows = load_dataset", "rows = MyRows")),
    ),
    kinds=PROGRAMS,
)
