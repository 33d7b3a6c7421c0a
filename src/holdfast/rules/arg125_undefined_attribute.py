"""Read of an attribute that the program's own settings do not have.

## What it does
Checks each attribute that the program reads from an instance of one of its dataclasses, such as
`script_args.num_rows`, against the fields of the class and its bases, and each attribute of a result of `argparse`'s
`parse_args` against the options of the parser. Follows the settings through the program's functions. Ignores
attributes that the program sets itself, reads behind `hasattr` or in a `try` that catches AttributeError, and parsers
and classes that are only partly visible.

## Why is this bad
The program ends with AttributeError where it reads the attribute, which may be after the training.

## Fix safety
The fix is unsafe because the nearest name is a guess.
"""

from collections.abc import Iterator
from typing import Final

from holdfast.catalog.calls.parsed_fields import newest_names
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import AttributeRead, OwnAttributes
from holdfast.core.job.document import Document, Rename
from holdfast.core.text.nearest import nearest, plays_same_role

NEAR: Final = 0.7
"""The least likeness of two names, from 0 to 1, of which one may be meant for the other."""


def check(job: Document) -> Iterator[Finding]:
    """Report each attribute that the program's own settings do not have."""
    for read in job.reads:
        lacks = read.own is not None and read.name not in read.own.names and not read.name.startswith("_")
        if read.own and lacks and not read.guard.tolerates("AttributeError"):
            yield _finding(job, read, read.own)


def _finding(job: Document, read: AttributeRead, own: OwnAttributes) -> Finding:
    what = (
        f"`{own.owner}` has no attribute `{read.name}`"
        if own.owner
        else f"the parser has no option that gives `{read.name}`"
    )
    key = f"{read.key}.{read.name}"
    alike = tuple(sorted(each for each in own.names if plays_same_role(read.name, each)))
    if meant := nearest(read.name, alike, cutoff=NEAR):
        fix = Fix(f"rename `{read.name}` to `{meant}`", (Rename(key, meant),), safe=False)
        return Finding(key, f"{what}: did you mean `{meant}`?", fix, place=read.place)
    owner = _owner_of(job, read.name)
    return Finding(key, f"{what}: it belongs to `{owner}`" if owner else what, place=read.place)


def _owner_of(job: Document, name: str) -> str:
    """Return the name of the program's other settings that have an attribute; empty if none has."""
    own = (each.own.owner for each in job.reads if each.own and each.own.owner and name in each.own.names)
    configs = (call for call in job.calls if call.name.endswith(("Config", "Arguments")))
    holders = (call.label for call in configs if name in newest_names(call.path))
    return next(own, next(holders, ""))


PARSED = """
import argparse

from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--learning_rate", type=float, default=1e-5)
parser.add_argument("--max-length", type=int, default=1024)
options = parser.parse_args()
args = SFTConfig(output_dir="out", learning_rate=options.learning_rate, max_length=options.max_length)
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
DATACLASS = """
from dataclasses import dataclass

from trl import SFTConfig, TrlParser


@dataclass
class DataArguments:
    dataset_path: str = "rows.jsonl"


@dataclass
class RunArguments(DataArguments):
    rows: int = 1000


def limit(run_args):
    return run_args.rows


run_args, training_args = TrlParser((RunArguments, SFTConfig)).parse_args_and_config()
print(run_args.dataset_path, limit(run_args), training_args.learning_rate)
"""

RULE = Rule(
    code="ARG125",
    name="undefined-attribute",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="Python 3.11, `argparse` and `dataclasses`, and `TrlParser` of trl 1.16: each bad example was run, and raises AttributeError.",
    bad=(
        Case(script=PARSED.replace("options.max_length", "options.max_lenght"), at="reads.1.max_lenght", fixed=PARSED),
        Case(script=PARSED.replace("options.max_length", "options.max_tokens"), at="reads.1.max_tokens"),
        Case(script=DATACLASS.replace("run_args.rows", "run_args.num_rows"), at="reads.1.num_rows"),
        Case(
            script=DATACLASS.replace("(run_args), training_args.", "(run_args), run_args."), at="reads.2.learning_rate"
        ),
    ),
    good=(
        Case(script=PARSED),
        Case(script=DATACLASS),
        Case(script=PARSED.replace("options.max_length)", 'getattr(options, "max_tokens", 512))')),
        Case(
            script=PARSED.replace("options =", "plugins.add_options(parser)\noptions =")
            .replace("max_length=options.max_length", "max_length=options.max_tokens")
            .replace("import argparse\n", "import argparse\n\nimport plugins\n")
        ),
        Case(
            script=PARSED.replace("options.max_length", "options.max_tokens").replace(
                "args = SFT", "options.max_tokens = 512\nargs = SFT"
            )
        ),
    ),
    kinds=PROGRAMS,
)
