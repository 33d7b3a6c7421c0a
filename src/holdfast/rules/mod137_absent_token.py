"""`eos_token` or `pad_token` that the tokenizer does not have.

## What it does
Checks the `eos_token` and the `pad_token` of a trainer's config against the files of the model's tokenizer, if they
are on this machine.

## Why is this bad
The trainer raises ValueError after the model is loaded: `The specified eos_token is not found in the vocabulary`. The
usual cause is a token of another model family: `<|im_end|>` is Qwen's, `<|eot_id|>` is Llama's.

## Fix safety
There is no automatic fix. Name a token that the tokenizer has, or remove the argument.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import base_of, uses_own_tokenizer
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

COMPARED: Final[Mapping[str, Mapping[str, str]]] = {
    "eos_token": {"sft": "0.17.0", "reward": "0.24.0"},
    "pad_token": {"sft": "0.16.1", "reward": "0.24.0", "dpo": "0.24.0"},
}
"""The release from which on a method's trainer looks for a token in the vocabulary."""
REPLACED = ("train.chat_template_path", "trainer.data_collator")
"""Settings that add tokens before the trainer looks for the padding token, or that pad by themselves."""


def check(job: Document, api: Api, model: ModelFacts, absent_tokens: frozenset[str]) -> Iterator[Finding]:
    """Report each token that is not in the vocabulary."""
    base, method = base_of(job, model), job.get("method", None)
    if base is None or not isinstance(method, str) or not uses_own_tokenizer(job, base):
        return
    for name in COMPARED:
        token = job.get(f"train.{name}", None)
        if isinstance(token, str) and token in absent_tokens and _is_compared(job, api, name, method):
            fault = f"the tokenizer of `{base.name}` has no token {token!r}, and the trainer raises ValueError"
            yield Finding(f"train.{name}", fault)


def _is_compared(job: Document, api: Api, name: str, method: str) -> bool:
    """True if a method's trainer looks for a token in the vocabulary as it was loaded."""
    first = COMPARED[name].get(method)
    if first is None or not since(api, "trl", first):
        return False
    return name == "eos_token" or not any(job.get(key, None) for key in REPLACED)


JOB = """
method: sft
model: ./base
dataset: trl-lib/Capybara
train: {eos_token: <|im_end|>}
"""
SCRIPT = """from trl import DPOConfig, DPOTrainer

args = DPOConfig(output_dir="out", pad_token="<pad>")
trainer = DPOTrainer(model="./base", args=args, train_dataset=rows)
"""


def _facts(*absent: str) -> dict[str, object]:
    files = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
    return {"model": ModelFacts(files=files), "absent_tokens": frozenset(absent)}


RULE = Rule(
    code="MOD137",
    name="absent-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the `__init__` of `SFTTrainer`, `RewardTrainer` and `DPOTrainer`, and their messages since 0.16.1. Tried with trl 1.16 and a tiny "
        "model: ValueError for a token that `tokenizer.json` does not have; one that it has is taken."
    ),
    bad=(
        Case(job=JOB, facts=_facts("<|im_end|>"), at="train.eos_token"),
        Case(script=SCRIPT, facts=_facts("<pad>"), at="train.pad_token"),
    ),
    good=(
        Case(job=JOB, facts=_facts()),
        Case(job=JOB.replace("{eos", "{chat_template_path: other, pad"), facts=_facts("<|im_end|>")),
        Case(script=SCRIPT.replace("train_d", "processing_class=tokenizer, train_d"), facts=_facts("<pad>")),
    ),
    kinds=ANY_KIND,
)
