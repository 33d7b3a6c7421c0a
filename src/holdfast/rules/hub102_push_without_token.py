"""Push to the Hub without a token.

## What it does
For a job with `output.push_to`, checks whether the training process will have a token: on this machine from the
environment or a saved login, elsewhere from `environment.secrets`.

## Why is this bad
The trainer creates the repository while it is built, and fails with 401 Unauthorized: after the environment is built
and the model and the data are loaded.

## Fix safety
The fix is unsafe: on another machine, it names `HF_TOKEN` under `environment.secrets`, which the push needs, but a
token leaves this machine. On this machine, `hf auth login` saves a token.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.run.backends import backend_of

PUSH, SECRETS = "output.push_to", "environment.secrets"


def check(job: Document, hub_token: bool) -> Iterator[Finding]:  # noqa: FBT001 - a fact, handed over by its name
    """Report a push without a token."""
    if not job.get(PUSH, None):
        return
    secrets = job.get(SECRETS, None)
    passed_on = secrets if isinstance(secrets, list) else []
    backend = backend_of(job)
    if backend.is_here and not hub_token:
        yield Finding(PUSH, "no Hub token was found: run `hf auth login`, or set HF_TOKEN")
    elif not backend.is_here and "HF_TOKEN" not in passed_on:
        fix = Fix("pass HF_TOKEN on", (Set(SECRETS, [*passed_on, "HF_TOKEN"]),), safe=False)
        yield Finding(PUSH, f"{backend.name} gets no Hub token: name HF_TOKEN in `{SECRETS}`", fix)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: me/capybara-sft
"""
AWAY = JOB + "where:\n  backend: hf-jobs\n  timeout: 4h\n"

RULE = Rule(
    code="HUB102",
    name="push-without-token",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub 2.4, `get_token` and `create_repo`. Tried: without a token and against a Hub that answers 401, "
        "a `Trainer` with `push_to_hub` raises while it is built."
    ),
    bad=(
        Case(job=JOB, facts={"hub_token": False}, at=PUSH),
        Case(
            job=AWAY,
            facts={"hub_token": True},
            at=PUSH,
            fixed=AWAY + "environment:\n  secrets: [HF_TOKEN]\n",
        ),
    ),
    good=(
        Case(job=JOB, facts={"hub_token": True}),
        Case(job=JOB.split("output", maxsplit=1)[0], facts={"hub_token": False}),
    ),
)
