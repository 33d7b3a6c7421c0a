"""Reward model with more than one output.

## What it does
Checks the model of a `RewardTrainer` for `AutoModelForCausalLM`, and for `AutoModelForSequenceClassification` without
`num_labels=1`.

## Why is this bad
A reward is one number. Without `num_labels` a classifier has two outputs, and a causal model has one for each token.
Since TRL 0.29 the trainer raises ValueError: "reward models require `num_labels=1`".

## Fix safety
The fix is safe: `num_labels=1` creates the head that the trainer needs.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Set

KEY = "model.num_labels"
CLASSIFIER, CAUSAL = "AutoModelForSequenceClassification.from_pretrained", "AutoModelForCausalLM.from_pretrained"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report a reward model with more than one output."""
    trainer, model = (job.call(key) for key in ("trainer", "model"))
    if (
        trainer is None
        or model is None
        or not since(api, "trl", "0.29.0")
        or trainer.path != "trl.RewardTrainer"
        or trainer.guard.tolerates("ValueError")
        or model.guard.because
        or model.package != "transformers"
    ):
        return
    if model.path.endswith(CAUSAL):
        fault = "a causal model gives one score per token, but a reward is one per text: use a sequence classifier"
        yield Finding("model", fault, place=model.name_place)
    elif model.path.endswith(CLASSIFIER):
        yield from _classifier(job, model)


def _classifier(job: Document, model: Call) -> Iterator[Finding]:
    labels = job.get(KEY)
    described = {"config", "id2label", "label2id"} & set(model.arguments)
    fix = Fix("one output", (Set(KEY, 1),))
    if labels is ABSENT and not model.open and not described and not _saved_here(model):
        yield Finding(
            "model",
            "without `num_labels=1` this model has two outputs, but a reward is one number",
            fix,
            place=model.name_place,
        )
    elif isinstance(labels, int) and labels != 1:
        yield Finding(KEY, f"this model has {labels} outputs, but a reward is one number", fix)


def _saved_here(model: Call) -> bool:
    """True if it may be a saved reward model, whose config has one label; the base models of known owners are not."""
    path = model.positional[0] if model.positional else None
    return not (isinstance(path, str) and path.startswith(BASES))


BASES = (
    "Qwen/Qwen",
    "meta-llama/Llama",
    "meta-llama/Meta-Llama",
    "mistralai/Mistral",
    "google/gemma",
    "HuggingFaceTB/SmolLM",
    "facebook/opt-",
)

SCRIPT = """
from transformers import AutoModelForSequenceClassification
from trl import RewardConfig, RewardTrainer

model = AutoModelForSequenceClassification.from_pretrained("Qwen/Qwen2.5-0.5B", num_labels=1)
trainer = RewardTrainer(model=model, args=RewardConfig(output_dir="out"), train_dataset=rows)
"""

RULE = Rule(
    code="RWD107",
    name="reward-model-with-two-outputs",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 0.29 to 1.16, `RewardTrainer.__init__`. Tried with 1.16 and a tiny model: ValueError for a causal "
        "model and for a classifier without `num_labels`; with 1 it trains."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace(", num_labels=1", ""), at="model", fixed=SCRIPT),
        Case(script=SCRIPT.replace("num_labels=1", "num_labels=2"), at=KEY, fixed=SCRIPT),
        Case(
            script=SCRIPT.replace("ForSequenceClassification", "ForCausalLM").replace(", num_labels=1", ""), at="model"
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace(", num_labels=1", ""), versions={"trl": "0.24.0"}),
        Case(script=SCRIPT.replace("Qwen/Qwen2.5-0.5B", "me/my-reward-model").replace(", num_labels=1", "")),
    ),
)
