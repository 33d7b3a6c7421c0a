"""Adapter loaded for training, but frozen.

## What it does
Checks for `PeftModel.from_pretrained` and `AutoPeftModelForCausalLM.from_pretrained` without `is_trainable=True`,
where the result is passed to a trainer.

## Why is this bad
By default, peft loads an adapter for inference: no weight has a gradient. With gradient checkpointing, which is on by
default, `SFTTrainer` and `GRPOTrainer` finish without an error, and the saved adapter is the one that was loaded.
Without it the first step raises RuntimeError, and DPO and KTO raise CheckpointError.

## Fix safety
The fix is unsafe: passing the adapter to a trainer implies that it should train, but the run is different from
before.
"""

from collections.abc import Iterator

from holdfast.catalog.models.base_models import LOADER, trainer_of_trl
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document, Set

LOADERS = ("peft.PeftModel", "peft.AutoPeftModelFor")
NAMED = 2  # the model and the name of the adapter; other positional arguments are not read


def check(job: Document) -> Iterator[Finding]:
    """Report each adapter that is loaded for training, but frozen."""
    trainer = trainer_of_trl(job)
    if trainer is None or trainer.open:
        return
    model = trainer.arguments.get("model", next(iter(trainer.positional), None))
    loaded = next((call for call in job.calls if isinstance(model, CallResult) and call.key == model.key), None)
    if loaded is None or not _is_frozen(loaded) or _is_changed(job, loaded):
        return
    fault = f"`{loaded.label}` freezes the adapter, and nothing will be trained: pass `is_trainable=True`"
    fix = Fix("load it to be trained", (Set(f"{loaded.key}.is_trainable", value=True),), safe=False)
    yield Finding(loaded.key, fault, fix, place=loaded.name_place)


def _is_frozen(call: Call) -> bool:
    is_loader = call.path.startswith(LOADERS) and call.path.endswith(LOADER)
    known = not call.open and not call.guard.because and len(call.positional) <= NAMED
    return is_loader and known and call.arguments.get("is_trainable", False) is False


def _is_changed(job: Document, loaded: Call) -> bool:
    """True if something is done to it since, such as `model.requires_grad_()`."""
    owner = loaded.path.removesuffix(LOADER)
    return any(call is not loaded and call.path.startswith((f"{owner}.", f"{loaded.path}()")) for call in job.calls)


SCRIPT = """from peft import PeftModel
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

base = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(base, "acme/adapter", is_trainable=True)
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
FROZEN = SCRIPT.replace(", is_trainable=True", "")

RULE = Rule(
    code="MOD112",
    name="dormant-adapter",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21 and trl 1.16. Tried with a tiny model and an adapter of it: after `SFTTrainer.train` and `GRPOTrainer.train` no "
        "parameter has `requires_grad`, and neither raised; with `is_trainable=True` the adapter's four do."
    ),
    bad=(Case(script=FROZEN, at="model", fixed=SCRIPT),),
    good=(
        Case(script=SCRIPT),
        Case(script=FROZEN.replace("trainer =", "model = model.merge_and_unload()\ntrainer =")),
        Case(script=FROZEN.partition("trainer")[0]),
    ),
    kinds=PROGRAMS,
)
