"""`EarlyStoppingCallback` in a trainer that does not evaluate, or that monitors no metric.

## What it does
For a trainer with `EarlyStoppingCallback`, checks whether its config evaluates (`eval_strategy`) and names a metric
to monitor: `metric_for_best_model`, or `load_best_model_at_end`, which monitors the loss by default.

## Why is this bad
The callback reads the metric after each evaluation. It raises AssertionError when training begins, after the model
and the data are loaded; before transformers 4.49, also without `load_best_model_at_end`.

## Fix safety
The fix is safe where it monitors the evaluation loss, which is the default. Only you know how often to evaluate, and
on which data.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.constructions import Construction, as_handed_on, constructions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document, Set

CALLBACK = "EarlyStoppingCallback"
LENIENT = "4.49.0"  # from here on it does without `load_best_model_at_end`


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report early stopping without an evaluation or a metric."""
    made = {each.call.key: each for each in constructions(job, api)}
    for each in made.values():
        config = each.call.arguments.get("args")
        if _stops(each) and isinstance(config, CallResult) and config.key in made:
            held = as_handed_on(job, config.key, made[config.key].outcome.made)
            values = {name: known.value for name, known in held.attributes.items()}
            yield from _judged(api, each.call.key, config.key, values)


def _stops(construction: Construction) -> bool:
    callbacks = construction.call.arguments.get("callbacks")
    given = callbacks if isinstance(callbacks, list | tuple) else ()
    found = any(isinstance(each, CallResult) and each.path.rpartition(".")[2] == CALLBACK for each in given)
    return found and not construction.call.guard.tolerates("AssertionError")


def _judged(api: Api, trainer: str, config: str, values: Mapping[str, Any]) -> Iterator[Finding]:
    key = f"{trainer}.callbacks"
    if "no" in (values.get("eval_strategy"), values.get("evaluation_strategy")):
        yield Finding(key, f"`{CALLBACK}` needs evaluations, but `eval_strategy` is 'no'")
    elif values.get("load_best_model_at_end") is False and since(api, "transformers", LENIENT) is False:
        yield Finding(key, f"`{CALLBACK}` needs `load_best_model_at_end=True` before transformers {LENIENT}")
    elif values.get("metric_for_best_model", "") is None:
        fix = Fix("watch the evaluation loss", (Set(f"{config}.metric_for_best_model", "eval_loss"),))
        yield Finding(key, f"`{CALLBACK}` needs a metric to watch: `metric_for_best_model`", fix)


BLIND = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM, EarlyStoppingCallback, Trainer, TrainingArguments

rows = load_dataset("imdb")
trainer = Trainer(
    AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"),
    args=TrainingArguments("out"),
    train_dataset=rows["train"],
    eval_dataset=rows["test"],
    callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
)
"""
UNWATCHED = BLIND.replace('TrainingArguments("out")', 'TrainingArguments("out", eval_strategy="epoch")')
WATCHED = UNWATCHED.replace('"epoch")', '"epoch", metric_for_best_model="eval_loss")')
SET_LATER = WATCHED.replace(
    "trainer = Trainer",
    'args = TrainingArguments("out", metric_for_best_model="eval_loss")\nargs.eval_strategy = "epoch"\ntrainer = Trainer',
).replace('args=TrainingArguments("out", eval_strategy="epoch", metric_for_best_model="eval_loss")', "args=args")

RULE = Rule(
    code="EVL103",
    name="idle-early-stopping",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    kinds=PROGRAMS,
    source=(
        "`EarlyStoppingCallback.on_train_begin` of every release from transformers 4.36 on, read. Tried with transformers "
        "5.23: AssertionError in `train()` for each bad example."
    ),
    bad=(
        Case(script=BLIND, at="trainer.callbacks"),
        Case(script=UNWATCHED, at="trainer.callbacks", fixed=WATCHED),
        Case(script=WATCHED, versions={"transformers": "4.48.0"}, at="trainer.callbacks"),
    ),
    good=(
        Case(script=WATCHED),
        Case(script=SET_LATER),
        Case(script=BLIND.replace('"out")', '"out", **settings)')),
        Case(
            script=UNWATCHED.replace('"epoch")', '"epoch", save_strategy="epoch", load_best_model_at_end=True)'),
            versions={"transformers": "4.48.0"},
        ),
    ),
)
