"""Dataset that does not exist on the Hub.

## What it does
Checks whether each dataset that a job names exists: `dataset` and `evaluate` of a job file, `load_dataset()`,
`--dataset_name` of a command. A name without an owner may be a folder where the program runs. If no such folder
exists here, the rule reports it only if the Hub has a dataset of that name with an owner.

## Why is this bad
The job fails when it loads its data: `DatasetNotFoundError`. A private dataset that the token cannot read looks as if
it did not exist.

## Fix safety
The fix is unsafe: it writes the nearest existing name, if one is clearly the nearest, and you may mean other data.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import clearly_nearest, finding, nearest_instead, once, repositories
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each dataset that does not exist, once."""
    hints = {seen.reference.name: seen.hint for seen in datasets}
    for reference, repo in once(repositories(job, datasets, own_token=True)):
        if repo.exists:
            continue
        meant = _meant(reference.name, repo)
        if "/" in reference.name or meant is not None:
            yield _absent(job, reference, repo, meant, hints[reference.name])


def _absent(job: Document, reference: Reference, repo: Repo, meant: str | None, hint: str) -> Finding:
    near, fix = nearest_instead(job, reference, repo, meant)
    sure = "/" in reference.name and not reference.own_token
    fault = f"the Hub has no dataset `{reference.name}` that you may see{near}{hint}"
    return finding(reference, fault, fix, None if sure else Severity.WARNING)


def _meant(name: str, repo: Repo) -> str | None:
    """Return the dataset that is likely meant, if there is one."""
    if "/" in name:
        return clearly_nearest(name, repo.nearest)
    owned = [each for each in repo.nearest if each.rpartition("/")[2].lower() == name.lower()]
    return owned[0] if len(owned) == 1 else None


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capibara
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capibara", split="train")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/argilla-dpo-mix-7k\n"
BARE = SCRIPT.replace("trl-lib/Capibara", "alpaca")


def _facts(key: str, *nearest: str, name: str = "trl-lib/Capibara", exists: bool = False) -> dict[str, object]:
    reference = Reference(role="dataset", name=name, key=key, repo_kind="dataset", split="train")
    repo = Repo(name=name, kind="dataset", exists=exists, nearest=nearest)
    return {"datasets": (Lookup(reference, Dataset(repo=repo)),)}


RULE = Rule(
    code="DAT107",
    name="absent-dataset",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `load_dataset`. Tried against a Hub on loopback: of a name with an owner, and of one without, it raises "
        "`DatasetNotFoundError: Dataset '…' doesn't exist on the Hub or cannot be accessed`; so it does of a private one of somebody else."
    ),
    bad=(
        Case(
            job=JOB,
            facts=_facts("dataset", "trl-lib/Capybara", "trl-lib/tldr"),
            at="dataset",
            fixed=JOB.replace("Capibara", "Capybara"),
        ),
        Case(
            script=SCRIPT,
            facts=_facts("calls.0.0", "trl-lib/Capybara", "trl-lib/tldr"),
            at="calls.0.0",
            fixed=SCRIPT.replace("Capibara", "Capybara"),
        ),
        Case(
            command=COMMAND,
            facts=_facts("train.dataset_name", name="trl-lib/argilla-dpo-mix-7k"),
            at="train.dataset_name",
        ),
        Case(
            script=BARE,
            facts=_facts("calls.0.0", "tatsu-lab/alpaca", name="alpaca"),
            at="calls.0.0",
            fixed=BARE.replace("alpaca", "tatsu-lab/alpaca"),
        ),
    ),
    good=(
        Case(job=JOB, facts=_facts("dataset", exists=True)),
        Case(script=BARE, facts=_facts("calls.0.0", "acme/my-alpacas", name="alpaca")),
        Case(job=JOB, facts={"datasets": ()}),
    ),
    kinds=ANY_KIND,
)
