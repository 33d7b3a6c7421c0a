"""Upload to a repository that does not exist and that nothing creates.

## What it does
Checks the repositories that a program uploads to with `upload_file`, `upload_folder` or `create_commit`, if it
neither creates them with `create_repo` nor pushes to them, which creates them too.

## Why is this bad
The Hub answers 404, and the upload raises RepositoryNotFoundError: after the training whose result it should save.

## Fix safety
There is no automatic fix: call `create_repo("owner/name", exist_ok=True)` before the upload. The repository is public
by default.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import call_of, finding, found_references, once
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.check.hub import PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

NEEDING = ("upload_file", "upload_folder", "create_commit")
# Words that may create a repository in a way that the calls do not show.
MAKING = ("create_repo", "push_to_hub", "duplicate", "Repository(", "move_repo")


def check(job: Document, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each upload to a repository that nothing creates."""
    if any(word in job.text for word in MAKING):
        return
    for reference, target in once(found_references(job, targets)):
        call = call_of(job, reference)
        absent = target.repo is None or not target.repo.exists
        if call is not None and call.name in NEEDING and absent and target.writable == "yes":
            yield finding(
                reference,
                f"there is no {reference.repo_kind} `{target.name}`, and nothing creates it before `{call.name}` needs it",
            )


SCRIPT = """from huggingface_hub import HfApi

HfApi().upload_folder(folder_path="out", repo_id="me/capybara-sft")
"""
MADE = SCRIPT.replace("HfApi().upload", 'HfApi().create_repo("me/capybara-sft", exist_ok=True)\nHfApi().upload')


def _facts(*, exists: bool) -> dict[str, object]:
    reference = Reference(role="target", name="me/capybara-sft", key="calls.1.repo_id")
    repo = Repo(name="me/capybara-sft") if exists else None
    return {"targets": (Lookup(reference, PushTarget(name=reference.name, namespace="me", repo=repo, writable="yes")),)}


RULE = Rule(
    code="HUB122",
    name="unmade-target",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4. Tried against a Hub on loopback: `upload_file`, `upload_folder` and `create_commit` to a repository that is not there "
        "raise RepositoryNotFoundError."
    ),
    bad=(Case(script=SCRIPT, facts=_facts(exists=False), at="calls.1.repo_id"),),
    good=(
        Case(script=SCRIPT, facts=_facts(exists=True)),
        Case(script=MADE, facts={"targets": ()}),
    ),
    kinds=PROGRAMS,
)
