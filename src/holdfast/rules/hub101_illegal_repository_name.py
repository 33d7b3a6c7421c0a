"""A push to a Hub repository by a name that the Hub does not take.

## What it does
Checks that `output.push_to` is a name that a repository can have.

## Why is this bad
huggingface_hub refuses the name when the trainer makes the repository: after the model and the data were loaded.

## Fix safety
There is no automatic fix: the name is the user's to choose.
"""

import re
from collections.abc import Iterator

from holdfast.core.document import Document
from holdfast.core.finding import Case, Finding, Rule, Severity

# What huggingface_hub 2.4 takes: an optional owner and a name, of 96 characters at most each.
NAME = re.compile(r"(?:\b[\w.-]{1,96}\b/)?\b[\w.-]{1,96}\b", re.ASCII)


def check(job: Document) -> Iterator[Finding]:
    """Object to a name that no repository can have."""
    named = job.get("output.push_to", None)
    if isinstance(named, str) and not is_repository(named):
        fault = f"{named!r} is no name for a repository: write `owner/name`, of letters, digits, `-`, `_` and `.`"
        yield Finding("output.push_to", fault)


def is_repository(name: str) -> bool:
    """Tell whether the Hub takes a name for a repository."""
    return bool(NAME.fullmatch(name)) and "--" not in name and ".." not in name and not name.endswith(".git")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: me/capybara-sft
"""

RULE = Rule(
    code="HUB101",
    name="illegal-repository-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="huggingface_hub 2.4, `validate_repo_id`, which was asked about each name here.",
    bad=(
        Case(job=JOB.replace("me/capybara-sft", "me/capybara sft"), at="output.push_to"),
        Case(job=JOB.replace("me/capybara-sft", "hub/me/capybara"), at="output.push_to"),
        Case(job=JOB.replace("me/capybara-sft", "me/capybara--sft"), at="output.push_to"),
    ),
    good=(
        Case(job=JOB),
        Case(job=JOB.replace("me/capybara-sft", "capybara.sft_2")),
        Case(job=JOB.partition("output")[0]),
    ),
)
