"""Frozen model trained without an adapter.

## What it does
Checks for `model.requires_grad_(False)`, or a loop over `model.parameters()` that sets `requires_grad` to False, on
the model of a trainer without a `peft_config`.

## Why is this bad
Nothing is left to train. With activation checkpointing, which TRL turns on, the run succeeds and the model is
unchanged; without it the first step raises RuntimeError, `element 0 of tensors does not require grad`.

## Fix safety
There is no automatic fix. Pass a `peft_config` to the trainer, freeze only some of the parameters, or remove the
line.
"""

import re
from collections.abc import Container, Iterator

from holdfast.catalog.calls.nesting import equally_deep
from holdfast.catalog.models.base_models import LOADER
from holdfast.core.check.finding import PROGRAMS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document

LOOP = re.compile(
    r"\bfor +(?:\w+ *, *)?(\w+) +in +[\w.]+\.(?:named_)?parameters\(\) *:\s+\1\.requires_grad(?: *= *False\b|_\((?:requires_grad *= *)?False\))"
)
SWITCH = "requires_grad"
FREEZING = re.compile(rf"{SWITCH}(?: *= *False\b|_\((?:{SWITCH} *= *)?False\))")
SETTING = re.compile(rf"{SWITCH}(?: *=[^=]|_\()")


def check(job: Document) -> Iterator[Finding]:
    """Report the training of a frozen model without an adapter."""
    trainer = _judged_trainer(job)
    if trainer is None:
        return
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    loader = _loader(job, model)
    frozen = _frozen(job, model) if loader else None
    if (
        loader is None
        or frozen is None
        or not equally_deep(job.text, loader, frozen)
        or trainer.arguments.get("peft_config") is not None
        or _may_adapt(job)
    ):
        return
    if trainer.open:
        raise MissingFactError("trainer.peft_config", "it may be among arguments that the source does not show")
    fault = "this freezes every weight, and the trainer gets no adapter: nothing is trained"
    yield Finding(frozen.key, fault, place=frozen.name_place)


def _judged_trainer(job: Document) -> Call | None:
    """Return the call of a library's trainer that is surely made, unless a line may leave some weights to be trained."""
    trainer = job.call("trainer")
    if trainer is None or not _is_known(trainer) or SETTING.search(FREEZING.sub("", job.text)):
        return None
    return trainer


def _loader(job: Document, model: object) -> Call | None:
    """Return the call that loads a model of transformers, if the program changes no attribute of it."""
    if not isinstance(model, CallResult) or not model.path.endswith(LOADER):
        return None
    loader = job.call(model.key)
    return loader if loader and loader.package == "transformers" and not loader.changed else None


def _is_known(trainer: Call) -> bool:
    return (
        trainer.package in ("trl", "transformers")
        and trainer.name.endswith("Trainer")
        and not trainer.own
        and not trainer.guard.because
    )


def _frozen(job: Document, model: object) -> Call | None:
    """Return the call that freezes all of a model's weights, or gives them to the loop that does."""
    loops = {1 + job.text.count("\n", 0, found.start()) for found in LOOP.finditer(job.text)}
    calls = (call for call in job.calls if call.receiver == model)
    return next((call for call in calls if _freezes(call, loops)), None)


def _freezes(call: Call, loops: Container[int | None]) -> bool:
    """True if a call freezes a model itself, or stands in one of the lines of loops that do."""
    if call.name == "requires_grad_" and False in (*call.positional, call.arguments.get(SWITCH)):
        return True
    return call.name in ("parameters", "named_parameters") and call.place.line in loops


def _may_adapt(job: Document) -> bool:
    """True if a program puts an adapter on some model, whatever becomes of it."""
    return any(call.package == "peft" or call.name.endswith("_adapter") for call in job.calls)


SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/base")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train()
"""
FROZEN = SCRIPT.replace("trainer =", "model.requires_grad_(False)\ntrainer =")
LOOPED = SCRIPT.replace("trainer =", "for weight in model.parameters():\n    weight.requires_grad = False\ntrainer =")

RULE = Rule(
    code="MOD136",
    name="frozen-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and a tiny model: SFT, DPO and GRPO end well, with every weight as it was; `activation_checkpointing=False` and "
        "`Trainer` raise RuntimeError. With a `peft_config` the adapter is trained."
    ),
    bad=(
        Case(script=FROZEN, at="calls.1"),
        Case(script=LOOPED, at="calls.1"),
        Case(
            script=f"{LOOPED}print(sum(weight.numel() for weight in model.parameters() if weight.requires_grad))\n",
            at="calls.1",
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=FROZEN.replace("(False)", "(True)")),
        Case(script=FROZEN.replace("model.requires", "if len(rows) > 9:\n    model.requires")),
        Case(script=FROZEN.replace("model.requires_grad_", "model.model.embed_tokens.requires_grad_")),
        Case(script=FROZEN.replace("trainer =", "model.lm_head.requires_grad_(True)\ntrainer =", 1)),
        Case(
            script=FROZEN.replace(
                "trainer =", "for weight in model.lm_head.parameters():\n    weight.requires_grad = True\ntrainer =", 1
            )
        ),
        Case(script=f"print(list(model.parameters()))\n{LOOPED}".replace("in model.", "in other.")),
        Case(script=LOOPED.replace("    weight.", "    if weight.dim() > 1:\n        weight.")),
        Case(
            script=FROZEN.replace("from trl", "from peft import LoraConfig\nfrom trl").replace(
                "rows)", "rows, peft_config=LoraConfig())"
            )
        ),
    ),
    kinds=PROGRAMS,
)
