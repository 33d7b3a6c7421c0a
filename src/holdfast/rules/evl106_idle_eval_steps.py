"""`eval_steps` in a trainer that never evaluates.

## What it does
Checks for `eval_steps` in a config whose `eval_strategy` is `"no"`, which is the default.

## Why is this bad
`eval_steps` sets how often to evaluate, and `eval_strategy` sets whether to evaluate. With `"no"` the training
silently ends without any evaluation: there is no `eval_loss` and no best checkpoint, and an `eval_dataset` is
tokenized for nothing.

## Fix safety
The fix is unsafe: `eval_strategy="steps"` evaluates as often as `eval_steps` says, which takes time, and the trainer
needs an `eval_dataset`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.constructions import Construction, as_handed_on, constructions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document, Set

NAMES = ("eval_strategy", "evaluation_strategy")  # the present name, and the one before transformers 4.41


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each config with `eval_steps`, but without evaluation."""
    made = {each.call.key: each for each in constructions(job, api)}
    for each in made.values():
        config = each.call.arguments.get("args")
        if isinstance(config, CallResult) and config.key in made:
            yield from _idle(job, config.key, made[config.key])


def _idle(job: Document, config: str, construction: Construction) -> Iterator[Finding]:
    often = construction.call.arguments.get("eval_steps")
    held = as_handed_on(job, config, construction.outcome.made).attributes
    name = next((name for name in NAMES if name in held and held[name].value == "no"), None)
    if isinstance(often, int | float) and name:
        fix = Fix("evaluate as often as `eval_steps` says", (Set(f"{config}.{name}", "steps"),), safe=False)
        message = f"`eval_steps` has no effect: `{name}` is 'no', so the trainer never evaluates"
        yield Finding(f"{config}.eval_steps", message, fix)


NEVER = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

rows = load_dataset("imdb")
trainer = Trainer(
    AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"),
    args=TrainingArguments("out", eval_steps=50),
    train_dataset=rows["train"],
    eval_dataset=rows["test"],
)
"""
OFTEN = NEVER.replace("eval_steps=50", 'eval_steps=50, eval_strategy="steps"')
SFT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capybara")
args = SFTConfig(output_dir="out", eval_steps=0.1, eval_strategy="no")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows["train"], eval_dataset=rows["test"])
"""
SET_LATER = SFT.replace("trainer =", 'args.eval_strategy = "steps"\ntrainer =')

RULE = Rule(
    code="EVL106",
    name="idle-eval-steps",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    kinds=PROGRAMS,
    source=(
        "`DefaultFlowCallback` of transformers 4.36 to 5.23, read: it evaluates by `eval_strategy` alone. Tried with transformers 5.23 "
        "and trl 1.16: `SFTTrainer` with `eval_steps=1` trains to its end without an evaluation, and with `eval_strategy` makes three."
    ),
    bad=(
        Case(script=NEVER, at="train.eval_steps", fixed=OFTEN),
        Case(script=SFT, at="train.eval_steps", fixed=SFT.replace('"no"', '"steps"')),
    ),
    good=(
        Case(script=OFTEN),
        Case(script=SET_LATER),
        Case(script=NEVER.replace("eval_steps=50", "eval_steps=50, **settings")),
        Case(script=NEVER.replace("eval_steps=50", 'eval_steps=50, eval_strategy="steps" if rows else "no"')),
        Case(script=NEVER.replace("eval_steps=50", "do_eval=True")),
    ),
)
