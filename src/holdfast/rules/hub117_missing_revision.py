"""Branch, tag or commit that the repository does not have.

## What it does
Checks whether the `revision` of a model, a dataset or a file exists: `model.revision` in a job file, the argument of
`from_pretrained`, `load_dataset`, `hf_hub_download` and `snapshot_download` in a program, `--model_revision` on TRL's
command line.

## Why is this bad
huggingface_hub raises RevisionNotFoundError. datasets says that the dataset has no such revision, and transformers
that the model does not exist at all.

## Fix safety
There is no automatic fix: another revision holds other files.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import key_beside, repositories, some_of
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

REVISIONS = ("revision", "model_revision", "model.revision")


def check(
    job: Document,
    datasets: Sequence[Lookup[Dataset]],
    models: Sequence[Lookup[ModelFacts]],
    repo_files: Sequence[Lookup[Repo]],
) -> Iterator[Finding]:
    """Report each revision that the repository does not have."""
    for reference, repo in repositories(job, datasets, models, repo_files):
        if reference.revision and repo.exists and repo.commit is None:
            has = f"; it has {some_of(repo.revisions)}" if repo.revisions else ""
            key, place = key_beside(job, reference, REVISIONS)
            yield Finding(key, f"`{repo.name}` has no revision `{reference.revision}`{has}", place=place)


JOB = """
method: sft
model: {path: Qwen/Qwen2.5-0.5B, revision: v2}
dataset: trl-lib/Capybara
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capybara", split="train", revision="v2")
"""
FILE = """from huggingface_hub import hf_hub_download

weights = hf_hub_download("Qwen/Qwen2.5-0.5B", "config.json", revision="v2")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --model_revision v2 --dataset_name trl-lib/Capybara\n"
THERE = "9cf1c2e8"


def _facts(reference: Reference, commit: str | None) -> dict[str, object]:
    repo = Repo(
        name=reference.name, kind=reference.repo_kind, commit=commit, revisions=() if commit else ("main", "v1")
    )
    facts: dict[str, object] = {"datasets": (), "models": (), "repo_files": ()}
    if reference.role == "dataset":
        return {**facts, "datasets": (Lookup(reference, Dataset(repo=repo)),)}
    if reference.role == "model":
        return {**facts, "models": (Lookup(reference, ModelFacts(files=frozenset(), repo=repo)),)}
    return {**facts, "repo_files": (Lookup(reference, repo),)}


MODEL = Reference(role="model", name="Qwen/Qwen2.5-0.5B", key="model.path", revision="v2")
FLAG = Reference(role="model", name="Qwen/Qwen2.5-0.5B", key="train.model_name_or_path", revision="v2")
DATA = Reference(
    role="dataset", name="trl-lib/Capybara", key="calls.0.0", repo_kind="dataset", split="train", revision="v2"
)
READ = Reference(role="file", name="Qwen/Qwen2.5-0.5B", key="calls.0.0", files=("config.json",), revision="v2")

RULE = Rule(
    code="HUB117",
    name="missing-revision",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4 and datasets 5.2. Tried against a Hub on loopback: `hf_hub_download` raises RevisionNotFoundError, "
        "`load_dataset` DatasetNotFoundError."
    ),
    bad=(
        Case(job=JOB, facts=_facts(MODEL, None), at="model.revision"),
        Case(script=SCRIPT, facts=_facts(DATA, None), at="calls.0.revision"),
        Case(script=FILE, facts=_facts(READ, None), at="calls.0.revision"),
        Case(command=COMMAND, facts=_facts(FLAG, None), at="train.model_revision"),
    ),
    good=(
        Case(job=JOB, facts=_facts(MODEL, THERE)),
        Case(script=SCRIPT, facts=_facts(DATA, THERE)),
        Case(script=FILE, facts=_facts(READ, THERE)),
    ),
    kinds=ANY_KIND,
)
