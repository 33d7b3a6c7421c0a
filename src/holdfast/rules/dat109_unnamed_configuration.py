"""Dataset with several configurations, loaded without choosing one.

## What it does
Checks for datasets that have several configurations and no default, and that are loaded without a configuration.

## Why is this bad
datasets raises `ValueError: Config name is missing` when it loads the data.

## Fix safety
There is no automatic fix: only you know which configuration you meant.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references, once, some_of
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each dataset with several configurations of which none is chosen."""
    open_ones = ((reference, fact) for reference, fact in found_references(job, datasets) if reference.config is None)
    for reference, dataset in once(open_ones):
        if len(dataset.configs) > 1 and dataset.default_config is None and not reference.key.startswith("evaluate."):
            fault = (
                f"`{reference.name}` has several configurations and no default: name one of {some_of(dataset.configs)}"
            )
            yield finding(reference, fault)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: openai/gsm8k
rewards: [accuracy_reward]
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("openai/gsm8k", split="train")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name openai/gsm8k\n"


def _facts(key: str, default: str | None = None, config: str | None = None) -> dict[str, object]:
    reference = Reference(
        role="dataset", name="openai/gsm8k", key=key, repo_kind="dataset", split="train", config=config
    )
    configs: dict[str, dict[str, Split]] = {"main": {}, "socratic": {}}
    return {"datasets": (Lookup(reference, Dataset(configs=configs, default_config=default)),)}


RULE = Rule(
    code="DAT109",
    name="unnamed-configuration",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `DatasetBuilder._create_builder_config`. Tried with folders on disk and against a Hub on loopback: two configurations raise "
        "ValueError, also for a stream; one alone is taken, and so is one called `default` or marked as such."
    ),
    bad=(
        Case(job=JOB, facts=_facts("dataset"), at="dataset"),
        Case(script=SCRIPT, facts=_facts("calls.0.0"), at="calls.0.0"),
        Case(command=COMMAND, facts=_facts("train.dataset_name"), at="train.dataset_name"),
    ),
    good=(
        Case(script=SCRIPT.replace("gsm8k", 'gsm8k", "main'), facts=_facts("calls.0.0", config="main")),
        Case(job=JOB, facts=_facts("dataset", default="main")),
    ),
    kinds=ANY_KIND,
)
