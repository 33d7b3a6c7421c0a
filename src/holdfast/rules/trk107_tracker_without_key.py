"""Remote job that reports to Weights & Biases without an API key.

## What it does
For a job file that reports to wandb on another machine, checks whether `WANDB_API_KEY` is among
`environment.secrets`.

## Why is this bad
Nobody can log in on that machine. Without a key, and without a terminal to ask for one, wandb raises
`UsageError: No API key configured` when training begins: after the environment is built and the model is loaded, on
hardware that is paid for.

## Fix safety
The fix is unsafe: naming the secret passes the key on, which the report needs, but the key leaves this machine.
"""

from collections.abc import Iterator

from holdfast.catalog.environment.stated import passed_secrets
from holdfast.core.check.finding import JOB_FILES, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.run.backends import backend_of

SECRETS, KEY = "environment.secrets", "WANDB_API_KEY"
OFFLINE = ("offline", "disabled", "dryrun")


def check(job: Document) -> Iterator[Finding]:
    """Report a remote job that reports to Weights & Biases without an API key."""
    if job.get("track.with", None) != "wandb" or backend_of(job).is_here or _needs_no_secret(job):
        return
    passed_on = passed_secrets(job)
    if KEY not in passed_on:
        fix = Fix(f"pass {KEY} on", (Set(SECRETS, [*passed_on, KEY]),), safe=False)
        yield Finding("track.with", f"wandb gets no key there, and raises: name {KEY} in `{SECRETS}`", fix)


def _needs_no_secret(job: Document) -> bool:
    """True if variables hold the key, or keep wandb from reporting to its server."""
    variables = job.get("environment.variables", None)
    return isinstance(variables, dict) and (KEY in variables or variables.get("WANDB_MODE") in OFFLINE)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
track: {with: wandb}
where:
  backend: hf-jobs
  timeout: 4h
"""

RULE = Rule(
    code="TRK107",
    name="tracker-without-key",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="wandb 0.31. Tried with transformers 5.23, no key and no terminal: `train()` raises UsageError.",
    bad=(Case(job=JOB, at="track.with", fixed=JOB + "environment:\n  secrets: [WANDB_API_KEY]\n"),),
    good=(
        Case(job=JOB + "environment:\n  secrets: [WANDB_API_KEY]\n"),
        Case(job=JOB + "environment:\n  variables: {WANDB_MODE: offline}\n"),
        Case(job=JOB.replace("wandb", "trackio")),
        Case(job=JOB.partition("where")[0]),
    ),
    kinds=JOB_FILES,
)
