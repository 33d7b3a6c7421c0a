"""Early stopping by a metric of answers that the job does not compute.

## What it does
Checks `early_stopping.metric` and `train.metric_for_best_model` of a job file. If one of them is a metric of answers,
such as `eval_exact_match`, `samples.metric` must compute it. Checks `early_stopping.greater_is_better`, too: a higher
value of these metrics is better.

## Why is this bad
The trainer reads the metric after the first evaluation, and raises KeyError. With the wrong direction, training stops
when the model improves, and the worst model is kept.

## Fix safety
The fix is unsafe: to compute the metric, the model writes answers at each evaluation, which takes time.
"""

from collections.abc import Iterator

from holdfast.catalog.metrics import EVALUATED, MEASURED, OF_ANSWERS
from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Remove, Set

KEY, DIRECTION = "samples.metric", "early_stopping.greater_is_better"
STOPPING, CHOOSING = "early_stopping.metric", "train.metric_for_best_model"


def check(job: Document) -> Iterator[Finding]:
    """Report a metric of answers that is not computed, or whose direction is reversed."""
    if job.get("method", "") not in MEASURED:  # the trainers of other methods log metrics with the same names
        return
    if (measured := _measured(job)) is None:
        return
    for key in (STOPPING, CHOOSING):
        yield from _unmeasured(job, key, measured)


def _measured(job: Document) -> list[str] | None:
    """Return the metrics that the job computes of answers; None if the source hides one."""
    given = job.get(KEY, None)
    names = [given] if isinstance(given, str) else list(given) if isinstance(given, list) else []
    return names if all(isinstance(each, str) for each in names) else None


def _unmeasured(job: Document, key: str, measured: list[str]) -> Iterator[Finding]:
    metric = job.get(key, None)
    name = str(metric).removeprefix(EVALUATED)
    if name not in OF_ANSWERS:
        return
    if name not in {each.rpartition(":")[2] for each in measured}:
        fix = Fix(f"compute `{name}`", (Set(KEY, [*measured, name]),), safe=False)
        yield Finding(key, f"nothing computes `{metric}`: `{KEY}` does not name `{name}`", fix)
    elif key == STOPPING and job.get(DIRECTION, None) is False:
        fault = f"`greater_is_better` is False, but higher is better for `{metric}`: the worst model is kept"
        yield Finding(DIRECTION, fault, Fix("let the metric decide", (Remove(DIRECTION),), safe=False))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: trl-lib/Capybara, eval_fraction: 0.1}
early_stopping: {metric: eval_f1}
samples: {metric: [exact_match, f1]}
"""
BEST = JOB.replace(
    "early_stopping: {metric: eval_f1}", "train: {load_best_model_at_end: true, metric_for_best_model: f1}"
)

RULE = Rule(
    code="EVL108",
    name="unmeasured-metric",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, `_determine_best_metric`: KeyError after the first evaluation. Tried with rendered scripts and trl 1.16."
    ),
    bad=(
        Case(job=JOB.replace(", f1]", "]"), at="early_stopping.metric", fixed=JOB),
        Case(
            job=JOB.replace("samples: {metric: [exact_match, f1]}\n", ""),
            at="early_stopping.metric",
            fixed=JOB.replace("samples: {metric: [exact_match, f1]}", "samples:\n  metric: [f1]"),
        ),
        Case(job=BEST.replace(", f1]", "]"), at="train.metric_for_best_model", fixed=BEST),
        Case(job=JOB.replace("eval_f1}", "eval_f1, greater_is_better: false}"), at=DIRECTION, fixed=JOB),
    ),
    good=(
        Case(job=JOB),
        Case(
            job=JOB.replace("sft", "reward")
            .replace("eval_f1", "eval_accuracy")
            .replace("samples: {metric: [exact_match, f1]}\n", "")
        ),
        Case(job=BEST),
        Case(job=JOB.replace("eval_f1", "eval_loss")),
        Case(job=JOB.replace("eval_f1", "eval_is_short").replace("exact_match", "metrics.py:is_short")),
        Case(job=JOB.replace("eval_f1", "eval_mean_token_accuracy").replace("samples", "# samples")),
        Case(job=JOB.replace("eval_f1", "f1, greater_is_better: true")),
    ),
)
