"""Data files that the dataset does not have.

## What it does
Checks `data_files` and `data_dir` of `load_dataset()` against the files in the dataset's repository. If the call
names no files, checks whether the repository holds anything besides documents such as a README.

## Why is this bad
For a missing file name, datasets says that it could not find the dataset on the Hub; for patterns that match nothing
it raises `DataFilesNotFoundError`, and for a folder `EmptyDatasetError`. If the same dataset was loaded before in
another way, the error is `Couldn't find cache` and does not mention files. A pattern that matches nothing is ignored
if other patterns match.

## Fix safety
There is no automatic fix; if a file of that name is in another folder, the message names it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import filterfalse

from holdfast.catalog.references import finding, found_references, is_there, key_beside, some_of
from holdfast.core.check.facts import Dataset, Split
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

WILD = "*?["
PAPERS = (".md", ".gitattributes", ".gitignore", "license")
# Signs in names that are not paths in the repository, or that are matched by other rules than these.
ELSEWHERE = ("://", "::", "{", "..")


def check(job: Document, datasets: Sequence[Lookup[Dataset]]) -> Iterator[Finding]:
    """Report files that the dataset does not have."""
    for reference, dataset in found_references(job, datasets):
        files = _files(dataset)
        if files and reference.files:
            yield from _missing_files(job, reference, files)
        elif files and not any(dataset.configs.values()) and all(map(_is_paper, files)):
            yield finding(reference, f"`{reference.name}` holds no data; it has {some_of(files)}")


def _files(dataset: Dataset) -> Collection[str]:
    """Return the names of the repository's files; none if they are not known."""
    return dataset.repo.files if dataset.repo is not None and is_there(dataset.repo) else ()


def _is_paper(name: str) -> bool:
    """True if a file describes the data and surely is not data."""
    return name.lower().endswith(PAPERS)


def _missing_files(job: Document, reference: Reference, files: Collection[str]) -> Iterator[Finding]:
    if any(map(_is_elsewhere, reference.files)):
        return
    missing = [wanted for wanted in reference.files if not _has(files, wanted)]
    named = list(filterfalse(_is_pattern, missing))
    if named or len(missing) == len(reference.files):
        key, place = key_beside(job, reference, ("data_files", "data_dir"), 3)
        fault = f"`{reference.name}` has no file {some_of(named or missing)}{_nearest(missing, files)}"
        yield Finding(key, fault, place=place)


def _is_elsewhere(name: str) -> bool:
    return name.startswith("/") or any(sign in name for sign in ELSEWHERE)


def _is_pattern(wanted: str) -> bool:
    return any(sign in wanted for sign in WILD)


def _has(files: Collection[str], wanted: str) -> bool:
    """True if a file may match a wanted name; a star also matches folders, which datasets does not always allow."""
    wanted = wanted.removeprefix("./")
    if not _is_pattern(wanted):
        return wanted in files
    nested = f"/{wanted.replace('**/', '*')}"
    return any(fnmatchcase(name, wanted) or fnmatchcase(f"/{name}", nested) for name in files)


def _nearest(wanted: Iterable[str], names: Iterable[str]) -> str:
    lasts = {name.rpartition("/")[2] for name in wanted}
    same = [name for name in names if name.rpartition("/")[2] in lasts]
    return f"; it has {some_of(same)}" if same else ""


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: acme/chats
"""
SCRIPT = """from datasets import load_dataset

rows = load_dataset("acme/chats", data_files="train.jsonl", split="train")
"""
FOLDER = """from datasets import load_dataset

rows = load_dataset("acme/chats", data_dir="english", split="train")
"""
FILES = {"README.md": 20, "data/train.jsonl": 5_000, "data/test.jsonl": 500}


def _facts(*files: str, repo: Repo | None = None) -> dict[str, object]:
    reference = Reference(
        role="dataset", name="acme/chats", key="calls.0.0", repo_kind="dataset", split="train", files=files
    )
    there = Repo(name="acme/chats", kind="dataset", files=FILES)
    return {"datasets": (Lookup(reference, Dataset(repo=repo or there)),)}


def _bare(**configs: Mapping[str, Split]) -> dict[str, object]:
    reference = Reference(role="dataset", name="acme/chats", key="dataset", repo_kind="dataset", split="train")
    repo = Repo(name="acme/chats", kind="dataset", files={"README.md": 20, ".gitattributes": 1, "LICENSE": 90})
    return {"datasets": (Lookup(reference, Dataset(repo=repo, configs=configs)),)}


RULE = Rule(
    code="DAT113",
    name="unmatched-data-files",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "datasets 5.2, `data_files.DataFilesList.from_patterns`. Tried with a folder on disk and against a Hub on loopback: a name without its folder, a "
        "pattern and a folder that fit nothing raise, and so does a list with one name that is missing; one pattern of several that fits nothing does not. Of a "
        "repository with a README alone, or a LICENSE beside it, it raises EmptyDatasetError or DataFilesNotFoundError."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts("train.jsonl"), at="calls.0.data_files"),
        Case(
            script=SCRIPT.replace("train.jsonl", "english/*.jsonl"),
            facts=_facts("english/*.jsonl"),
            at="calls.0.data_files",
        ),
        Case(script=FOLDER, facts=_facts("english/**"), at="calls.0.data_dir"),
        Case(
            script=SCRIPT.replace('"train.jsonl"', '["data/train.jsonl", "valid.jsonl"]'),
            facts=_facts("data/train.jsonl", "valid.jsonl"),
            at="calls.0.data_files",
        ),
        Case(job=JOB, facts=_bare(), at="dataset"),
    ),
    good=(
        Case(job=JOB, facts=_bare(english={"train": Split()})),
        Case(script=SCRIPT.replace("train.jsonl", "data/train.jsonl"), facts=_facts("data/train.jsonl")),
        Case(script=SCRIPT.replace("train.jsonl", "**/*.jsonl"), facts=_facts("**/*.jsonl")),
        Case(script=FOLDER.replace("english", "data"), facts=_facts("data/**")),
        Case(
            script=SCRIPT.replace('"train.jsonl"', '["*.json", "data/train.jsonl"]'),
            facts=_facts("*.json", "data/train.jsonl"),
        ),
        Case(script=SCRIPT, facts=_facts("train.jsonl", repo=Repo(name="acme/chats", kind="dataset", commit=None))),
    ),
    kinds=ANY_KIND,
)
