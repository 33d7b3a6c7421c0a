"""Remote code from the Hub without a pinned commit.

## What it does
Checks for `trust_remote_code=True` without a `revision`, where a model, a tokenizer or a pipeline is loaded from the
Hub.

## Why is this bad
The program runs whatever is on the repository's `main` at that moment, with all permissions of the process, including
its tokens. Anyone with write access can change what runs tomorrow; and even without malice, the same script may train
another model, or none.

## Fix safety
There is no automatic fix: only you know which commit you have reviewed. Many architectures no longer need code of
their own: try first without `trust_remote_code`.
"""

import re
from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

LOADING = ("from_pretrained", "pipeline")
NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+", re.ASCII)


def check(job: Document) -> Iterator[Finding]:
    """Report each load of remote code without a pinned commit."""
    for call in job.calls:
        key = f"{call.key}.trust_remote_code"
        if _trusts_code(call) and job.get(key) is True and call.arguments.get("revision") is None:
            fault = "this runs whatever code is there on the day: name the commit you have read in `revision`"
            yield Finding(key, fault)


def _trusts_code(call: Call) -> bool:
    """True if a call loads a model from the Hub and runs its code, of no certain revision."""
    if call.name not in LOADING or call.package != "transformers" or call.open or call.guard.because:
        return False
    trusts = call.arguments.get("trust_remote_code") is True
    return trusts and "code_revision" not in call.arguments and _is_remote(call)


def _is_remote(call: Call) -> bool:
    """True if it surely comes from the Hub."""
    name = call.arguments.get("pretrained_model_name_or_path", call.arguments.get("model"))
    given = name if name is not None else next((each for each in call.positional[-1:] if isinstance(each, str)), None)
    return isinstance(given, str) and bool(NAME.fullmatch(given))


SCRIPT = """from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("some/model", trust_remote_code=True, revision="8d5a1c2")
"""
UNPINNED = SCRIPT.replace(', revision="8d5a1c2"', "")

RULE = Rule(
    code="REP103",
    name="unpinned-remote-code",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="transformers 5.23, `from_pretrained`. Tried: where no revision is given, the files of `main` are asked for.",
    bad=(Case(script=UNPINNED, at="calls.0.trust_remote_code"),),
    good=(
        Case(script=SCRIPT),
        Case(script=UNPINNED.replace("some/model", "./model")),
        Case(script=UNPINNED.replace("trust_remote_code=True", "trust_remote_code=False")),
        Case(script=UNPINNED.replace('"some/model"', "name").replace("model =", "name = input()\nmodel =")),
    ),
    kinds=PROGRAMS,
)
