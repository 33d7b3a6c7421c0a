"""Best model chosen by a metric that nothing computes.

## What it does
Checks `metric_for_best_model` against the keys of the dict that the script's own `compute_metrics` returns, and the
metrics that the trainer adds; without `compute_metrics`, against the latter alone. Several evaluation sets each have
metrics of their own: `eval_dataset={"code": …}` gives `eval_code_loss`, and no `eval_loss`.

## Why is this bad
The trainer reads the metric after the first evaluation, and raises KeyError: the training up to then is lost.

## Fix safety
The fix is unsafe: it writes the only metric that the function returns, and only you know which one you meant.
"""

from collections.abc import Collection, Iterator, Mapping

from holdfast.catalog.calls.own_trainers import measures_as_library
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call, LocalName
from holdfast.core.job.document import Document, Set

KEY = "train.metric_for_best_model"
BEST = "train.load_best_model_at_end"
TRAINERS = ("transformers.Trainer", "trl.SFTTrainer")
ADDED = ("loss", "runtime", "per_second", "_time", "epoch", "mean_token_accuracy", "entropy", "num_tokens")
"""Endings of the metrics that the trainer itself gives, or logs."""
OF_ALL = (*(name for name in ADDED if name != "loss"), "aux_loss")
"""Endings of those that TRL's trainer logs without the name of the evaluation set."""
DEFAULT = "loss"
"""The metric that chooses the best model by default."""
BY_POSITION = 2
"""With more positional arguments than the model and its config, one may be `compute_metrics`."""


def check(job: Document) -> Iterator[Finding]:
    """Report a metric that the script's function does not return."""
    trainer, metric = job.call("trainer"), job.get(KEY, None)
    if trainer is None or not _is_judged(job, trainer):
        return
    if sets := _evaluation_sets(job, metric, trainer):
        yield from _of_several(metric, sets)
    elif isinstance(metric, str):
        yield from _of_one(job, metric, trainer)


def _is_judged(job: Document, trainer: Call) -> bool:
    """True if a trainer evaluates by the library's own code, and a missing metric would end the program."""
    return (
        trainer.path in TRAINERS
        and measures_as_library(job, trainer)
        and not trainer.guard.tolerates("KeyError")
        and "on_evaluate" not in job.text  # a callback may add metrics
        and job.get("train.eval_strategy", "no") in ("steps", "epoch")
    )


def _evaluation_sets(job: Document, metric: object, trainer: Call) -> Mapping[object, object]:
    """Return several evaluation sets by their names, if a metric is watched; empty if there is one, or none."""
    if metric is None and job.get(BEST, None) is not True:
        return {}
    sets = trainer.arguments.get("eval_dataset")
    return sets if isinstance(sets, Mapping) else {}


def _of_one(job: Document, metric: str, trainer: Call) -> Iterator[Finding]:
    """Report a metric that neither the trainer nor the script's function computes."""
    metrics = trainer.arguments.get("compute_metrics")
    given = "compute_metrics" in job.text or trainer.open or len(trainer.positional) > BY_POSITION
    if metrics is None and not given and not metric.endswith(ADDED):
        yield Finding(KEY, f"nothing computes `{metric}`: the trainer gets no `compute_metrics`")
    if isinstance(metrics, LocalName):
        yield from _not_returned(metrics, metric)


def _not_returned(function: LocalName, metric: str) -> Iterator[Finding]:
    if not function.keys or metric.endswith((*function.keys, *ADDED)):
        return
    names = ", ".join(f"`{name}`" for name in function.keys)
    only = function.keys[0] if len(function.keys) == 1 else ""
    fix = Fix(f"choose by `{only}`", (Set(KEY, only),), safe=False) if only else None
    yield Finding(KEY, f"`{function.name}` computes no `{metric}`: it returns {names}", fix)


