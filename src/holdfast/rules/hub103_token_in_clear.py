"""A token that stands in the job file or the script itself.

## What it does
Looks for what has the shape of a Hugging Face token: in a job anywhere, also under `environment.variables` and in
`train.hub_token`, in a script in its whole text, comments as well. A row of one and the same letter, as in examples, is no token
there. The value is never shown.

## Why is this bad
Job files and scripts are shared and committed, and a job on the Hub shows its script. A token there is known to all who can
read any of them.

## Fix safety
There is no automatic fix. Make the token void on the Hub and take it out. A job names its variable under
`environment.secrets`; a script needs nothing in its place, for the libraries read `HF_TOKEN` themselves.
"""

import re
from collections.abc import Iterator

from holdfast.core.document import Document, Unknown, leaves, render_key
from holdfast.core.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.notebook import is_notebook
from holdfast.core.text import LineIndex

TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{20,}\b")
KEYS = (
    "environment.variables.HF_TOKEN",
    "environment.variables.HUGGING_FACE_HUB_TOKEN",
    "train.hub_token",
)


# A token has many different characters; what has few is a stand-in for one.
FEW = 8


def check(job: Document) -> Iterator[Finding]:
    """Object to each token, by its key or its place alone."""
    if job.kind == "script":
        yield from _in_text(job)
        return
    for path, value in leaves(job.values):
        key = render_key(path)
        named = key in KEYS and value and not isinstance(value, Unknown)
        if named or (isinstance(value, str) and TOKEN.search(value)):
            yield Finding(
                key, "a token in plain text: remove it, revoke it on the Hub, and use `environment.secrets: [HF_TOKEN]`"
            )


def _in_text(job: Document) -> Iterator[Finding]:
    for found in TOKEN.finditer(job.text):
        if len(set(found[0])) > FEW:
            place = None if is_notebook(job.path) else LineIndex(job.text).place(job.path, *found.span())
            fault = "a token in plain text: remove it and revoke it on the Hub; `HF_TOKEN` is read from the environment"
            yield Finding("environment", fault, place=place)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
environment:
  secrets: [HF_TOKEN]
"""
INVENTED = "hf_" + "x" * 34
CLEAR = JOB.replace("secrets: [HF_TOKEN]", f"variables: {{HF_TOKEN: {INVENTED}}}")

LETTERS = "".join(chr(ord("a") + 7 * index % 26) for index in range(34))
SCRIPT = """from huggingface_hub import login

login(token=token)
"""

RULE = Rule(
    code="HUB103",
    name="token-in-clear",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Hugging Face's own documentation of user access tokens, which begin with `hf_`. Tried with transformers 5.23: "
        "a `hub_token` is saved in `training_args.bin`, beside the model."
    ),
    bad=(
        Case(job=CLEAR, at="environment.variables.HF_TOKEN"),
        Case(job=JOB + f"train:\n  hub_token: {INVENTED}\n", at="train.hub_token"),
        Case(job=JOB + f"notify:\n  webhook: 'https://example.org/?key={INVENTED}'\n", at="notify.webhook"),
        Case(script=SCRIPT.replace("token=token", f"token='hf_{LETTERS}'"), at="environment"),
        Case(script=f"# hf_{LETTERS}\n" + SCRIPT, at="environment"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("token=token", f"token='{INVENTED}'")),
        Case(job=JOB),
        Case(job=JOB.replace("secrets: [HF_TOKEN]", "variables: {HF_HOME: /data/hf_home}")),
    ),
    kinds=ANY_KIND,
)
