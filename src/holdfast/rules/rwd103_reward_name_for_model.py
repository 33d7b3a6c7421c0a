"""Name of a reward function passed as text, which is read as the name of a model.

## What it does
Checks the `reward_funcs` of a trainer for texts that are names of TRL's own rewards.

## Why is this bad
In Python a text is the id of a reward model on the Hub: the trainer requests a model `accuracy_reward` from the Hub,
and ends with OSError. Names stand for functions only on the command line (`trl grpo --reward_funcs accuracy_reward`).

## Fix safety
There is no automatic fix: import the function from `trl.rewards`, and pass it without quotes.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.given_rewards import given_rewards, rewards_place
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

KEY = "trainer.reward_funcs"
WHERE = "trl.rewards"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each text that is the name of a reward function."""
    trainer = job.call("trainer")
    if trainer is None or trainer.package != "trl" or trainer.guard.tolerates("OSError"):
        return
    texts = [each for each in given_rewards(job, trainer) if isinstance(each, str)]
    if reward := next(filter(api.names(WHERE).__contains__, texts), None):
        fault = f"{reward!r} is read as the name of a model on the Hub: import `{reward}` from {WHERE} and pass it without quotes"
        yield Finding(KEY, fault, place=rewards_place(trainer))


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import accuracy_reward

trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B", reward_funcs=accuracy_reward, args=GRPOConfig(output_dir="out"), train_dataset=rows
)
"""

RULE = Rule(
    code="RWD103",
    name="reward-name-for-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.14 to 1.16, the `__init__` of `GRPOTrainer`: a text goes to "
        "`AutoModelForSequenceClassification.from_pretrained`. Tried with 1.16: OSError for `accuracy_reward`."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace("funcs=accuracy_reward", 'funcs="accuracy_reward"'), at=KEY),
        Case(script=SCRIPT.replace("funcs=accuracy_reward", 'funcs=["think_format_reward", accuracy_reward]'), at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("funcs=accuracy_reward", 'funcs="trl-lib/reward-model"')),
    ),
)
