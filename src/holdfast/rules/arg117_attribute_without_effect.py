"""A setting that is written on a config after it was made, under a name that the config does not have.

## What it does
Looks for attributes that the program sets on a trainer's config, whose names were arguments in other releases or are
those of another config, but not of this one.

## Why is this bad
Python sets any attribute without a word, so nothing raises where the constructor would have: `args.max_prompt_length =
512` does nothing at all since trl 0.28.

## Fix safety
An attribute is no argument, and other code of the program may read it: there is no fix.
"""

from collections.abc import Iterator, Mapping

from holdfast.catalog.api import Api
from holdfast.catalog.arguments import names_of, subject
from holdfast.catalog.renames import renamed
from holdfast.catalog.spans import comes_with, gone_since
from holdfast.core.calls import Call
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Tell of each attribute that nothing reads."""
    call = job.call("train")
    signature = api.signature(call.path) if call else None
    if call is None or signature is None or signature.open or call.guard.because:
        return
    settings = job.get("train", {})
    for name in list(settings) if isinstance(settings, Mapping) else ():
        if name not in call.arguments and name not in call.own and name not in signature.parameters:
            yield from _judged(api, call, name)


def _judged(api: Api, call: Call, name: str) -> Iterator[Finding]:
    gone, comes = gone_since(api, call.path, name), comes_with(api, call.path, name)
    change = renamed(names_of(api, call.path), name)
    if gone is None and comes is None and change is None:
        return  # the program's own
    since = f" since {gone.package} {gone.after}" if gone else f" before {comes.package} {comes.first}" if comes else ""
    instead = (
        f"; it is called `{change.new}`"
        if change and change.new
        else f"; {change.note}"
        if change and change.note
        else ""
    )
    packages = [span.package for span in (gone, comes) if span]
    message = f"nothing reads the attribute `{name}`: {subject(api, call, *packages)} has none{since}{instead}"
    yield Finding(f"train.{name}", message)


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
from trl.rewards import think_format_reward

args = GRPOConfig(output_dir="grpo")
args.max_prompt_length = 512
trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=think_format_reward, args=args, train_dataset=rows)
"""

RULE = Rule(
    code="ARG117",
    name="attribute-without-effect",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "The history of releases in `catalog/api`. Tried with trl 1.16: the attribute is set, and no code of the library "
        "mentions it."
    ),
    bad=(Case(script=SCRIPT, at="train.max_prompt_length"),),
    good=(
        Case(script=SCRIPT.replace("max_prompt_length", "max_completion_length")),
        Case(script=SCRIPT.replace("max_prompt_length", "my_own_note")),
        Case(script=SCRIPT, versions={"trl": "0.27.2", "transformers": "4.57.6"}),
    ),
    kinds=PROGRAMS,
)
