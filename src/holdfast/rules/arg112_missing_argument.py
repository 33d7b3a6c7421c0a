"""Call without a required argument.

## What it does
Checks whether a call passes every parameter that has no default in the versions that the job will use. For a command
such as `trl sft`, also checks whether it names a model and a dataset.

## Why is this bad
The call raises `TypeError: … missing a required positional argument`. The required arguments change between releases:
the first versions of TRL's trainers worked without a model, and `GRPOTrainer` required `reward_funcs` until trl
1.7.1. The parser of such a command does not require these two flags; the script that it starts fails later.

## Fix safety
There is no fix: the missing value is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.arguments import signatures, versioned_callee
from holdfast.catalog.calls.commands import ambiguous_flags, dataclasses_of
from holdfast.catalog.calls.flags import flag_meant
from holdfast.core.check.finding import PROGRAMS, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.job.api import REQUIRED, CallSignature
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

SCRIPTS: Final = "0.24.0"  # the scripts of this release and of later ones were read
HELP: Final = frozenset({"help", "h"})
NEEDED: Final[Mapping[str, tuple[str, ...]]] = {"model_name_or_path": (), "dataset_name": ("datasets",)}
"""Flags of a command without which its script fails, each with what can take its place."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each call without a required argument."""
    for call, signature in signatures(job, api):
        missing = list(_missing(call, signature)) if _shows_all(call, signature) else []
        if missing:
            message = f"{versioned_callee(api, call)} requires {_joined(missing)}, which this call does not pass"
            yield Finding(call.key, message, place=call.name_place)
    if since(api, "trl", SCRIPTS):
        yield from _command_findings(job, api)


def _shows_all(call: Call, signature: CallSignature) -> bool:
    """True if all arguments of a call can be seen, and no more are given by position than it takes, which ARG113 reports."""
    countable = signature.positional is not None and len(call.positional) <= signature.positional
    return call.via in ("call", "super") and not call.open and countable


def _joined(names: Iterable[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _command_findings(job: Document, api: Api) -> Iterator[Finding]:
    """Report each command of TRL that names no model or no dataset."""
    for call in job.calls:
        if not call.path.startswith("trl ") or call.guard.because or HELP & call.arguments.keys():
            continue
        if flags := _joined(_missing_flags(job, call, api)):
            if call.open:
                raise MissingFactError(flags, f"not all options of `{call.path}` are shown")
            message = f"`{call.path}` requires {flags}, which this command does not pass"
            yield Finding(call.key, message, place=call.name_place)


def _missing_flags(job: Document, call: Call, api: Api) -> list[str]:
    """Return the flags that a command needs and lacks; none if its dataclasses are not known."""
    if not any(_dataclasses(call, api)):
        return []
    given = _given_flags(job, call, api)
    return [f"--{flag}" for flag, others in NEEDED.items() if not given & {flag, *others}]


def _given_flags(job: Document, call: Call, api: Api) -> frozenset[str]:
    """Return the flags that are given, or that one which is cut short may be."""
    whole = {flag_meant(each, name, None)[0] for name in call.arguments for each in _dataclasses(call, api)}
    return frozenset(whole).union(*(ambiguous_flags(job, call, name, api) for name in call.arguments))


def _dataclasses(call: Call, api: Api) -> Iterator[CallSignature]:
    """Yield the signatures of a command's dataclasses."""
    return (each for part in dataclasses_of(call, api) if (each := api.signature(part.path)))


def _missing(call: Call, signature: CallSignature) -> Iterator[str]:
    by_position = list(signature.parameters)[: min(len(call.positional), signature.positional or 0)]
    given = {*by_position, *call.arguments, *call.own}
    given |= {new for old, new in signature.shims.items() if old in call.arguments and new}
    for name, parameter in signature.parameters.items():
        if parameter.default is REQUIRED and name not in given:
            yield name


SCRIPT = """
from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

trainer = GRPOTrainer(
    "Qwen/Qwen2.5-0.5B",
    args=GRPOConfig(output_dir="grpo"),
    train_dataset=load_dataset("trl-lib/DeepMath-103K", split="train"),
)
trainer.train()
"""
UPLOAD = """
from huggingface_hub import upload_file

upload_file(path_or_fileobj="model.gguf", path_in_repo="model.gguf")
"""
REWARDED = SCRIPT.replace("    args=", "    reward_funcs=score,\n    args=").replace(
    "\ntrainer",
    "\n\ndef score(completions, **kwargs):\n    return [float(len(text)) for text in completions]\n\n\ntrainer",
    1,
)
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara --output_dir out\n"
OLD = {"trl": "1.7.1", "transformers": "5.5.0"}

RULE = Rule(
    code="ARG112",
    name="missing-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The signatures in the history in `catalog/api`. `upload_file` was run with huggingface_hub 2.4: TypeError. "
        "GRPOTrainer's signature was read in the wheel of trl 1.7.1. Six trainers of trl 1.16 were built with `model=None`: "
        "all raise; the code of the scripts of 0.24, 0.29, 1.0 and 1.16 was read, not run: it raises ValueError without a "
        "dataset."
    ),
    bad=(
        Case(script=SCRIPT, versions=OLD, at="trainer"),
        Case(script=UPLOAD, at="calls.0"),
        Case(command=COMMAND.replace("--model_name_or_path Qwen/Qwen2.5-0.5B ", ""), at="train"),
        Case(command=COMMAND.replace("--dataset_name trl-lib/Capybara ", ""), at="train"),
    ),
    good=(
        Case(command=COMMAND),
        Case(command=COMMAND.replace("_name_or_path", "_name")),
        Case(command="trl sft --config recipe.yaml\n"),
        Case(command="trl sft --help\n"),
        Case(command=COMMAND.replace("_name_or_path", "")),  # ambiguous: ARG106 reports it
        Case(script=REWARDED, versions=OLD),
        Case(script=UPLOAD.replace("path_in_repo", 'repo_id="me/model", path_in_repo')),
        Case(script=UPLOAD.replace("path_in_repo", "**where, path_in_repo")),
    ),
    kinds=PROGRAMS,
)
