"""File that the repository does not have.

## What it does
Checks the files that a program requests against those of the repository, at the requested revision:
`hf_hub_download`, `AutoConfig` and similar classes, `gguf_file`, and the `allow_patterns` of `snapshot_download`.

## Why is this bad
`hf_hub_download` raises EntryNotFoundError, and `from_pretrained` raises OSError. `snapshot_download` raises nothing:
if no file matches, the returned folder lacks the files, and the program fails later, with an unrelated error.

## Fix safety
There is no automatic fix; if a file has nearly that name, the message names it.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

from holdfast.catalog.references import call_of, finding, found_references, is_there, key_beside
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

RAISES = ("hf_hub_download", "from_pretrained")
WILD = "*?["


def check(job: Document, repo_files: Sequence[Lookup[Repo]]) -> Iterator[Finding]:
    """Report files that the repository does not have."""
    for reference, repo in found_references(job, repo_files):
        missing = [name for name in reference.files if not _has(repo.files, name)]
        if missing and repo.files and is_there(repo):
            yield from _absent(job, reference, repo, missing)


def _absent(job: Document, reference: Reference, repo: Repo, missing: Sequence[str]) -> Iterator[Finding]:
    call = call_of(job, reference)
    if call is None:
        return
    key, place = key_beside(job, reference, ("filename", "gguf_file", "allow_patterns"), 1)
    if call.name in RAISES:
        near = _nearest(missing[0], repo.files)
        yield Finding(key, f"`{repo.name}` has no file `{missing[0]}`{near}", place=place)
    elif len(missing) == len(reference.files):
        fault = f"`{repo.name}` has no file like `{missing[0]}`, and nothing is downloaded"
        yield Finding(key, fault, severity=Severity.WARNING, place=place) if key else finding(reference, fault)


def _has(files: Iterable[str], wanted: str) -> bool:
    """True if a file is the one that is wanted: by its name, by a pattern, or by the folder that it is in."""
    if any(sign in wanted for sign in WILD):
        return any(fnmatchcase(name, wanted) for name in files)
    return any(name == wanted or name.startswith(wanted.rstrip("/") + "/") for name in files)


def _nearest(name: str, names: Iterable[str]) -> str:
    """Return the file that is likely meant: one in another folder, or with nearly that name."""
    names, last = list(names), name.rpartition("/")[2]
    same = [each for each in names if each.rpartition("/")[2] == last]
    near = same or get_close_matches(name, names, n=1, cutoff=0.8)
    return f"; it has `{near[0]}`" if near else ""


SCRIPT = """from huggingface_hub import hf_hub_download

weights = hf_hub_download("acme/small", "adapter/adapter_model.safetensors")
"""
SNAPSHOT = """from huggingface_hub import snapshot_download

folder = snapshot_download("acme/small", allow_patterns=["checkpoint-500/*"])
"""
CONFIG = """from transformers import AutoConfig

config = AutoConfig.from_pretrained("acme/small")
"""
FILES = {"README.md": 20, "adapter_model.safetensors": 5_000, "last-checkpoint/trainer_state.json": 100}


def _facts(*files: str, key: str = "calls.0.0", repo: Repo | None = None) -> dict[str, object]:
    reference = Reference(role="file", name="acme/small", key=key, files=files)
    return {"repo_files": (Lookup(reference, repo or Repo(name="acme/small", files=FILES)),)}


RULE = Rule(
    code="HUB116",
    name="missing-file",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4. Tried against a Hub on loopback: `hf_hub_download` of such a file raises RemoteEntryNotFoundError; "
        "`snapshot_download` whose pattern fits no file returns a folder without any."
    ),
    bad=(
        Case(script=SCRIPT, facts=_facts("adapter/adapter_model.safetensors"), at="calls.0.1"),
        Case(
            script=SCRIPT.replace('"adapter/', 'filename="adapter/'),
            facts=_facts("adapter/adapter_model.safetensors"),
            at="calls.0.filename",
        ),
        Case(script=SNAPSHOT, facts=_facts("checkpoint-500/*"), at="calls.0.allow_patterns"),
        Case(script=CONFIG, facts=_facts("config.json"), at="calls.0.0"),
    ),
    good=(
        Case(script=SCRIPT.replace("adapter/", ""), facts=_facts("adapter_model.safetensors")),
        Case(script=SNAPSHOT.replace("checkpoint-500", "last-checkpoint"), facts=_facts("last-checkpoint/*")),
        Case(script=SNAPSHOT, facts=_facts("checkpoint-500/*", "last-checkpoint/*")),
        Case(
            script=SCRIPT, facts=_facts("adapter/adapter_model.safetensors", repo=Repo(name="acme/small", commit=None))
        ),
    ),
    kinds=PROGRAMS,
)
