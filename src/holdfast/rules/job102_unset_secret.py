"""A secret that the job needs, and that is not set where holdfast runs.

## What it does
Compares the names under `environment.secrets` with the environment variables that are set.

## Why is this bad
Secrets are passed on by name, from where holdfast runs. The script stops at once where one is missing, and on a backend
that costs money its environment has been made by then.

## Fix safety
There is no automatic fix: set the variable (`export NAME=…`), or take the name out.
"""

from collections.abc import Iterator

from holdfast.core.document import Document
from holdfast.core.finding import Case, Finding, Rule, Severity


def check(job: Document, variables: frozenset[str]) -> Iterator[Finding]:
    """Object to each secret that has no value."""
    secrets = job.get("environment.secrets", None)
    for position, name in enumerate(secrets if isinstance(secrets, list) else ()):
        if isinstance(name, str) and name not in variables:
            yield Finding(f"environment.secrets.{position}", f"the environment variable {name} is not set here")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment:
  secrets: [HF_TOKEN, WANDB_API_KEY]
"""

RULE = Rule(
    code="JOB102",
    name="unset-secret",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The script that `holdfast render` writes: it looks for each secret first, and raises LookupError.",
    bad=(
        Case(job=JOB, facts={"variables": frozenset({"HF_TOKEN"})}, at="environment.secrets.1"),
        Case(job=JOB, facts={"variables": frozenset()}, at="environment.secrets.0"),
    ),
    good=(
        Case(job=JOB, facts={"variables": frozenset({"HF_TOKEN", "WANDB_API_KEY"})}),
        Case(job=JOB.partition("environment")[0], facts={"variables": frozenset()}),
    ),
)
