"""A reward function that returns no list.

## What it does
Looks at the `return` statements of the script's own reward functions: each gives one number, or there is none.

## Why is this bad
A reward function is called with all completions at once, and returns one number for each of them, in a list. One number alone, or the None of
a function that forgets to return, raises TypeError, `object is not iterable`, after the first completions were generated.

## Fix safety
There is no automatic fix. Return a list: `return [score(each) for each in completions]`.
"""

from collections.abc import Iterator

from holdfast.core.calls import LocalName
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.methods import ONLINE_TRAINERS

KEY = "trainer.reward_funcs"
TRAINERS = tuple(f"trl.{name}" for name in ONLINE_TRAINERS)
SPELLED = {"number": "one number", "nothing": "nothing"}


def check(job: Document) -> Iterator[Finding]:
    """Object to each function that gives the trainer nothing to go over."""
    trainer = job.call("trainer")
    if trainer is None or trainer.path not in TRAINERS or trainer.guard.tolerates("TypeError"):
        return
    second = trainer.positional[1] if len(trainer.positional) > 1 else None
    given = job.get(KEY, second)
    for reward in given if isinstance(given, list) else [given]:
        if isinstance(reward, LocalName) and reward.returns in SPELLED:
            what = f"`{reward.name}` returns {SPELLED[reward.returns]}, and the trainer wants a list with a number for each completion"
            given_at = None if "reward_funcs" in trainer.arguments else trainer.name_place
            yield Finding(KEY, what, place=reward.place or given_at)


SCRIPT = """from trl import GRPOConfig, GRPOTrainer


def long(completions, **kwargs):
    scores = [float(len(each)) for each in completions]
    return scores


trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B", reward_funcs=[long], args=GRPOConfig(output_dir="out"), train_dataset=rows)
"""

RULE = Rule(
    code="RWD113",
    name="reward-without-a-list",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `GRPOTrainer._calculate_rewards` and the same of RLOO. Tried with a tiny model: one number and None raise TypeError in the first "
        "step, a list trains."
    ),
    bad=(
        Case(script=SCRIPT.replace("    return scores\n", ""), at="trainer.reward_funcs"),
        Case(script=SCRIPT.replace("return scores", "return sum(scores)"), at="trainer.reward_funcs"),
        Case(script=SCRIPT.replace("return scores", "return 1.0 if scores else 0.0"), at="trainer.reward_funcs"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("return scores", "return torch.tensor(scores).tolist()")),
        Case(script=SCRIPT.replace("    return scores\n", '    raise NotImplementedError("soon")\n')),
        Case(script=SCRIPT.replace("def long", "async def long")),
    ),
    kinds=PROGRAMS,
)