def _of_several(metric: object, sets: Collection[object]) -> Iterator[Finding]:
    """Report a metric that none of several evaluation sets has."""
    watched = DEFAULT if metric is None else metric
    names = [name for name in sets if isinstance(name, str)]
    if isinstance(watched, str) and len(names) == len(sets) and (fault := _fault(watched, names)):
        yield Finding(BEST if metric is None else KEY, fault)


def _fault(metric: str, sets: Collection[str]) -> str:
    watched = f"eval_{metric.removeprefix('eval_')}"
    beginnings = [f"eval_{name}_" for name in sets]
    if watched.startswith(tuple(beginnings)) or watched.endswith(OF_ALL):
        return ""
    listed = ", ".join(f"`{each}{DEFAULT}`" for each in beginnings)
    return f"no evaluation set gives `{watched}`: each of `eval_dataset` has metrics of its own, {listed} and more"


SCRIPT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

held_out = load_dataset("acme/chats", split="test")


def measure(pairs):
    return {"acc": float((pairs.predictions.argmax(-1) == pairs.label_ids).mean())}


args = SFTConfig(output_dir="out", eval_strategy="steps", metric_for_best_model="accuracy")
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=held_out, compute_metrics=measure
)
"""
UNMEASURED = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

held_out = load_dataset("acme/chats", split="test")
args = SFTConfig(output_dir="out", eval_strategy="steps", metric_for_best_model="eval_rouge")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=held_out)
"""
SEVERAL = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", eval_strategy="steps", load_best_model_at_end=True, metric_for_best_model="eval_loss")
trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset={"code": code, "chat": chat}
)
"""
OF_ONE = SEVERAL.replace('"eval_loss"', '"eval_code_loss"')
OWN = """

class Weighted(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return super().compute_loss(model, inputs, return_outputs, **kwargs)


def measure"""
WEIGHTED = SCRIPT.replace("\n\ndef measure", OWN).replace("trainer = SFTTrainer(", "trainer = Weighted(")
FIXED = SCRIPT.replace('"accuracy"', '"acc"')

RULE = Rule(
    code="EVL105",
    name="uncomputed-best-metric",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `_determine_best_metric`, which puts `eval_` before a name that lacks it. Tried with trl 1.16 and a tiny model: KeyError "
        "after the first evaluation, with the metrics that there are; also of several evaluation sets, by `eval_loss` and by none."
    ),
    bad=(
        Case(script=SCRIPT, at=KEY, fixed=FIXED),
        Case(script=UNMEASURED, at=KEY),
        Case(script=WEIGHTED, at=KEY, fixed=WEIGHTED.replace('"accuracy"', '"acc"')),
        Case(script=SEVERAL, at=KEY),
        Case(script=OF_ONE.replace("code_loss", "text_loss"), at=KEY),
        Case(script=SEVERAL.replace(', metric_for_best_model="eval_loss"', ""), at=BEST),
    ),
    good=(
        Case(script=OF_ONE),
        Case(script=OF_ONE.replace("eval_code", "chat")),
        Case(script=SEVERAL.replace('"eval_loss"', '"eval_mean_token_accuracy"')),
        Case(script=SEVERAL.replace('{"code": code, "chat": chat}', "sets")),
        Case(script=UNMEASURED.replace('"eval_rouge"', '"eval_mean_token_accuracy"')),
        Case(script=UNMEASURED.replace('eval_strategy="steps", ', "")),
        Case(script=UNMEASURED + "trainer.compute_metrics = measure\n"),
        Case(script=FIXED),
        Case(script=WEIGHTED.replace("def compute_loss", "def evaluate")),
        Case(script=FIXED.replace('"acc"', '"eval_acc"')),
        Case(script=SCRIPT.replace('"accuracy"', '"eval_loss"')),
        Case(script=SCRIPT.replace("return {", "return {**others, ")),
        Case(script=SCRIPT.replace('{"acc": float(', "metric.compute(float(").replace("}", ")")),
        Case(script=SCRIPT.replace('eval_strategy="steps", ', "")),
    ),
    kinds=PROGRAMS,
)
