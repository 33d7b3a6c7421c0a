"""Adapter settings that the trainer cannot use.

## What it does
Checks for `sync_ref_model` with an adapter, for a rank below 1, and for `layers_to_transform` where `target_modules`
is a single text.

## Why is this bad
All of these raise while the trainer is built, after the model is loaded. With an adapter, TRL keeps no reference
model that it could synchronize.

## Fix safety
The fix is unsafe: removing `sync_ref_model` changes the training.
"""

from collections.abc import Iterator, Mapping

from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

TARGETS, LAYERS, SYNC = "peft.target_modules", "peft.layers_to_transform", "train.sync_ref_model"


def check(job: Document) -> Iterator[Finding]:
    """Report adapter settings that the trainer cannot use."""
    if not isinstance(job.get("peft"), Mapping):
        return
    targets = job.get(TARGETS, None)
    if isinstance(targets, str) and job.get(LAYERS, None) is not None:
        yield Finding(LAYERS, f"layers are only chosen among listed modules, and `target_modules` is {targets!r}")
    rank = job.get("peft.r", None)
    if isinstance(rank, int) and rank < 1:
        yield Finding("peft.r", f"the rank of an adapter is at least 1, not {rank}")
    if job.get(SYNC, default=False) is True:
        fix = Fix("leave the reference as it is", (Remove(SYNC),), safe=False)
        yield Finding(SYNC, "with an adapter there is no reference model to synchronize", fix)


ALL = """
method: dpo
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/ultrafeedback_binarized
peft:
  target_modules: all-linear
"""
LISTED = ALL.replace("all-linear", "[q_proj, v_proj]")

RULE = Rule(
    code="MOD103",
    name="untrainable-adapter",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, the trainers' `__init__`; peft 0.21, `LoraConfig` and its layers. Tried on a tiny model: `sync_ref_model` with "
        "dpo, grpo, kto."
    ),
    bad=(
        Case(job=ALL + "  layers_to_transform: [0, 1]\n", at=LAYERS),
        Case(job=ALL + "  r: 0\n", at="peft.r"),
        Case(job=ALL + "train:\n  beta: 0.1\n  sync_ref_model: true\n", at=SYNC, fixed=ALL + "train:\n  beta: 0.1\n"),
    ),
    good=(
        Case(job=ALL),
        Case(job=LISTED + "  r: 16\n  layers_to_transform: [0, 1]\n"),
        Case(job=ALL.split("peft", maxsplit=1)[0] + "train:\n  sync_ref_model: true\n"),
    ),
)
