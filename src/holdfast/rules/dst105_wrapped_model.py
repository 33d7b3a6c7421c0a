"""Model wrapped for several GPUs before the trainer gets it.

## What it does
Checks for `torch.nn.DataParallel` or `DistributedDataParallel` as the `model` of a trainer.

## Why is this bad
The trainer wraps the model itself and needs the bare model: TRL reads its `config`, which a wrapper does not have,
and raises AttributeError; `Trainer` no longer finds the columns that the model takes.

## Fix safety
There is no automatic fix: pass the unwrapped model to the trainer, and start with `accelerate launch` or `torchrun`.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

MODEL = "trainer.model"
WRAPPERS = ("DataParallel", "DistributedDataParallel")


def check(job: Document) -> Iterator[Finding]:
    """Report a wrapped model that is passed to a trainer."""
    trainer = job.call("trainer")
    if trainer is None or trainer.guard.tolerates("AttributeError"):
        return
    key, model, place = _model(job, trainer)
    name = _made_by(model)
    if name in WRAPPERS and trainer.package in ("trl", "transformers"):
        severity = Severity.ERROR if trainer.package == "trl" else Severity.WARNING
        fault = f"the trainer wraps the model itself, and cannot work with a {name} in its place"
        yield Finding(key, fault, severity=severity, place=place)


def _made_by(model: object) -> str:
    """Return the last name of what made a model; empty if that is not known."""
    return model.path.rpartition(".")[2] if isinstance(model, CallResult) else ""


def _model(job: Document, trainer: Call) -> tuple[str, object, Place | None]:
    """Return the key of the model that a trainer is given, the model, and its place if it is given by position."""
    model = job.get(MODEL)
    if isinstance(model, CallResult) or not trainer.positional:
        return MODEL, model, None
    return "trainer", trainer.positional[0], trainer.name_place


SCRIPT = """
import torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = torch.nn.DataParallel(model)
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""

RULE = Rule(
    code="DST105",
    name="wrapped-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23 on a CPU: AttributeError, `'DataParallel' object has no "
        "attribute 'config'`; with `Trainer` ValueError, no column matches. `Trainer` with "
        "`remove_unused_columns=False` was not tried: a warning there."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT, at=MODEL),
        Case(script=SCRIPT.replace("model=model", "model"), at="trainer"),
    ),
    good=(
        Case(script=SCRIPT.replace("model = torch.nn.DataParallel(model)\n", "")),
        Case(script=SCRIPT.replace("torch.nn.DataParallel(model)", "torch.compile(model)")),
    ),
)
