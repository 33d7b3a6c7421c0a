"""Trackio Space that the current token cannot write to.

## What it does
Checks the Space that a job reports to: `track.space` of a job file, `trackio_space_id` of a config, `space_id` of
`trackio.init()`. Its owner must be the user of the current token, or an organization in which that user can write,
and the token must have write access.

## Why is this bad
Trackio creates the Space, or the storage behind it, when training begins: without write access that raises, and the
job ends there.

## Fix safety
There is no automatic fix: a name without an owner, `trackio`, is a Space of your own.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.hub.permissions import VALID, refusal
from holdfast.catalog.references import finding, once, stands
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Account, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, account: Account, spaces: Sequence[Lookup[Repo]]) -> Iterator[Finding]:
    """Report each Space that the account or its token may not write to."""
    references = [each.reference for each in spaces if each.reference.certain and not each.reference.own_token]
    for reference, _ in once((each, None) for each in references if stands(job, each)):
        against = refusal(account, reference.name)
        if against is not None:
            yield finding(reference, f"metrics cannot go to the Space `{reference.name}`: {against.because}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
track:
  with: trackio
  space: acme/trackio
"""
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="trackio", trackio_space_id="acme/trackio")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
INIT = """import trackio

trackio.init(project="capybara", space_id="acme/trackio")
"""
ALONE = Account(token=VALID, name="me", role="write")
MEMBER = Account(token=VALID, name="me", role="write", organizations={"acme": "write"})
READING = Account(token=VALID, name="me", role="read")


def _facts(account: Account, key: str = "track.space", name: str = "acme/trackio") -> dict[str, object]:
    reference = Reference(role="space", name=name, key=key, repo_kind="space")
    return {"account": account, "spaces": (Lookup(reference, Repo(name=name, kind="space", exists=False)),)}


RULE = Rule(
    code="TRK110",
    name="unwritable-space",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trackio 0.43, `deploy.create_space_if_not_exists`. Tried against a Hub on loopback: for another user's name, for an organization in which the "
        "user only reads, and with a reading token, it asks for a token at the terminal, and where there is none raises HfHubHTTPError (403)."
    ),
    bad=(
        Case(job=JOB, facts=_facts(ALONE), at="track.space"),
        Case(job=JOB.replace("acme/", ""), facts=_facts(READING, name="trackio"), at="track.space"),
        Case(script=SCRIPT, facts=_facts(ALONE, "train.trackio_space_id"), at="train.trackio_space_id"),
        Case(script=INIT, facts=_facts(ALONE, "calls.0.space_id"), at="calls.0.space_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(MEMBER)),
        Case(job=JOB.replace("acme/", ""), facts=_facts(ALONE, name="trackio")),
        Case(script=SCRIPT, facts=_facts(MEMBER, "train.trackio_space_id")),
    ),
    kinds=ANY_KIND,
)
