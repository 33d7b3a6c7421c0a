"""Files read from a repository that does not exist.

## What it does
Checks whether the repositories exist that a program names in `hf_hub_download`, `snapshot_download`,
`AutoConfig.from_pretrained` and similar calls. Datasets and models have rules of their own.

## Why is this bad
huggingface_hub raises RepositoryNotFoundError. A private repository that the token cannot read looks as if it did not
exist.

## Fix safety
The fix is unsafe: it writes the nearest existing name, if one is clearly the nearest, and you may mean another
repository.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import clearly_nearest, finding, found_references, nearest_instead, once
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(
    job: Document,
    datasets: Sequence[Lookup[Dataset]],
    models: Sequence[Lookup[ModelFacts]],
    repo_files: Sequence[Lookup[Repo]],
) -> Iterator[Finding]:
    """Report each missing repository that no other setting of the program names."""
    elsewhere = {(each.reference.repo_kind, each.reference.name) for each in (*datasets, *models)}
    for reference, repo in once(found_references(job, repo_files, own_token=True)):
        # A name without an owner may be a folder, where the program runs.
        if repo.exists or "/" not in reference.name or (reference.repo_kind, reference.name) in elsewhere:
            continue
        yield _absent(job, reference, repo)


def _absent(job: Document, reference: Reference, repo: Repo) -> Finding:
    near, fix = nearest_instead(job, reference, repo, clearly_nearest(reference.name, repo.nearest))
    fault = f"the Hub has no {reference.repo_kind} `{reference.name}` that you may see{near}"
    return finding(reference, fault, fix, Severity.WARNING if reference.own_token else None)


SCRIPT = """from huggingface_hub import snapshot_download

folder = snapshot_download("Qwen/Qwen25-0.5B", local_dir="base")
"""


def _facts(*nearest: str, exists: bool = False, own_token: bool = False) -> dict[str, object]:
    reference = Reference(role="file", name="Qwen/Qwen25-0.5B", key="calls.0.0", own_token=own_token)
    found = Lookup(reference, Repo(name=reference.name, exists=exists, nearest=nearest))
    return {"repo_files": (found,), "models": (), "datasets": ()}


def _named_twice() -> dict[str, object]:
    model = Reference(role="model", name="Qwen/Qwen25-0.5B", key="calls.1.0")
    return _facts() | {"models": (Lookup(model, ModelFacts(files=None, repo=Repo(name=model.name, exists=False))),)}


RULE = Rule(
    code="HUB120",
    name="absent-repository",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="huggingface_hub 2.4. Tried against a Hub on loopback: `hf_hub_download` from such a repository raises RepositoryNotFoundError.",
    bad=(
        Case(
            script=SCRIPT,
            facts=_facts("Qwen/Qwen2.5-0.5B"),
            at="calls.0.0",
            fixed=SCRIPT.replace("Qwen25", "Qwen2.5"),
        ),
        Case(
            script=SCRIPT,
            facts=_facts("Qwen/Qwen2.5-0.5B", "Qwen/Qwen3-0.5B", own_token=True),
            at="calls.0.0",
            fixed=SCRIPT.replace("Qwen25", "Qwen2.5"),
        ),
        Case(script=SCRIPT, facts=_facts(), at="calls.0.0"),
    ),
    good=(Case(script=SCRIPT, facts=_facts(exists=True)), Case(script=SCRIPT, facts=_named_twice())),
    kinds=PROGRAMS,
)
