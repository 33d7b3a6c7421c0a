"""Argument that the library still takes, with a warning that it will be removed.

## What it does
Checks for arguments whose values make the library warn, by evaluating the library's own condition on the values in
the job. If a later release removed the argument, names that release.

## Why is this bad
Nothing fails yet. The next release may remove the argument, and a script that does not pin its versions gets that
release. The libraries' own warnings are not reliable: `evaluation_strategy` was to be removed in transformers 4.46
and was removed in 4.51.0; `warmup_ratio` was to be removed in 5.2 and was removed in 5.15.0.

## Fix safety
The fix is safe where the value means the same under the new name. It is unsafe where the value does not, or may not,
mean the same. It is also unsafe for a script if only the newest ten releases know the new name, because the script
would not run with any other.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from holdfast.catalog.api import Api, released
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.arguments import callee_name, has_edits, names_of, versioned_callee
from holdfast.catalog.calls.commands import calls_of
from holdfast.catalog.calls.moving import config_of
from holdfast.catalog.calls.renames import Renamed, open_arguments, renamed
from holdfast.catalog.calls.renaming import renaming_fix
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.api import REQUIRED, CallSignature, Deprecation, Span
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Remove, Rename, Unknown
from holdfast.core.job.expressions import UNKNOWN, evaluate, truth

LATEST = 10
"""The newest releases, half a year of transformers or less, which a fix must not require."""
SENTENCE = re.compile(r"(?<=[.!])\s+")


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that makes the library warn."""
    for call in calls_of(job, api):
        signature = api.signature(call.path)
        warned = _warned(api, call)
        for name in call.arguments if not call.guard.because else ():
            deprecation = _deprecated(call, signature, name) if signature else None
            if name not in call.own and (deprecation := deprecation or warned.get(name)):
                yield _finding(job, api, call, name, deprecation)


def _warned(api: Api, call: Call) -> dict[str, Deprecation]:
    """Return the warnings that are not in the history, because a function passes the argument on to others."""
    names = (*names_of(api, call.path), callee_name(call), call.path)
    return {
        change.old: Deprecation("")
        for change in open_arguments(names)
        if change.warns and change.new not in call.arguments and since(api, *change.warns)
        if not isinstance(call.arguments.get(change.old), Unknown | None) and not _is_gone(api, call, change.old)
    }


def _is_gone(api: Api, call: Call, name: str) -> bool:
    signature = api.signature(call.path)
    return signature is not None and not signature.takes(name)


def _deprecated(call: Call, signature: CallSignature, name: str) -> Deprecation | None:
    """Return the warning or the error that the library gives for an argument as it is given."""
    if name in signature.shims:
        return Deprecation(f"it stands for {signature.shims[name]}")
    parameter = signature.parameters.get(name)
    deprecation = parameter.deprecation if parameter else None
    if deprecation is None or deprecation.raises:
        return None  # CMB103 reports what raises
    return deprecation if not deprecation.condition or _holds(deprecation.condition, call, signature) else None


def _holds(condition: str, call: Call, signature: CallSignature) -> bool:
    def lookup(node: ast.expr) -> Any:
        if not isinstance(node, ast.Name):
            return UNKNOWN
        if node.id in call.arguments:
            return call.arguments[node.id]
        parameter = signature.parameters.get(node.id)
        if parameter is None or parameter.default is REQUIRED or call.open or call.via == "partial":
            return UNKNOWN
        return parameter.default

    try:
        expression = ast.parse(condition, mode="eval").body
    except SyntaxError:
        return False
    holds = truth(evaluate(expression, lookup))
    return not isinstance(holds, Unknown) and holds


def _finding(job: Document, api: Api, call: Call, name: str, deprecation: Deprecation) -> Finding:
    change = renamed((*names_of(api, call.path), call.path), name)
    signature = api.signature(call.path)
    new = (signature.shims.get(name) if signature else "") or (change.new if change else "")
    package, fate = _fate(api, call, name, change)
    parts = (fate, _instead(api, call, name, new, change) or _own_words(deprecation.message))
    message = "; ".join((f"{versioned_callee(api, call, package)} takes `{name}` with a warning", *filter(None, parts)))
    key = f"{call.key}.{name}"
    return Finding(key, message, _fix(job, api, call, (name, new), change) if has_edits(job, call) else None)


def _instead(api: Api, call: Call, name: str, new: str, change: Renamed | None) -> str:
    """Return the replacement as a phrase; empty where none is known."""
    if new:
        return f"write `{new}`{_newness(api, call, new)}"
    config = api.signature(config_of(call.path))
    if config and name in config.parameters:
        return f"write it in `{config.path.rpartition('.')[2]}`"
    return change.note if change else ""


