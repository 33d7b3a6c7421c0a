"""Secret whose value is the name of a variable.

## What it does
Checks `secrets=` and `env=` of `run_job`, `run_uv_job` and their scheduled variants for values such as `"$HF_TOKEN"`.

## Why is this bad
The Python functions pass the value to the job unchanged: the job's `HF_TOKEN` is the nine characters `$HF_TOKEN`. The
first push, or the first gated model, ends with 401 Unauthorized. Only the MCP tool replaces the name by the token,
and the command line reads `--secrets HF_TOKEN` from the environment.

## Fix safety
There is no automatic fix: write `secrets={"HF_TOKEN": get_token()}` with `from huggingface_hub import get_token`, or
`os.environ["HF_TOKEN"]`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.core.check.finding import PROGRAMS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.hidden import plain

STARTING = ("run_job", "run_uv_job", "create_scheduled_job", "create_scheduled_uv_job")
NAME = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")


def check(job: Document) -> Iterator[Finding]:
    """Report each secret whose value is the name of a variable."""
    for call in job.calls:
        if call.package != "huggingface_hub" or call.name not in STARTING or call.guard.because:
            continue
        for argument in ("secrets", "env"):
            given = plain(call.arguments).get(argument)  # a hidden value is not a text in the source
            if isinstance(given, Unknown):
                raise MissingFactError(f"{call.key}.{argument}", given.because)
            if isinstance(given, Mapping):
                yield from _verbatim(f"{call.key}.{argument}", call.label, given)


def _verbatim(key: str, label: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in given.items():
        if isinstance(value, str) and NAME.fullmatch(value):
            fault = f"`{label}` sends the literal text {value!r} as the job's {name}: use `get_token()`"
            yield Finding(key, fault)
            return


SCRIPT = """from huggingface_hub import get_token, run_uv_job

run_uv_job("train.py", flavor="a10g-large", timeout="4h", secrets={"HF_TOKEN": get_token()})
"""

RULE = Rule(
    code="HUB106",
    name="verbatim-secret",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "huggingface_hub from 0.34 to 2.4. Tried with 2.4 and a Hub on loopback: the request's body holds `$HF_TOKEN` to the "
        "letter."
    ),
    bad=(
        Case(script=SCRIPT.replace("get_token()", '"$HF_TOKEN"'), at="calls.0.secrets"),
        Case(script=SCRIPT.replace("get_token()", '"${HF_TOKEN}"').replace("secrets", "env"), at="calls.0.env"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("get_token()", 'os.environ["HF_TOKEN"]').replace("from", "import os\nfrom", 1)),
        Case(script=SCRIPT.replace('"HF_TOKEN": get_token()', '"PRICE": "$5"')),
    ),
    kinds=PROGRAMS,
)
