"""Too many positional arguments, or a keyword-only argument passed by position.

## What it does
Checks the number of positional arguments of a call against the number that the class or function takes in the
versions that the job will use.

## Why is this bad
The call raises `TypeError: … takes 1 positional argument but 4 were given`. `HfApi.upload_file` takes its arguments
only by keyword; so do the last parameters of many functions, and more of them with each release.

## Fix safety
There is no fix: if more than one release matters, the name of each value is a guess.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import signatures, versioned_callee
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.api import REQUIRED, CallSignature
from holdfast.core.job.document import Document

SHOWN = 3


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each call with too many positional arguments."""
    for call, signature in signatures(job, api):
        count, most = len(call.positional), signature.positional
        if most is not None and count > most and call.via in ("call", "super", "partial") and not call.own:
            takes = f"takes {most} by position" if most else "takes no arguments by position"
            message = f"{versioned_callee(api, call)} {takes}, not {count}{_by_keyword(signature, most)}"
            yield Finding(call.key, message, place=call.name_place)


def _by_keyword(signature: CallSignature, most: int) -> str:
    """Return the keyword form of the arguments that were probably meant: the required ones come first."""
    rest = list(signature.parameters.values())[most:]
    names = [each.name for each in sorted(rest, key=lambda each: each.default is not REQUIRED)][:SHOWN]
    return f": write {', '.join(f'`{name}=…`' for name in names)}" if names else ""


SCRIPT = """
from huggingface_hub import HfApi

api = HfApi()
api.upload_file("model.gguf", "model.gguf", "me/model")
"""
FIXED = SCRIPT.replace(
    '"model.gguf", "model.gguf", "me/model"',
    'path_or_fileobj="model.gguf", path_in_repo="model.gguf", repo_id="me/model"',
)

RULE = Rule(
    code="ARG113",
    name="positional-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="The signatures in the history in `catalog/api`. The example was run with huggingface_hub 2.4: TypeError.",
    bad=(Case(script=SCRIPT, at="calls.1"),),
    good=(Case(script=FIXED), Case(script=SCRIPT.replace('"model.gguf", "model.gguf", "me/model"', "*what"))),
    kinds=PROGRAMS,
)