def _newness(api: Api, call: Call, new: str) -> str:
    """Return the release that introduced a new name, if only the newest releases have it."""
    if not _narrows(api, call, new):
        return ""
    came = api.parameter_spans(call.path, new)[-1]
    return f", available since {came.package} {came.first}"


def _own_words(message: str) -> str:
    """Return the library's own message without its sentences about later releases."""
    return " ".join(each for each in SENTENCE.split(" ".join(message.split())) if "remove" not in each).rstrip(".")


def _fate(api: Api, call: Call, name: str, change: Renamed | None) -> tuple[str, str]:
    """Return the package that warns, and what its later releases do, as far as that is known."""
    spans = _known_spans(api, call, name)
    if removed := next((span for span in spans if _is_removed_later(api, span)), None):
        return removed.package, f"it was removed in {removed.package} {removed.after}"
    if change and change.refused:
        return change.refused[0], f"it is refused since {' '.join(change.refused)}"
    if not spans:
        return call.package, ""
    package = spans[-1].package
    return package, f"{package} {released(package)[-1]}, the newest known, still does"


def _known_spans(api: Api, call: Call, name: str) -> list[Span]:
    """Return the releases that have an argument, of the packages whose versions are known."""
    return [span for span in api.parameter_spans(call.path, name) if span.package in api.versions]


def _is_removed_later(api: Api, span: Span) -> bool:
    """True if the version in use has an argument, and a later one does not."""
    releases = released(span.package)
    now = releases.index(api.versions[span.package])
    return bool(span.after) and releases.index(span.first) <= now < releases.index(span.after)


def _fix(job: Document, api: Api, call: Call, names: tuple[str, str], change: Renamed | None) -> Fix | None:
    """Return the fix that removes the warning; unsafe if only the newest releases have the new name."""
    fix = _rewriting(job, call, names, change)
    return replace(fix, safe=False) if fix and fix.safe and _narrows(api, call, names[1]) else fix


def _rewriting(job: Document, call: Call, names: tuple[str, str], change: Renamed | None) -> Fix | None:
    """Return the edit that writes the new name, or takes away an argument that has no effect; None if neither is known."""
    name, new = names
    if change and change.new:
        return renaming_fix(job, call, change)
    if new and new not in call.arguments:
        return Fix(f"rename `{name}` to `{new}`", (Rename(f"{call.key}.{name}", new),))
    return _removing(call, name, change)


def _removing(call: Call, name: str, change: Renamed | None) -> Fix | None:
    may_go = change is not None and change.may_go(call.arguments[name])
    return Fix(f"remove `{name}`", (Remove(f"{call.key}.{name}"),)) if may_go else None


def _narrows(api: Api, call: Call, new: str) -> bool:
    """True if only the newest releases have a new name; a job file pins its own releases."""
    spans = api.parameter_spans(call.path, new) if new and call.via != "file" else ()
    if not spans:
        return False
    return all(span.first in released(span.package)[-LATEST:] for span in spans)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  gradient_checkpointing: true
"""
SCRIPT = """
from trl import SFTConfig

args = SFTConfig(output_dir="capybara", gradient_checkpointing=True)
"""
RATIO = SCRIPT.replace("gradient_checkpointing=True", "warmup_ratio=0.1")

RULE = Rule(
    code="ARG109",
    name="deprecated-argument",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The warnings in the libraries' own code, with their conditions, in the history in `catalog/api`. Tried with "
        "transformers 5.23: `gradient_checkpointing=True` gives a FutureWarning. `warmup_ratio` was read in the wheel of "
        "5.10.1."
    ),
    bad=(
        Case(job=JOB, at="train.gradient_checkpointing", fixed=JOB.replace("gradient_c", "activation_c")),
        Case(
            script=SCRIPT,
            at="calls.0.gradient_checkpointing",
            fixed=SCRIPT.replace("gradient_c", "activation_c"),
        ),
        Case(
            script=RATIO,
            versions={"trl": "1.10.0", "transformers": "5.10.1"},
            at="calls.0.warmup_ratio",
            fixed=RATIO.replace("ratio", "steps"),
        ),
    ),
    good=(
        Case(job=JOB.replace("gradient_c", "activation_c")),
        Case(script=SCRIPT, versions={"trl": "1.10.0", "transformers": "5.10.1"}),
        Case(script=RATIO, versions={"trl": "0.19.1", "transformers": "4.53.3"}),
    ),
    kinds=ANY_KIND,
)
