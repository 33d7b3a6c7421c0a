"""Sharding option that `fsdp` does not know, or that FSDP2 no longer has.

## What it does
Checks the words of `train.fsdp` against those that transformers takes: `full_shard`, `shard_grad_op`, `auto_wrap`,
`offload`; and `no_shard`, `hybrid_shard`, `hybrid_shard_zero2`, which since 5.10 need `fsdp_config={"version": 1}`.

## Why is this bad
The config class raises ValueError. Words are separated by spaces, not by commas.

## Fix safety
The fix is safe: it replaces commas by spaces, and hyphens by underscores. It does not replace a strategy that no
longer exists.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import filterfalse

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

KEY = "train.fsdp"
ALWAYS = frozenset({"full_shard", "shard_grad_op", "auto_wrap", "offload"})
FIRST_VERSION = frozenset({"no_shard", "hybrid_shard", "hybrid_shard_zero2"})
KNOWN = ALWAYS | FIRST_VERSION


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each sharding option that does not exist."""
    words = _words(job.get(KEY, None))
    if not words or any(call.guard.tolerates("ValueError") for call in job.calls if call.key == "train"):
        return
    unknown = next(filterfalse(KNOWN.__contains__, words), None)
    if unknown is not None:
        fault = f"`fsdp` does not know {unknown!r}: it takes {', '.join(sorted(ALWAYS))}"
        yield Finding(KEY, fault, _respelling(words))
    elif _takes_second_version(job, api):
        yield from map(_gone, FIRST_VERSION.intersection(words))


def _respelling(words: list[str]) -> Fix | None:
    """Return the edit that writes the options in lower case, with underscores and spaces; None if that makes no known ones."""
    spelled = " ".join(re.split(r"[\s,;]+", " ".join(words).replace("-", "_").lower().strip()))
    return Fix(f"write `{spelled}`", (Set(KEY, spelled),)) if ALWAYS.issuperset(spelled.split()) else None


def _takes_second_version(job: Document, api: Api) -> bool:
    return bool(since(api, "transformers", "5.10.0")) and _version(job.get("train.fsdp_config", None)) == "2"


def _gone(word: str) -> Finding:
    fault = f"FSDP2 has no {word!r}: take `full_shard` or `shard_grad_op`, or set version 1 in `fsdp_config`"
    return Finding(KEY, fault)


def _words(fsdp: object) -> list[str]:
    """Return the requested options; empty where `fsdp` is only switched on or off."""
    if isinstance(fsdp, str):
        return fsdp.split()
    return [word for word in fsdp if isinstance(word, str)] if isinstance(fsdp, list) else []


def _version(config: object) -> str:
    """Return the version of FSDP; empty if a file sets it."""
    if config is None:
        return "2"
    return str(config.get("version", config.get("fsdp_version", 2))) if isinstance(config, Mapping) else ""


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  fsdp: full_shard
"""
TRAINER = """
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", fsdp="full_shard auto_wrap")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="DST103",
    name="unknown-fsdp-option",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 4.36 to 5.23, `TrainingArguments`. Twelve values were given to that of 5.23 and to TRL's "
        "`SFTConfig`: ValueError for each that is named here, also for `true` and for words with commas. Before "
        "5.10 FSDP1 was the default."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=TRAINER.replace("shard auto", "shard,auto"), at=KEY, fixed=TRAINER),
        Case(script=TRAINER.replace("full_shard auto_wrap", "hybrid_shard"), at=KEY),
        Case(script=TRAINER.replace("full_shard auto_wrap", "true"), at=KEY),
        Case(job=JOB.replace("full_shard", "full-shard"), at=KEY, fixed=JOB),
    ),
    good=(
        Case(script=TRAINER),
        Case(script=TRAINER.replace('"full_shard auto_wrap"', "True")),
        Case(script=TRAINER.replace("full_shard auto_wrap", "hybrid_shard"), versions={"transformers": "4.57.6"}),
        Case(script=TRAINER.replace('"full_shard auto_wrap"', '"no_shard", fsdp_config={"version": 1}')),
        Case(job=JOB),
    ),
)
