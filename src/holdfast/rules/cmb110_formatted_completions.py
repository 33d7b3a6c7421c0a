"""`completion_only_loss` with a formatting function.

## What it does
Checks for `completion_only_loss=True` in `SFTConfig` together with a `formatting_func` of `SFTTrainer`.

## Why is this bad
The function returns one text per row, which no longer shows where the prompt ends and the completion begins. The
trainer raises ValueError, `A formatting function was provided while completion_only_loss=True`, after the model is
loaded.

## Fix safety
The fix is unsafe: without `completion_only_loss` the model also learns the prompts. To learn only the completions,
map the rows to the columns `prompt` and `completion`, and remove the function.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import trainer_of_trl
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KEY, FUNCTION = "train.completion_only_loss", "trainer.formatting_func"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report `completion_only_loss` with a formatting function."""
    trainer = trainer_of_trl(job)
    if trainer is None or trainer.name != "SFTTrainer" or not since(api, "trl", "0.18.0"):
        return
    if job.get(KEY, None) is not True or job.get(FUNCTION, None) is None:
        return
    if job.get("train.dataset_kwargs", None) is None:
        fault = "`formatting_func` merges each row into one text, so the trainer cannot tell the completion from the prompt: it raises ValueError"
        yield Finding(KEY, fault, Fix("learn from the whole text", (Set(KEY, value=False),), safe=False))


SCRIPT = """from trl import SFTConfig, SFTTrainer


def to_text(row):
    return f"Q: {row['question']} A: {row['answer']}"


args = SFTConfig(output_dir="out", completion_only_loss=False)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, formatting_func=to_text)
"""
ONLY = SCRIPT.replace("loss=False", "loss=True")

RULE = Rule(
    code="CMB110",
    name="formatted-completions",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.18.0 to 1.16, `SFTTrainer.__init__`: not where `dataset_kwargs` has `skip_prepare_dataset`. Tried with trl 1.16 and a tiny model: "
        "ValueError with `True`; with `False` it trains."
    ),
    bad=(Case(script=ONLY, at=KEY, fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=ONLY, versions={"trl": "0.17.0"}),
        Case(script=ONLY.replace(", formatting_func=to_text", "")),
        Case(script=ONLY.replace("loss=True", 'loss=True, dataset_kwargs={"skip_prepare_dataset": True}')),
    ),
    kinds=PROGRAMS,
)
