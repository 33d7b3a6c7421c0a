"""Setting assigned to a config under a name that the config does not have.

## What it does
Checks for attributes that the program sets on a trainer's config, whose names are arguments in other releases or of
another config, but not of this one. Also checks the fields that a subclass of a config adds under the old name of an
argument, unless the program sets the new one, too.

## Why is this bad
Python sets any attribute silently, so nothing raises where the constructor would: `args.max_prompt_length = 512` has
had no effect since trl 0.28.

## Fix safety
There is no fix: an attribute is not an argument, and other code of the program may read it.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.api.spans import comes_with, gone_since
from holdfast.catalog.calls.arguments import names_of, versioned_callee
from holdfast.catalog.calls.renames import Renamed, renamed
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.api import CallSignature
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each attribute that nothing reads."""
    call = job.call("train")
    signature = api.signature(call.path) if call else None
    if call is not None and signature is not None and not signature.open and not call.guard.because:
        yield from _unread(job, api, call, signature)


def _unread(job: Document, api: Api, call: Call, signature: CallSignature) -> Iterator[Finding]:
    train = job.get("train", {})
    settings = tuple(train) if isinstance(train, Mapping) else ()
    known = {*call.arguments, *call.own, *signature.parameters}
    for name in settings:
        if name not in known:
            yield from _judged(api, call, name)
    for name in sorted(call.own - signature.parameters.keys()):
        yield from _field_findings(api, call, name, call.own.union(settings))


def _field_findings(api: Api, call: Call, name: str, given: frozenset[str]) -> Iterator[Finding]:
    """Report a field of the program's own config that has the former name of an argument of the library's."""
    change, gone = renamed(names_of(api, call.path), name), gone_since(api, call.path, name)
    if gone and change and change.new and change.new not in given:
        since = f"{versioned_callee(api, call, gone.package)} has none since {gone.package} {gone.after}"
        message = f"no trainer reads the field `{name}` of `{call.label}`: {since}; it is called `{change.new}`"
        yield Finding(f"train.{name}", message)


def _judged(api: Api, call: Call, name: str) -> Iterator[Finding]:
    gone, comes = gone_since(api, call.path, name), comes_with(api, call.path, name)
    change = renamed(names_of(api, call.path), name)
    if gone is None and comes is None and change is None:
        return  # an attribute of the program's own
    since = f" since {gone.package} {gone.after}" if gone else f" before {comes.package} {comes.first}" if comes else ""
    packages = [span.package for span in (gone, comes) if span]
    message = f"nothing reads the attribute `{name}`: {versioned_callee(api, call, *packages)} has none{since}{_instead(change)}"
    yield Finding(f"train.{name}", message)


def _instead(change: Renamed | None) -> str:
    """Return the argument's present name, or another way, as the last part of a message."""
    if change is None or not (change.new or change.note):
        return ""
    return f"; it is called `{change.new}`" if change.new else f"; {change.note}"


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import think_format_reward

args = GRPOConfig(output_dir="grpo")
args.max_prompt_length = 512
trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=think_format_reward, args=args, train_dataset=rows)
"""

FIELD = """
from dataclasses import dataclass

from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer


@dataclass
class Arguments(SFTConfig):
    max_seq_length: int = 4096


(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
BUILT = FIELD.replace(
    "(args,) = HfArgumentParser(Arguments).parse_args_into_dataclasses()", 'args = Arguments(output_dir="out")'
)
RENAMED = FIELD.replace("max_seq_length", "max_length")
GONE = (
    FIELD.replace("max_seq_length", "max_prompt_length")
    .replace("SFT", "GRPO")
    .replace("args=", "reward_funcs=score, args=")
)
HANDED = BUILT.replace('="out")', '="out")\nargs.max_length = args.max_seq_length')

RULE = Rule(
    code="ARG117",
    name="attribute-without-effect",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The history of releases in `catalog/api`. Tried with trl 1.16: the attribute is set, and no code of the library "
        "mentions it. A config with the fields `max_seq_length: int = 64` and `warmup_ratio: float = 0.5` was made with trl 1.16 and transformers 5.23: "
        "`max_length` stays 1024, and `get_warmup_steps` returns 0."
    ),
    bad=(
        Case(script=SCRIPT, at="train.max_prompt_length"),
        Case(script=FIELD, at="train.max_seq_length"),
        Case(script=BUILT, at="train.max_seq_length"),
    ),
    good=(
        Case(script=SCRIPT.replace("max_prompt_length", "max_completion_length")),
        Case(script=SCRIPT.replace("max_prompt_length", "my_own_note")),
        Case(script=RENAMED),
        Case(script=HANDED),
        Case(script=FIELD.replace("max_seq_length", "system_prompt")),
        Case(script=GONE),
        Case(script=FIELD, versions={"trl": "0.19.1", "transformers": "4.52.4"}),
        Case(script=SCRIPT, versions={"trl": "0.27.2", "transformers": "4.57.6"}),
    ),
    kinds=PROGRAMS,
)
