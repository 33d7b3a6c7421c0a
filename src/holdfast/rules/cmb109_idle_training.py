"""Training that changes no weight.

## What it does
Checks for `learning_rate=0`; for `num_train_epochs` of 0 or less without `max_steps`; for `max_steps=0`; and for a
`LoraConfig` with `lora_alpha=0` or `inference_mode=True`.

## Why is this bad
The script succeeds, with a loss in its log, and the model is unchanged. With `max_steps=0` the training ends after
its first step; -1 means no limit. An adapter and its gradients are multiplied by `lora_alpha`. `inference_mode`
freezes the adapter: without activation checkpointing the first step raises RuntimeError; with it nothing happens.

## Fix safety
There is no automatic fix. If you leave `inference_mode` out, it is false; `lora_alpha` is often once or twice `r`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.own_optimizer import has_own_optimizer
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_number

RATE, EPOCHS, STEPS = "train.learning_rate", "train.num_train_epochs", "train.max_steps"
ALPHA, FROZEN = "peft.lora_alpha", "peft.inference_mode"
FIXED_STEPS = "5.0.0"
"""From this release of transformers on, `max_steps=0` is known to differ from -1."""
TRAINED_BESIDES = ("use_dora", "modules_to_save", "trainable_token_indices", "alpha_pattern", "init_lora_weights")
"""Settings with which an adapter trains more than its two matrices, or scales them differently."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each setting with which training changes no weight."""
    if job.kind == "script" and ".train(" not in job.text:
        return
    yield from _rate_findings(job)
    yield from _length_findings(job, api)
    yield from _adapter_findings(job)


def _rate_findings(job: Document) -> Iterator[Finding]:
    own = has_own_optimizer(job)
    if _is_zero(job.get(RATE, None)) and not own:
        yield Finding(RATE, "with a learning rate of 0 no weight changes", severity=Severity.WARNING)


def _length_findings(job: Document, api: Api) -> Iterator[Finding]:
    steps, epochs = job.get(STEPS, -1), job.get(EPOCHS, None)
    if _is_zero(steps) and since(api, "transformers", FIXED_STEPS):
        yield Finding(STEPS, "`max_steps` is 0: the training ends after one step; -1 stands for no limit")
    elif is_number(epochs) and epochs <= 0 and isinstance(steps, int) and steps <= 0:
        yield Finding(EPOCHS, f"{epochs:g} epochs and no `max_steps`: the training ends before its first step")


def _adapter_findings(job: Document) -> Iterator[Finding]:
    adapter = job.call("peft")
    if adapter is None or adapter.path != "peft.LoraConfig" or adapter.open or adapter.own:
        return
    besides = any(adapter.arguments.get(name) for name in TRAINED_BESIDES)
    if _is_zero(job.get(ALPHA, None)) and not besides and job.get("peft.bias", "none") == "none":
        yield Finding(
            ALPHA, "the adapter is multiplied by `lora_alpha`, which is 0: it has no effect and gets no gradient"
        )
    if job.get(FROZEN, None) is True and "requires_grad" not in job.text:
        yield Finding(FROZEN, "`inference_mode` freezes the adapter, and nothing is trained")


def _is_zero(value: object) -> bool:
    return is_number(value) and value == 0


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train: {learning_rate: 0, num_train_epochs: 3}
"""
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", num_train_epochs=1)
adapter = LoraConfig(r=8, lora_alpha=16)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, peft_config=adapter)
trainer.train()
"""
NONE = SCRIPT.replace("alpha=16", "alpha=0")

RULE = Rule(
    code="CMB109",
    name="idle-training",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23, peft 0.21 and a tiny model, weights before and after three steps: each bad example leaves all of them as "
        "they were, with a weight decay too; only one step with `max_steps=0` may change them, at the first rate of `constant` and `cosine`. With DoRA, `modules_to_save` or `bias` an adapter with `lora_alpha=0` changes those."
    ),
    bad=(
        Case(job=JOB, at=RATE),
        Case(job=JOB.replace("rate: 0", "rate: 1.0e-4").replace("epochs: 3", "epochs: 0"), at=EPOCHS),
        Case(job=JOB.replace("rate: 0", "rate: 1.0e-4").replace("epochs: 3", "epochs: -1"), at=EPOCHS),
        Case(job=JOB.replace("rate: 0", "rate: 1.0e-4").replace("epochs: 3", "epochs: 3, max_steps: 0"), at=STEPS),
        Case(job=JOB.replace("rate: 0,", "rate: 1.0e-4,") + "peft: {r: 8, lora_alpha: 0}\n", at=ALPHA),
        Case(script=NONE, at=ALPHA),
        Case(script=SCRIPT.replace("r=8", "r=8, inference_mode=True"), at=FROZEN),
    ),
    good=(
        Case(job=JOB.replace("rate: 0", "rate: 1.0e-4")),
        Case(job=JOB.replace("rate: 0", "rate: 1.0e-4").replace("epochs: 3", "epochs: 0, max_steps: 5")),
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("epochs=1", "epochs=1, max_steps=-5")),
        Case(script=NONE.replace("alpha=0", "alpha=0, use_dora=True")),
        Case(script=NONE.replace("alpha=0", 'alpha=0, modules_to_save=["lm_head"]')),
        Case(script=SCRIPT.replace("epochs=1", "epochs=0").replace("trainer.train()", "trainer.evaluate()")),
    ),
    kinds=ANY_KIND,
)
