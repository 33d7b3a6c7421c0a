"""Configuration that the dataset does not have.

## What it does
Checks the configuration that a job names against those of the dataset: `dataset.config`, the `name` of
`load_dataset`, `--dataset_config`.

## Why is this bad
datasets raises `ValueError: BuilderConfig '…' not found` when it loads the data. Names are case-sensitive.

## Fix safety
The fix is unsafe: it writes a configuration whose name differs by a letter or two, and each configuration holds other
data.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from holdfast.catalog.references import found_references, key_beside, some_of
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document, Set

NAMES = ("dataset.config", "name", "config_name", "dataset_config")
NEAR = 0.8


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each configuration that the dataset does not have, once."""
    spoken = set[str]()
    for reference, dataset in found_references(job, datasets):
        config = reference.config
        if config is None or not dataset.configs or config in dataset.configs:
            continue
        key, place = key_beside(job, reference, NAMES, 1)
        if key in spoken or not _is_named(job, key, config):
            continue
        spoken.add(key)
        near = get_close_matches(config, dataset.configs, n=1, cutoff=NEAR)
        fix = Fix(f"write `{near[0]}`", (Set(key, near[0]),), safe=False) if near and place is None else None
        fault = f"`{reference.name}` has no configuration `{config}`; it has {some_of(dataset.configs)}"
        yield Finding(key, fault, fix, place=place)


def _is_named(job: Document, key: str, config: str) -> bool:
    """True if a job still names the configuration that was looked for."""
    stated = job.get(key, config)
    return not isinstance(stated, str) or stated == config or key.rpartition(".")[2].isdigit()


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/chats, config: english}
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/chats", name="english", split="train")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name acme/chats --dataset_config english\n"


def _facts(key: str, *configs: str) -> dict[str, object]:
    reference = Reference(
        role="dataset", name="acme/chats", key=key, repo_kind="dataset", split="train", config="english"
    )
    known: dict[str, dict[str, Split]] = {name: {} for name in configs}
    return {"datasets": (Lookup(reference, Dataset(configs=known, default_config=None)),)}


RULE = Rule(
    code="DAT110",
    name="unknown-configuration",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `DatasetBuilder._create_builder_config`. Tried with folders on disk and against a Hub on loopback: of a dataset with "
        "several, with one, and with none of its own (`default`), another name raises ValueError."
    ),
    bad=(
        Case(job=JOB, facts=_facts("dataset.path", "de", "en"), at="dataset.config"),
        Case(
            script=SCRIPT,
            facts=_facts("calls.0.0", "German", "English"),
            at="calls.0.name",
            fixed=SCRIPT.replace("english", "English"),
        ),
        Case(
            script=SCRIPT.replace("name=", ""),
            facts=_facts("calls.0.0", "default"),
            at="calls.0.1",
        ),
        Case(command=COMMAND, facts=_facts("train.dataset_name", "de", "en"), at="train.dataset_config"),
    ),
    good=(
        Case(job=JOB, facts=_facts("dataset.path", "english", "german")),
        Case(script=SCRIPT, facts=_facts("calls.0.0", "english", "german")),
        Case(job=JOB, facts=_facts("dataset.path")),
    ),
    kinds=ANY_KIND,
)
