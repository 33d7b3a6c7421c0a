"""`greater_is_better` that selects the worst model as the best.

## What it does
Checks `greater_is_better` against `metric_for_best_model`: a lower loss is better, and a higher accuracy or F1 is
better.

## Why is this bad
`load_best_model_at_end`, `save_strategy="best"` and early stopping keep the checkpoint with the worst metric, and the
script ends without an error.

## Fix safety
The fix is safe: without `greater_is_better`, the trainer decides by the metric's name.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove

KEY, METRIC = "train.greater_is_better", "train.metric_for_best_model"
LESS = ("loss", "perplexity")
MORE = ("accuracy", "f1", "accuracies")


def check(job: Document) -> Iterator[Finding]:
    """Report a `greater_is_better` that is the opposite of the metric's direction."""
    greater = job.get(KEY, None)
    if not isinstance(greater, bool):
        return
    metric = job.get(METRIC, None) or _default_metric(job)
    if isinstance(metric, str) and metric.endswith(LESS if greater else MORE):
        which = "lower" if greater else "higher"
        fault = f"`greater_is_better` is {greater}, but {which} is better for `{metric}`: the worst model is kept"
        yield Finding(KEY, fault, Fix("let the metric's name decide", (Remove(KEY),)))


def _default_metric(job: Document) -> str | None:
    """Return the metric that chooses the best model if none is named; None if no best model is kept."""
    return "loss" if job.get("train.load_best_model_at_end", None) is True else None


SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    output_dir="out",
    eval_strategy="steps",
    load_best_model_at_end=True,
    metric_for_best_model="eval_loss",
    greater_is_better=True,
)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=held_out)
"""
FIXED = SCRIPT.replace("    greater_is_better=True,\n", "")


def _measured(script: str, metric: str) -> str:
    """Return a script that chooses by a metric of its own."""
    return script.replace('"eval_loss"', f'"{metric}"').replace("held_out)", "held_out, compute_metrics=measure)")


RULE = Rule(
    code="EVL104",
    name="reversed-best-metric",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `_determine_best_metric`, and `TrainingArguments.__post_init__`, which takes `not metric.endswith('loss')` "
        "where nothing is said. Tried: the checkpoint with the highest loss is loaded at the end."
    ),
    bad=(
        Case(script=SCRIPT, at=KEY, fixed=FIXED),
        Case(
            script=_measured(SCRIPT, "eval_accuracy").replace("better=True", "better=False"),
            at=KEY,
            fixed=_measured(FIXED, "eval_accuracy"),
        ),
    ),
    good=(
        Case(script=FIXED),
        Case(script=SCRIPT.replace("better=True", "better=False")),
        Case(script=_measured(SCRIPT, "eval_bleu")),
    ),
    kinds=ANY_KIND,
)
