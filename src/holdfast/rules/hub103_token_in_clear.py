"""A token that stands in the job file itself.

## What it does
Looks for values of the shape of a Hugging Face token in the whole job, for `HF_TOKEN` under `environment.variables`,
and for `train.hub_token`. The value is never shown.

## Why is this bad
Job files are shared, committed and copied into every run's folder, and the rendered script holds what they hold. A
token there is known to all who can read any of them.

## Fix safety
There is no automatic fix. Make the token void on the Hub, take it out, and name its variable under
`environment.secrets`: its value then comes from where holdfast runs.
"""

import re
from collections.abc import Iterator

from holdfast.core.document import Document, Unknown, leaves, render_key
from holdfast.core.finding import Case, Finding, Rule, Severity

TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{20,}\b")
KEYS = (
    "environment.variables.HF_TOKEN",
    "environment.variables.HUGGING_FACE_HUB_TOKEN",
    "train.hub_token",
)


def check(job: Document) -> Iterator[Finding]:
    """Object to each token, by its key alone."""
    for path, value in leaves(job.values):
        key = render_key(path)
        named = key in KEYS and value and not isinstance(value, Unknown)
        if named or (isinstance(value, str) and TOKEN.search(value)):
            yield Finding(key, "a token in clear: take it out, make it void, and use `environment.secrets: [HF_TOKEN]`")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment:
  secrets: [HF_TOKEN]
"""
INVENTED = "hf_" + "x" * 34
CLEAR = JOB.replace("secrets: [HF_TOKEN]", f"variables: {{HF_TOKEN: {INVENTED}}}")

RULE = Rule(
    code="HUB103",
    name="token-in-clear",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Hugging Face's own documentation of user access tokens, which begin with `hf_`; `job.yaml` and the rendered "
        "script are kept in the run's folder as they are."
    ),
    bad=(
        Case(job=CLEAR, at="environment.variables.HF_TOKEN"),
        Case(job=JOB + f"train:\n  hub_token: {INVENTED}\n", at="train.hub_token"),
        Case(job=JOB + f"notify:\n  webhook: 'https://example.org/?key={INVENTED}'\n", at="notify.webhook"),
    ),
    good=(Case(job=JOB), Case(job=JOB.replace("secrets: [HF_TOKEN]", "variables: {HF_HOME: /data/hf_home}"))),
)
