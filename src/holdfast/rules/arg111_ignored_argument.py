"""Argument that is accepted and has no effect.

## What it does
Checks for `resume_from_checkpoint` in a training config whose program calls `train()` without it, and for
`low_cpu_mem_usage` and `safe_serialization` in calls of functions that accept any keyword and ignore these.

## Why is this bad
Nothing raises. `SFTConfig(resume_from_checkpoint=…)` trains from step 0 again: the trainer reads only the argument of
`train()`. Weights are saved as safetensors whatever `safe_serialization` says.

## Fix safety
The fix is safe: it removes an argument that has no effect. It does not change how `train()` resumes.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.calls.arguments import callee_name, has_edits, names_of
from holdfast.catalog.calls.commands import calls_of
from holdfast.catalog.calls.renames import open_arguments
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Remove, Unknown

RESUME = "resume_from_checkpoint"


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each argument that nothing reads."""
    for call in calls_of(job, api):
        if RESUME in call.arguments and _is_never_read(job, api, call):
            message = (
                f"`{callee_name(call)}` takes `{RESUME}`, but nothing reads it: training starts at step 0; "
                f"write `trainer.train({RESUME}=…)`, with a local folder"
            )
            yield Finding(f"{call.key}.{RESUME}", message)
        yield from _dropped(job, api, call)


def _is_never_read(job: Document, api: Api, call: Call) -> bool:
    """True if a config names a checkpoint, but every call of `train` starts without one."""
    given = call.arguments[RESUME]
    if (
        call.via == "parser"
        or not given
        or isinstance(given, Unknown)
        or "TrainingArguments" not in names_of(api, call.path)
    ):
        return False
    starts = [each for each in job.calls if each.path.endswith("Trainer.train")]
    resumed = any(each.positional or each.open or RESUME in each.arguments for each in starts)
    return bool(starts) and not resumed


def _dropped(job: Document, api: Api, call: Call) -> Iterator[Finding]:
    for change in open_arguments((callee_name(call), call.path)):
        if change.old in call.arguments and change.ignored and since(api, *change.ignored):
            package, version = change.ignored
            value = call.arguments[change.old]
            key = f"{call.key}.{change.old}"
            fix = Fix(f"remove `{change.old}`", (Remove(key),))
            message = (
                f"`{callee_name(call)}` of {package} {api.versions[package]} accepts `{change.old}`, but ignores it "
                f"since {version}: {change.note}"
            )
            yield Finding(key, message, fix if change.may_go(value) and has_edits(job, call) else None)


SCRIPT = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="capybara", resume_from_checkpoint="capybara/checkpoint-500")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=load_dataset("trl-lib/Capybara", split="train"))
trainer.train()
"""
LOADED = """
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", low_cpu_mem_usage=True)
"""

RULE = Rule(
    code="ARG111",
    name="ignored-argument",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: `SFTConfig(resume_from_checkpoint=…)` trains from step 0; "
        "`from_pretrained` and `save_pretrained` say nothing. Read in every wheel of transformers since 4.36: "
        "`low_cpu_mem_usage` is dropped since 4.51.0, `safe_serialization` since 5.0.0."
    ),
    bad=(
        Case(script=SCRIPT, at="train.resume_from_checkpoint"),
        Case(script=LOADED, at="calls.0.low_cpu_mem_usage", fixed=LOADED.replace(", low_cpu_mem_usage=True", "")),
    ),
    good=(
        Case(script=SCRIPT.replace(".train()", ".train(resume_from_checkpoint=args.resume_from_checkpoint)")),
        Case(script=SCRIPT.replace('"capybara/checkpoint-500"', "None")),
        Case(script=LOADED, versions={"transformers": "4.50.3"}),
    ),
    kinds=PROGRAMS,
)
