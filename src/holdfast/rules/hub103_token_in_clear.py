"""Token or other secret in plain text in a job file, script or shell script.

## What it does
Checks for text that has the form of a Hugging Face token: anywhere in a job, including `environment.variables` and
`train.hub_token`, and anywhere in a script, including comments. In the variables of a job file, and in those that a
shell script sets or exports, also checks for other secrets, by their form or by a name such as `WANDB_API_KEY`.
There, a run of one repeated letter, as in examples, is not a secret. The value is never shown.

## Why is this bad
Job files and scripts are shared and committed, and a job on the Hub shows its script. Everyone who can read any of
them can use the secret.

## Fix safety
There is no automatic fix. Revoke the secret and remove it. A job names its variable under `environment.secrets`; a
script needs no replacement, because the libraries read variables such as `HF_TOKEN` themselves.
"""

import re
from collections.abc import Iterator
from typing import Any

from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document, Key, Unknown, leaves, render_key
from holdfast.core.job.notebook import is_notebook
from holdfast.core.text.places import LineIndex
from holdfast.core.text.redact import is_random, is_secret, redact

# The pattern begins with literal letters, so that a long text is searched quickly.
TOKEN = re.compile(r"hf_(?<!\whf_)[A-Za-z0-9]{20,}\b")
KEYS = (
    "environment.variables.HF_TOKEN",
    "environment.variables.HUGGING_FACE_HUB_TOKEN",
    "train.hub_token",
)


VARIABLES = ("environment", "variables")
# A token has many different characters; a placeholder has few.
FEW = 8


def check(job: Document) -> Iterator[Finding]:
    """Report each secret by its key or its place; the message does not show it."""
    if job.kind == "script":
        yield from _in_text(job)
    for path, value in _values(job):
        key = render_key(path)
        if _is_token(key, value):
            yield Finding(key, f"a token in plain text: {_advice(job, 'HF_TOKEN', 'on the Hub')}")
        elif path[:2] == VARIABLES and isinstance(value, str) and _is_other_secret(str(path[-1]), value):
            yield Finding(key, f"a secret in plain text: {_advice(job, str(path[-1]), 'where it was issued')}")


def _values(job: Document) -> Iterator[tuple[Key, Any]]:
    """Yield the values of a job; of a script only the variables that are set by the shell script that starts it."""
    for path, value in leaves(job.values):
        if job.kind != "script" or (path[:2] == VARIABLES and job.place(render_key(path)).path != job.path):
            yield path, value


def _is_token(key: str, value: Any) -> bool:
    if isinstance(value, str) and TOKEN.search(value):
        return True
    return key in KEYS and bool(value) and not isinstance(value, Unknown)


def _is_other_secret(name: str, value: str) -> bool:
    shaped = redact(value) != value and len(set(value)) > FEW
    return shaped or (is_secret(name, value) and is_random(value))


def _advice(job: Document, name: str, where: str) -> str:
    if job.kind == "job":
        return f"remove it, revoke it {where}, and use `environment.secrets: [{name}]`"
    return f"remove it and revoke it {where}; `{name}` is read from the environment"


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

KEY = "".join(f"{each}Ab" for each in range(10)) * 2
OTHER = JOB.replace("secrets: [HF_TOKEN]", "variables: {{{}: '{}'}}")
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara"
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
        Case(job=OTHER.format("OPENAI_API_KEY", "sk-proj-" + KEY), at="environment.variables.OPENAI_API_KEY"),
        Case(job=OTHER.format("WANDB_API_KEY", KEY), at="environment.variables.WANDB_API_KEY"),
        Case(command=f"WANDB_API_KEY={KEY} {COMMAND}", at="environment.variables.WANDB_API_KEY"),
        Case(command=f"{COMMAND} --hub_token hf_{LETTERS}\n", at="train.hub_token"),
        Case(script=SCRIPT.replace("token=token", f"token='hf_{LETTERS}'"), at="environment"),
        Case(script=f"# hf_{LETTERS}\n" + SCRIPT, at="environment"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("token=token", f"token='{INVENTED}'")),
        Case(job=JOB),
        Case(job=OTHER.format("WANDB_API_KEY", "your-wandb-key")),
        Case(job=OTHER.format("EOS_TOKEN", "<|im_end|>")),
        Case(job=OTHER.format("HF_TOKEN_PATH", "/root/token")),
        Case(command=f"WANDB_API_KEY=$(cat key) {COMMAND}\n"),
        Case(job=JOB.replace("secrets: [HF_TOKEN]", "variables: {HF_HOME: /data/hf_home}")),
    ),
    kinds=ANY_KIND,
)
