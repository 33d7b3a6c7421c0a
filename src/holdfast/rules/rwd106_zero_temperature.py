"""Zero temperature for a method that compares completions.

## What it does
Checks for a `temperature` of 0 or less in the config of GRPO or RLOO.

## Why is this bad
An advantage is the difference between completions of one prompt. Generation with a temperature of 0 raises ValueError
at the first step; if a server generates, all completions of a prompt are the same, and the model learns nothing.

## Fix safety
There is no automatic fix: the default is 1.0, and common lower values are 0.6 to 0.9.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import ONLINE
from holdfast.core.text.numbers import is_number

KEY = "train.temperature"


def check(job: Document) -> Iterator[Finding]:
    """Report a temperature of zero."""
    if job.get("method", None) not in ONLINE:
        return
    temperature = job.get(KEY, None)
    number = is_number(temperature)
    guarded = any(call.guard.tolerates("ValueError") for call in job.calls if call.key in ("train", "trainer"))
    if number and temperature <= 0 and not guarded:
        yield Finding(
            KEY, f"with a temperature of {temperature} all completions of a prompt are the same, if any are generated"
        )


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B-Instruct
dataset: trl-lib/DeepMath-103K
rewards: [accuracy_reward]
train:
  temperature: 0.7
"""
SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward

args = GRPOConfig(output_dir="out", temperature=0.9)
trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=accuracy_reward, args=args, train_dataset=rows)
"""

RULE = Rule(
    code="RWD106",
    name="zero-temperature",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23 on a CPU: ValueError at the first step, `temperature` has to be "
        "a strictly positive float. With vLLM it was not tried."
    ),
    kinds=ANY_KIND,
    bad=(
        Case(script=SCRIPT.replace("0.9", "0.0"), at=KEY),
        Case(job=JOB.replace("0.7", "0"), at=KEY),
    ),
    good=(Case(script=SCRIPT), Case(job=JOB), Case(job=JOB.replace("0.7", "0.01"))),
)
