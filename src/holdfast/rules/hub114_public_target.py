"""Private push to an existing public repository.

## What it does
Checks whether the repository that a job pushes to is public, where the job itself asks for a private one:
`output.private: true`, `hub_private_repo=True`, `push_to_hub(…, private=True)` or `create_repo(…, private=True)`.

## Why is this bad
The setting takes effect only when a repository is created. An existing repository stays public, without a warning:
everybody can read the model from the first push on.

## Fix safety
There is no automatic fix: make the repository private first with `HfApi().update_repo_settings(repo, private=True)`,
or push the model elsewhere.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import call_of, finding, found_references, once
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

WISHES = ("hub_private_repo", "private")
ON = (True, "True", "true")


def check(job: Document, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each private push to an existing public repository."""
    for reference, target in once(
        (reference, fact) for reference, fact in found_references(job, targets) if _is_private(job, reference)
    ):
        if target.repo and target.repo.exists and not target.repo.private:
            yield finding(
                reference,
                f"`{target.name}` exists and is public: a request for a private repository does not change it",
            )


def _is_private(job: Document, reference: Reference) -> bool:
    """True if a job says that a repository is to be private."""
    call = call_of(job, reference)
    if call is None:
        return job.get("output.private", None) is True
    return any(call.arguments.get(name) in ON for name in WISHES if isinstance(call.arguments.get(name), bool | str))


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output: {push_to: me/capybara-sft, private: true}
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara-sft", hub_private_repo=True)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
CREATED = """from huggingface_hub import create_repo

create_repo("me/capybara-sft", private=True, exist_ok=True)
"""
OPEN, CLOSED = Repo(name="me/capybara-sft"), Repo(name="me/capybara-sft", private=True)


def _facts(repo: Repo | None, key: str = "output.push_to") -> dict[str, object]:
    reference = Reference(role="target", name="me/capybara-sft", key=key)
    return {
        "targets": (Lookup(reference, PushTarget(name="me/capybara-sft", namespace="me", repo=repo, writable="yes")),)
    }


RULE = Rule(
    code="HUB114",
    name="public-target",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `create_repo`, and transformers 5.23, `Trainer.init_hf_repo`. Tried against a Hub on loopback: "
        "`create_repo(private=True, exist_ok=True)` of a public repository passes, and it is public afterwards."
    ),
    bad=(
        Case(job=JOB, facts=_facts(OPEN), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(OPEN, "train.hub_model_id"), at="train.hub_model_id"),
        Case(script=CREATED, facts=_facts(OPEN, "calls.0.0"), at="calls.0.0"),
    ),
    good=(
        Case(job=JOB, facts=_facts(CLOSED)),
        Case(job=JOB, facts=_facts(None)),
        Case(job=JOB.replace(", private: true", ""), facts=_facts(OPEN)),
        Case(script=SCRIPT.replace(", hub_private_repo=True", ""), facts=_facts(OPEN, "train.hub_model_id")),
    ),
    kinds=ANY_KIND,
)
