"""Repository that was renamed or moved.

## What it does
Checks whether the Hub redirects the name of a model, a dataset or a repository in the job to another name.

## Why is this bad
The old name works only until somebody else takes it: from then on, the job trains on their repository instead. Files
that are cached under one name are also downloaded again under the other.

## Fix safety
The fix is safe: the new name is the same repository.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, renaming, repositories
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(
    job: Document,
    datasets: Sequence[Lookup[Dataset]],
    models: Sequence[Lookup[ModelFacts]],
    repo_files: Sequence[Lookup[Repo]],
) -> Iterator[Finding]:
    """Report each former name of a repository."""
    for reference, repo in repositories(job, datasets, models, repo_files):
        fix = renaming(job, reference, repo.name, safe=True)
        spelled = reference.split is None or job.get(reference.key, None) != reference.split
        if repo.exists and repo.name != reference.name and spelled:
            yield finding(reference, f"`{reference.name}` is now called `{repo.name}`", fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: HuggingFaceH4/capybara
"""
SCRIPT = """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("gpt2")
"""
NOTHING: dict[str, object] = {"datasets": (), "models": (), "repo_files": ()}
DATA = Reference(role="dataset", name="HuggingFaceH4/capybara", key="dataset", repo_kind="dataset", split="train")


def _data(name: str) -> dict[str, object]:
    return {**NOTHING, "datasets": (Lookup(DATA, Dataset(repo=Repo(name=name, kind="dataset"))),)}


def _model(name: str, key: str) -> dict[str, object]:
    reference = Reference(role="model", name="gpt2", key=key)
    return {**NOTHING, "models": (Lookup(reference, ModelFacts(files=frozenset(), repo=Repo(name=name))),)}


RULE = Rule(
    code="HUB118",
    name="moved-repository",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "huggingface_hub 2.4 and datasets 5.2. Tried against a Hub on loopback that leads on with 307: `hf_hub_download` and `load_dataset` "
        "follow to the new name, and the cache keeps the files under the old one."
    ),
    bad=(
        Case(
            job=JOB,
            facts=_data("trl-lib/Capybara"),
            at="dataset",
            fixed=JOB.replace("HuggingFaceH4/capybara", "trl-lib/Capybara"),
        ),
        Case(
            script=SCRIPT,
            facts=_model("openai-community/gpt2", "calls.0.0"),
            at="calls.0.0",
            fixed=SCRIPT.replace("gpt2", "openai-community/gpt2"),
        ),
    ),
    good=(
        Case(job=JOB, facts=_data("HuggingFaceH4/capybara")),
        Case(script=SCRIPT, facts=_model("gpt2", "calls.0.0")),
    ),
    kinds=ANY_KIND,
)
