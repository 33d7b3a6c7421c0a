"""Formatting function for rows that have a prompt and a completion.

## What it does
Checks for a `formatting_func` of `SFTTrainer` whose data has the columns `prompt` and `completion`, while `SFTConfig`
does not set `completion_only_loss`.

## Why is this bad
With these two columns, the loss covers only the completions unless the config says otherwise. A formatting function
merges them into one text, and the trainer raises ValueError after the model is loaded:
`A formatting function was provided while completion_only_loss=True`, although your config never sets it.

## Fix safety
The fix is unsafe: with `completion_only_loss=False` the model also learns the prompts, which the function's text
implies. Without the function, the model learns only the completions.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import trainer_of_trl
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

ONLY, FUNCTION = "train.completion_only_loss", "trainer.formatting_func"
PAIR = frozenset({"prompt", "completion"})


def check(job: Document, api: Api, dataset: Dataset) -> Iterator[Finding]:
    """Report a formatting function that joins a prompt and its completion into one text."""
    trainer = trainer_of_trl(job)
    if trainer is None or trainer.name != "SFTTrainer" or not since(api, "trl", "0.18.0"):
        return
    if job.get(FUNCTION, None) is None or not set(dataset.readable().columns) >= PAIR:
        return
    if job.get(ONLY, None) is None and job.get("train.dataset_kwargs", None) is None:
        fault = "the data has `prompt` and `completion`, so only completions count in the loss, and this merges the two: the trainer raises ValueError"
        fix = Fix("learn from the whole text", (Set(ONLY, value=False),), safe=False) if job.call("train") else None
        yield Finding(FUNCTION, fault, fix)


SCRIPT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
args = SFTConfig(output_dir="out", completion_only_loss=False)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, formatting_func=lambda row: row["prompt"] + row["completion"])
"""
LEFT_OPEN = SCRIPT.replace(", completion_only_loss=False", "")


def _has(*columns: str) -> dict[str, object]:
    return {"dataset": Dataset(columns=columns)}


RULE = Rule(
    code="DAT125",
    name="formatted-pairs",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.18.0 to 1.16, `SFTTrainer.__init__`. Tried with trl 1.16 and a tiny model: ValueError for rows with both columns; with "
        "`completion_only_loss=False`, and for other columns, it trains."
    ),
    bad=(Case(script=LEFT_OPEN, facts=_has("prompt", "completion", "id"), at=FUNCTION, fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT, facts=_has("prompt", "completion")),
        Case(script=LEFT_OPEN, facts=_has("prompt", "answer")),
        Case(script=LEFT_OPEN, facts=_has("prompt", "completion"), versions={"trl": "0.17.0"}),
        Case(
            script=LEFT_OPEN.replace(', formatting_func=lambda row: row["prompt"] + row["completion"]', ""),
            facts=_has("prompt", "completion"),
        ),
    ),
    kinds=PROGRAMS,
)
