"""Secret that is not set where holdfast runs.

## What it does
Checks the names under `environment.secrets` against the environment variables that are set.

## Why is this bad
holdfast passes secrets on by name, from its own environment. The script stops at once if one is missing, and on a
paid backend, its environment is built by then.

## Fix safety
There is no automatic fix: set the variable (`export NAME=…`), or remove the name.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, variables: frozenset[str]) -> Iterator[Finding]:
    """Report each secret that is not set."""
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
