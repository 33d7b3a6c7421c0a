"""`use_auth_token` for a tokenizer, a processor or a config, which ignores it.

## What it does
With transformers 5.0 or newer, checks for `use_auth_token=` where a tokenizer, a processor or a config is loaded.

## Why is this bad
The argument has been called `token` since 2023. Models refuse the old name; these classes accept it, as they accept
any keyword, and ignore it. So a gated repository answers 401, although the script passes a token.

## Fix safety
The fix is safe: `token` takes the same values.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Rename

NAME = "use_auth_token"
REMOVED = "5.0.0"
TAKING = ("transformers.AutoTokenizer.from_pretrained", "transformers.AutoConfig.from_pretrained")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each call that ignores `use_auth_token`."""
    if not since(api, "transformers", REMOVED):
        return
    for call in job.calls:
        if call.path in TAKING and NAME in call.arguments and not call.guard.because and not call.own:
            token = "token" in call.arguments
            fix = None if token else Fix("call it `token`", (Rename(f"{call.key}.{NAME}", "token"),))
            yield Finding(f"{call.key}.{NAME}", f"`{call.label}` ignores `{NAME}`: the argument is called `token`", fix)


SCRIPT = """from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("meta-llama/Llama-3.2-1B", token=True)
"""
OLD = SCRIPT.replace("token=True", "use_auth_token=True")

RULE = Rule(
    code="HUB108",
    name="unread-token",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source="transformers 4.57 and 5.0. Tried with 5.23: `AutoTokenizer` and `AutoConfig` take the name, and do nothing with it.",
    bad=(
        Case(script=OLD, at="calls.0.use_auth_token", fixed=SCRIPT),
        Case(
            script=OLD.replace("AutoTokenizer", "AutoConfig"),
            at="calls.0.use_auth_token",
            fixed=SCRIPT.replace("AutoTokenizer", "AutoConfig"),
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=OLD, versions={"transformers": "4.57.6"}),
        Case(script=OLD.replace("transformers", "mine")),
    ),
    kinds=PROGRAMS,
)
