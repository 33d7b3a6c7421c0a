"""Learning rate with which every training diverges.

## What it does
Checks `learning_rate` against what the optimizer tolerates. With AdamW, Adafactor, Lion, RMSprop and Adagrad, 1 or
more is an error, and 0.1 or more is a warning; with SGD, 100 or more is an error. `weight_decay` times
`learning_rate`, the fraction of each weight that a step removes, is an error from 0.1 on.

## Why is this bad
These optimizers change each weight by about `learning_rate` per step, however small or clipped the gradient is.
Weights of language models are about 0.02: after one step of 1, nothing of the model is left, and the loss is far
above that of random guessing. The usual cause is a missing exponent: 2 instead of 2e-5.

## Fix safety
There is no automatic fix. Usual values are 1e-5 to 5e-5 for a whole model, 1e-4 to 1e-3 for an adapter, and 5e-7 to
5e-6 for dpo.
"""

from collections.abc import Iterator
from math import inf

from holdfast.catalog.calls.own_optimizer import has_own_optimizer
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.numbers import is_number

KEY = "train.learning_rate"
ADAPTIVE = ("adam", "adafactor", "lion", "rmsprop", "adagrad")
DEFAULT = "adamw"  # every release has some variant of it as its default
SGD = "sgd"
NOTHING_LEFT = 1.0
"""With an adaptive optimizer: fifty times the usual size of a weight, in each step."""
SUSPECT = 0.1
DECAY, WIPED = "train.weight_decay", 0.1
MOST_OF_SGD = 100.0
TUNED_PROMPTS = ("PromptTuning", "PrefixTuning", "PromptEncoder")
"""Adapters that are trained with rates up to 0.3."""


def check(job: Document) -> Iterator[Finding]:
    """Report a learning rate that is too high for the optimizer, unless the optimizer is the script's own."""
    yield from _decayed(job)
    rate = job.get(KEY, None)
    if not is_number(rate) or not rate >= SUSPECT or has_own_optimizer(job):
        return
    optimizer = str(job.get("train.optim", DEFAULT))
    if _diverges(rate, optimizer):
        fault = f"training diverges with a learning rate of {rate:g} and {optimizer}: is an exponent missing?"
        yield Finding(KEY, fault)
    elif _is_adaptive(optimizer) and not _tunes_prompts(job):
        fault = f"a learning rate of {rate:g} with {optimizer} changes each weight by more than its size: is an exponent missing?"
        yield Finding(KEY, fault, severity=Severity.WARNING)


def _is_adaptive(optimizer: str) -> bool:
    return any(name in optimizer for name in ADAPTIVE)


def _diverges(rate: float, optimizer: str) -> bool:
    """True if every training with this learning rate diverges."""
    if _is_adaptive(optimizer):
        return rate >= NOTHING_LEFT
    return optimizer == SGD and rate >= MOST_OF_SGD


def _tunes_prompts(job: Document) -> bool:
    return any(name in job.text for name in TUNED_PROMPTS)


def _decayed(job: Document) -> Iterator[Finding]:
    """Report a weight decay that removes a tenth of each weight in each step."""
    decay, rate = job.get(DECAY, None), job.get(KEY, None)
    if isinstance(decay, int | float) and isinstance(rate, int | float) and WIPED <= decay * rate < inf:
        yield Finding(
            DECAY,
            f"a weight decay of {decay:g} with a learning rate of {rate:g} removes {decay * rate:.0%} of each weight per step",
        )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  learning_rate: 2.0
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", learning_rate=0.2, optim="paged_adamw_8bit")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""

RULE = Rule(
    code="CMB106",
    name="excessive-learning-rate",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and a tiny model, gradients clipped at 1: with AdamW, Adafactor, RMSprop and Adagrad at 1 the loss rises from 6 to "
        "more than 16 in four steps, at 1000 beyond a million; at 0.05 it falls. With SGD it falls at 2, and is 95 at 100."
    ),
    bad=(
        Case(job=JOB, at=KEY),
        Case(job=JOB.replace("2.0", "1.0e6"), at=KEY),
        Case(job=JOB.replace("2.0", "100\n  optim: sgd"), at=KEY),
        Case(script=SCRIPT, at=KEY),
        Case(job=JOB.replace("2.0", "2.0e-4\n  weight_decay: 1000.0"), at=DECAY),
    ),
    good=(
        Case(job=JOB.replace("2.0", "2.0e-5")),
        Case(job=JOB.replace("2.0", "1.0e-3\n  weight_decay: 1.0")),
        Case(job=JOB.replace("2.0", "2.0\n  optim: sgd")),
        Case(job=JOB.replace("2.0", "1.0\n  optim: schedule_free_sgd")),
        Case(
            script=SCRIPT.replace("train_dataset=rows", "train_dataset=rows, optimizers=(Prodigy(model, lr=1), None)")
        ),
        Case(script=SCRIPT.replace("=rows", "=rows, peft_config=peft.PromptTuningConfig(num_virtual_tokens=8)")),
    ),
    kinds=ANY_KIND,
)
