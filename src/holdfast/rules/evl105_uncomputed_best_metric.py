"""The best model is chosen by a metric that nothing computes.

## What it does
Compares `metric_for_best_model` with the keys of the dict that the script's own `compute_metrics` returns, and with those that the trainer adds;
where there is no `compute_metrics`, with these alone.

## Why is this bad
The trainer looks the metric up after the first evaluation, and raises KeyError: the training until then is lost.

## Fix safety
One metric alone may be meant, but which one only the user knows: unsafe.
"""

from collections.abc import Iterator

from holdfast.core.calls import LocalName
from holdfast.core.document import Document, Set
from holdfast.core.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity

KEY = "train.metric_for_best_model"
TRAINERS = ("transformers.Trainer", "trl.SFTTrainer")
BY_POSITION = 2
"""So many arguments at most are given by position where `compute_metrics` is none of them: the model, and its config."""
ADDED = ("loss", "runtime", "per_second", "_time", "epoch", "mean_token_accuracy", "entropy", "num_tokens")
"""Endings of the metrics that the trainer itself gives, or logs."""


def check(job: Document) -> Iterator[Finding]:
    """Object to a metric that the script's function does not return."""
    trainer, metric = job.call("trainer"), job.get(KEY, None)
    if (
        trainer is None
        or trainer.path not in TRAINERS
        or trainer.label != trainer.name
        or trainer.guard.tolerates("KeyError")
    ):
        return
    if "on_evaluate" in job.text:
        return  # a callback may add metrics
    metrics, evaluates = trainer.arguments.get("compute_metrics"), job.get("train.eval_strategy", "no")
    if not isinstance(metric, str) or evaluates not in ("steps", "epoch"):
        return
    given = "compute_metrics" in job.text or trainer.open or len(trainer.positional) > BY_POSITION
    if metrics is None and not given and not metric.endswith(ADDED):
        yield Finding(KEY, f"nothing computes `{metric}`: the trainer is given no `compute_metrics`")
    if not isinstance(metrics, LocalName) or not metrics.keys:
        return
    if not metric.endswith((*metrics.keys, *ADDED)):
        names = ", ".join(f"`{name}`" for name in metrics.keys)
        only = metrics.keys[0] if len(metrics.keys) == 1 else ""
        fix = Fix(f"choose by `{only}`", (Set(KEY, only),), safe=False) if only else None
        yield Finding(KEY, f"`{metrics.name}` computes no `{metric}`: it returns {names}", fix)


SCRIPT = """from trl import SFTConfig, SFTTrainer


def measure(pairs):
    return {"acc": float((pairs.predictions.argmax(-1) == pairs.label_ids).mean())}


args = SFTConfig(output_dir="out", eval_strategy="steps", metric_for_best_model="accuracy")
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=held_out, compute_metrics=measure
)
"""
UNMEASURED = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", eval_strategy="steps", metric_for_best_model="eval_rouge")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=held_out)
"""
FIXED = SCRIPT.replace('"accuracy"', '"acc"')

RULE = Rule(
    code="EVL105",
    name="uncomputed-best-metric",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `_determine_best_metric`, which puts `eval_` before a name that lacks it. Tried with trl 1.16 and a tiny model: KeyError "
        "after the first evaluation, with the metrics that there are."
    ),
    bad=(
        Case(script=SCRIPT, at=KEY, fixed=FIXED),
        Case(script=UNMEASURED, at=KEY),
    ),
    good=(
        Case(script=UNMEASURED.replace('"eval_rouge"', '"eval_mean_token_accuracy"')),
        Case(script=UNMEASURED.replace('eval_strategy="steps", ', "")),
        Case(script=UNMEASURED + "trainer.compute_metrics = measure\n"),
        Case(script=FIXED),
        Case(script=FIXED.replace('"acc"', '"eval_acc"')),
        Case(script=SCRIPT.replace('"accuracy"', '"eval_loss"')),
        Case(script=SCRIPT.replace("return {", "return {**others, ")),
        Case(script=SCRIPT.replace('{"acc": float(', "metric.compute(float(").replace("}", ")")),
        Case(script=SCRIPT.replace('eval_strategy="steps", ', "")),
    ),
    kinds=PROGRAMS,
)
