"""Rows grouped by length in a trainer whose rows have no `input_ids`.

## What it does
For DPO, KTO, CPO, ORPO, TPO and reward training, checks for a `train_sampling_strategy` of `group_by_length` or
`batch_rebalance`, and for `group_by_length=True` of older releases. A column of lengths helps only with
`remove_unused_columns=False`: otherwise the trainer drops it first. With that setting, checks whether the data has
the column that `length_column_name` names. Ignores streamed data, which is not sampled.

## Why is this bad
The sampler reads a row's length from its `input_ids`. These trainers create `prompt_ids`, `chosen_ids` and the like
instead, and training ends with ValueError, "Can only automatically infer lengths for datasets whose items are
dictionaries with an 'input_ids' key", after the model is loaded and the data is tokenized.

## Fix safety
The fix is unsafe: without the setting, the rows are shuffled, and a batch contains more padding. To group them, add a
column with the number of tokens of each row, name it in `length_column_name`, and set `remove_unused_columns=False`.
"""

import re
from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import has_edits, names_of
from holdfast.catalog.calls.commands import calls_of
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Remove, Unknown

CONFIGS = frozenset({"CPOConfig", "DPOConfig", "KTOConfig", "ORPOConfig", "RewardConfig", "TPOConfig"})
STRATEGY, GROUPED = "train_sampling_strategy", "group_by_length"
BY_LENGTH = (GROUPED, "batch_rebalance")
OWN_TRAINER = re.compile(r"^\s*class \w+\(.*Trainer\b", re.MULTILINE)


def check(job: Document, api: Api, columns: tuple[str, ...] | Unknown) -> Iterator[Finding]:
    """Report each grouping by length of rows whose lengths the sampler cannot know."""
    for call in calls_of(job, api):
        name = _grouping(api, call)
        if name is None or OWN_TRAINER.search(job.text) or job.get("dataset.streaming", default=False):
            continue
        if _may_have_lengths(job, call, columns):
            continue
        key = f"{call.key}.{name}"
        what = (
            f"the trainer of `{call.name}` makes no `input_ids`, from which rows are grouped by length, and raises ValueError: "
            "leave it out, or keep a column of lengths with `remove_unused_columns=False`"
        )
        fix = Fix(f"remove `{name}`", (Remove(key),), safe=False) if has_edits(job, call) else None
        yield Finding(key, what, fix)


def _grouping(api: Api, call: Call) -> str | None:
    """Return the argument by which a config groups rows by length, as far as its release takes it."""
    signature = api.signature(call.path)
    if signature is None or not CONFIGS.intersection(names_of(api, call.path)) or call.guard.because:
        return None
    asks = {STRATEGY: call.arguments.get(STRATEGY) in BY_LENGTH, GROUPED: call.arguments.get(GROUPED) is True}
    return next((name for name, is_set in asks.items() if is_set and signature.takes(name)), None)


def _may_have_lengths(job: Document, call: Call, columns: tuple[str, ...] | Unknown) -> bool:
    """True if the data keeps a column of lengths.

    Raises:
        MissingFactError: What its columns are is not known.
    """
    if call.open or job.get(f"{call.key}.remove_unused_columns", default=True):
        return call.open
    if isinstance(columns, Unknown):
        raise MissingFactError("columns", columns.because)
    return call.arguments.get("length_column_name", "length") in columns


JOB = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
train:
  learning_rate: 1.0e-6
  train_sampling_strategy: group_by_length
"""
GROUPING = "  train_sampling_strategy: group_by_length\n"
RANDOM = JOB.replace(GROUPING, "")
KEPT = f"{JOB}  remove_unused_columns: false\n"
SCRIPT = """
from datasets import load_dataset
from trl import KTOConfig, KTOTrainer

args = KTOConfig(output_dir="out", loss_type="apo_zero_unpaired", train_sampling_strategy="batch_rebalance")
rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = KTOTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
REWARD = SCRIPT.replace('loss_type="apo_zero_unpaired", ', "").replace("KTO", "Reward")
ORPO = REWARD.replace("Reward", "ORPO").replace("trl import", "trl.experimental.orpo import")
STREAMED = SCRIPT.replace('="train")', '="train", streaming=True)').replace('"out"', '"out", max_steps=9')
PAIRS = {"columns": ("prompt", "chosen", "rejected")}

RULE = Rule(
    code="CMB111",
    name="grouping-without-lengths",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16 and transformers 5.23, `Trainer._get_train_sampler` and `LengthGroupedSampler`. Tried with a tiny model: DPO, KTO and reward "
        "training raise ValueError with both strategies, also with a column `length`; with `remove_unused_columns=False` beside that column DPO and "
        "KTO train. CPO, ORPO and TPO of `trl.experimental` raise it with both too. SFT, GRPO and RLOO train with either."
    ),
    bad=(
        Case(job=JOB, facts=PAIRS, at="train.train_sampling_strategy", fixed=RANDOM),
        Case(job=KEPT, facts=PAIRS, at="train.train_sampling_strategy", fixed=KEPT.replace(GROUPING, "")),
        Case(
            script=SCRIPT,
            facts=PAIRS,
            at="train.train_sampling_strategy",
            fixed=SCRIPT.replace(', train_sampling_strategy="batch_rebalance"', ""),
        ),
        Case(
            script=REWARD,
            facts=PAIRS,
            at="train.train_sampling_strategy",
            fixed=REWARD.replace(', train_sampling_strategy="batch_rebalance"', ""),
        ),
        Case(
            script=ORPO,
            facts=PAIRS,
            at="train.train_sampling_strategy",
            fixed=ORPO.replace(', train_sampling_strategy="batch_rebalance"', ""),
        ),
    ),
    good=(
        Case(job=RANDOM, facts=PAIRS),
        Case(job=KEPT, facts={"columns": ("prompt", "chosen", "rejected", "length")}),
        Case(job=JOB.replace("dpo", "sft"), facts={"columns": ("text",)}),
        Case(job=JOB.replace("group_by_length", "sequential"), facts=PAIRS),
        Case(script=STREAMED, facts=PAIRS),
    ),
    kinds=ANY_KIND,
)
