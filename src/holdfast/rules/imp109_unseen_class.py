"""A trainer or a config imported from a module that cannot be read.

## What it does
Checks for calls of a class that is named like one of TRL's or transformers', such as `SFTTrainer` or `TrainingArguments`, and is imported
from a module that is neither beside the file nor a library of the catalog.

## Why is this bad
The arguments of these calls are not checked: the module may hand on TRL's class, or define another one. A mistake in them shows only
when the script runs.

## Fix safety
There is no fix. Check the file in its project, so that its modules are found, or import the class from its library.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.api import Api, packages
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

LIBRARIES: Final = ("trl", "transformers")
ENDINGS: Final = ("Trainer", "Config", "TrainingArguments")
REPLACING: Final = ("unsloth", "unsloth_zoo")
"""Packages that export TRL's classes with other arguments."""


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report the first call of a class from each module that cannot be read."""
    unseen: dict[str, list[Call]] = {}
    for call in job.calls:
        module, _, name = call.path.rpartition(".")
        if _is_unread(module) and name.endswith(ENDINGS) and any(api.has_name(library, name) for library in LIBRARIES):
            unseen.setdefault(module, []).append(call)
    for module, calls in unseen.items():
        names = list(dict.fromkeys(f"`{call.path.rpartition('.')[2]}`" for call in calls))
        listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        verb, whose = ("come", "their") if names[1:] else ("comes", "its")
        fault = f"{listed} {verb} from `{module}`, which cannot be read here: {whose} arguments are not checked"
        yield Finding(calls[0].key, fault, place=calls[0].name_place)


def _is_unread(module: str) -> bool:
    """True if a module is neither beside the script, where its classes are known, nor in the catalog."""
    package = module.partition(".")[0]
    return bool(package) and module.replace(".", "").isidentifier() and package not in (*packages(), *REPLACING)


SCRIPT = """from helpers import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
"""

RULE = Rule(
    code="IMP109",
    name="unseen-class",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source="The names of trl 1.16 and transformers 5.23 were read in the history in `catalog/api`. Nothing is claimed about the module.",
    bad=(
        Case(script=SCRIPT, at="calls.0"),
        Case(script=SCRIPT.replace("import SFTConfig, SFTTrainer", "import *"), at="calls.0"),
        Case(script=SCRIPT.replace("helpers", "my.package").replace("SFTConfig", "TrainingArguments"), at="calls.0"),
    ),
    good=(
        Case(script=SCRIPT.replace("helpers", "trl")),
        Case(script=SCRIPT.replace("SFTConfig, SFTTrainer", "MyConfig as SFTConfig, MyTrainer as SFTTrainer")),
        Case(script=f"class SFTConfig: ...\nclass SFTTrainer: ...\n{SCRIPT.partition(chr(10))[2]}"),
        Case(script=f"import unsloth\n{SCRIPT.replace('helpers', 'unsloth')}"),
    ),
    kinds=PROGRAMS,
)
