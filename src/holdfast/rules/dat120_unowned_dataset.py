"""Dataset named without its owner.

## What it does
With huggingface_hub 1.16 or newer, checks for Hub datasets that a job names by one word: `dataset` and `evaluate` of
a job file, `load_dataset("imdb")`, `--dataset_name` of a command.

## Why is this bad
The Hub still redirects such a name, but datasets builds a URI from it, and huggingface_hub refuses that URI:
`HfUriError: Invalid HF URI 'hf://datasets/imdb@…'. Repository id must be 'namespace/name'`. If a folder of that name
exists where the program runs, it is loaded instead, so this is a warning.

## Fix safety
The fix is safe: the new name is the same repository.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.references import finding, once, renaming, repositories
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

REFUSED = "1.16.0"


def check(job: Document, api: Api, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report each dataset of the Hub that has no owner in its name, once."""
    if not since(api, "huggingface_hub", REFUSED):
        return
    for reference, repo in once(repositories(job, datasets)):
        if "/" in reference.name or not repo.exists:
            continue
        owned = "/" in repo.name
        fix = renaming(job, reference, repo.name, safe=True) if owned else None
        fault = f"huggingface_hub {api.versions['huggingface_hub']} does not find `{reference.name}`: the name of a dataset needs its owner"
        yield finding(reference, f"{fault}; it is `{repo.name}`" if owned else fault, fix)


SCRIPT = """from datasets import load_dataset

rows = load_dataset("imdb", split="train")
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name imdb\n"


def _facts(key: str, *, asked: str = "imdb", name: str = "stanfordnlp/imdb", exists: bool = True) -> dict[str, object]:
    reference = Reference(role="dataset", name=asked, key=key, repo_kind="dataset", split="train")
    return {"datasets": (Lookup(reference, Dataset(repo=Repo(name=name, kind="dataset", exists=exists))),)}


RULE = Rule(
    code="DAT120",
    name="unowned-dataset",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 1.16 to 2.4, `HfFileSystem.resolve_path` and `parse_hf_uri`; datasets 5.2, `HubDatasetModuleFactory.get_module`. Tried with 5.2 and 2.4 "
        "against a Hub on loopback that leads on from the bare name, and one that has it: `load_dataset`, streamed or not, `load_dataset_builder` and "
        "`get_dataset_split_names` raise HfUriError; `hf_hub_download` follows. https://github.com/huggingface/datasets/issues/8612"
    ),
    bad=(
        Case(
            script=SCRIPT,
            facts=_facts("calls.0.0"),
            at="calls.0.0",
            fixed=SCRIPT.replace("imdb", "stanfordnlp/imdb"),
        ),
        Case(
            command=COMMAND,
            facts=_facts("train.dataset_name"),
            at="train.dataset_name",
            fixed=COMMAND.replace("imdb", "stanfordnlp/imdb"),
        ),
        Case(script=SCRIPT, facts=_facts("calls.0.0", name="imdb"), at="calls.0.0"),
    ),
    good=(
        Case(script=SCRIPT, facts=_facts("calls.0.0"), versions={"huggingface_hub": "1.15.0"}),
        Case(script=SCRIPT, facts=_facts("calls.0.0", name="imdb", exists=False)),
        Case(
            script=SCRIPT.replace("imdb", "old/imdb"),
            facts=_facts("calls.0.0", asked="old/imdb"),
        ),
    ),
    kinds=ANY_KIND,
)
