"""Keyword that a PyTorch optimizer does not take.

## What it does
Checks the keywords of `torch.optim.AdamW(…)`, `Adam`, `SGD`, `RMSprop`, `Adagrad`, `NAdam`, `RAdam` and `Adafactor`
against those that any release of PyTorch takes.

## Why is this bad
The optimizer raises TypeError, `got an unexpected keyword argument`, after the model is loaded. `betas` is one pair,
where a transformers config has `adam_beta1` and `adam_beta2`; the learning rate is `lr`, not `learning_rate`.

## Fix safety
The fix is unsafe: it writes the nearest name, and you may mean another one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Rename
from holdfast.core.text.nearest import nearest

MODULE: Final = "torch.optim."
EVERY: Final = ("params", "lr", "eps", "weight_decay", "foreach", "maximize", "capturable", "differentiable")
TAKES: Final[Mapping[str, tuple[str, ...]]] = {
    "Adam": (*EVERY, "betas", "amsgrad", "fused", "decoupled_weight_decay"),
    "AdamW": (*EVERY, "betas", "amsgrad", "fused"),
    "SGD": (
        "params",
        "lr",
        "momentum",
        "dampening",
        "weight_decay",
        "nesterov",
        "maximize",
        "foreach",
        "differentiable",
        "fused",
    ),
    "RMSprop": (*EVERY, "alpha", "momentum", "centered"),
    "Adagrad": (*(name for name in EVERY if name != "capturable"), "lr_decay", "initial_accumulator_value", "fused"),
    "NAdam": (*EVERY, "betas", "momentum_decay", "decoupled_weight_decay"),
    "RAdam": (*EVERY, "betas", "decoupled_weight_decay"),
    "Adafactor": ("params", "lr", "beta2_decay", "eps", "d", "weight_decay", "foreach", "maximize"),
}
"""The keywords of each optimizer; no release has removed one."""
MEANT: Final = {"learning_rate": "lr", "epsilon": "eps"}
"""Names that other libraries have for some of them."""
PAIR: Final = "betas"
"""A keyword that takes two numbers: no fix can write one number there."""


def check(job: Document) -> Iterator[Finding]:
    """Report each keyword that the optimizer does not take."""
    for call in job.calls:
        takes = _keywords(call)
        if takes and not call.own and not call.guard.tolerates("TypeError"):
            yield from (_finding(call, name, takes) for name in call.arguments if name not in takes)


def _keywords(call: Call) -> tuple[str, ...] | None:
    """Return the keywords of a PyTorch optimizer; None for any other call."""
    return TAKES.get(call.path.removeprefix(MODULE)) if call.path.startswith(MODULE) else None


def _finding(call: Call, name: str, takes: tuple[str, ...]) -> Finding:
    near = MEANT.get(name) or nearest(name, takes)
    meant = f": did you mean `{near}`?" if near else f"; it takes {', '.join(takes[1:])}"
    free = near not in (None, PAIR, *call.arguments)
    fix = Fix(f"write `{near}`", (Rename(f"{call.key}.{name}", str(near)),), safe=False) if free else None
    return Finding(f"{call.key}.{name}", f"`{call.label}` takes no `{name}`{meant}", fix)


SCRIPT = """import torch
from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/base")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, betas=(0.9, 0.95))
trainer = SFTTrainer(model, args=SFTConfig(output_dir="out"), train_dataset=rows, optimizers=(optimizer, None))
"""

RULE = Rule(
    code="ARG122",
    name="unknown-optimizer-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The signatures of torch 2.13, which are compared by `tests/rules/test_optimizers_true.py`; each bad example raises TypeError there.",
    bad=(
        Case(script=SCRIPT.replace("weight_decay", "weight_decy"), at="calls.1.weight_decy", fixed=SCRIPT),
        Case(script=SCRIPT.replace("lr=", "learning_rate="), at="calls.1.learning_rate", fixed=SCRIPT),
        Case(script=SCRIPT.replace("betas=(0.9, 0.95)", "momentum=0.9"), at="calls.1.momentum"),
        Case(script=SCRIPT.replace("betas=(0.9, 0.95)", "beta1=0.9"), at="calls.1.beta1"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("AdamW", "SGD").replace("betas=(0.9, 0.95)", "momentum=0.9")),
        Case(script=SCRIPT.replace("weight_decay=0.1", "**settings")),
        Case(
            script=SCRIPT.replace("torch.optim.AdamW", "torch.optim.Rprop").replace(
                "weight_decay=0.1", "etas=(0.5, 1.2)"
            )
        ),
    ),
    kinds=PROGRAMS,
)
