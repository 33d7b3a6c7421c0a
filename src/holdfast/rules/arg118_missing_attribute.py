"""An attribute that the program reads of its settings, and that their class does not have.

## What it does
Compares each attribute that the program reads of a config that it made or parsed, such as `training_args.max_length`, with
those that the class has in the versions that the job will get: its arguments, its properties, and what the class or a
trainer sets. It follows the config through the program's functions and into the modules beside it. An attribute that the
program sets itself, or that stands behind `hasattr` or in a `try` for AttributeError, is left alone.

## Why is this bad
The program ends with AttributeError where the attribute is read, which may be after the training. Where an argument was
renamed, the lines that read it back have to follow.

## Fix safety
A renamed attribute is read under its new name: safe where the value means the same there. The nearest name is a guess:
unsafe.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.attributes import missing_attributes
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Object to each attribute that its class does not have at these versions."""
    yield from missing_attributes(job, api)


PARSED = """
from transformers import AutoTokenizer
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser


def main(script_args, training_args, model_args):
    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path)
    print(tokenizer.model_max_length, training_args.max_seq_length)


if __name__ == "__main__":
    main(*TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config())
"""
RENAMED = PARSED.replace("max_seq_length", "max_length")
REMOTE = RENAMED.replace("name_or_path)", "name_or_path, trust_remote_code=model_args.trust_remote_code)")
SLIP = RENAMED.replace("max_length)", "max_lenght)")
GUARDED = PARSED.replace("    print", '    if hasattr(training_args, "max_seq_length"):\n        print')
OWN = RENAMED.replace("    tokenizer = ", '    training_args.notes = "mine"\n    tokenizer = ').replace(
    "training_args.max_length)", "training_args.notes, training_args.world_size)"
)

RULE = Rule(
    code="ARG118",
    name="missing-attribute",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The history of releases in `catalog/api`. The properties, and what constructors and trainers set, were read in 36 "
        "wheels, trl 0.8.6 to 1.16.0 and transformers 4.36.2 to 5.23.0. Each example was run with the newest: the bad ones "
        "raise AttributeError. Each attribute that a config of trl 1.16 or transformers 5.23 ever had was read of a real "
        "one: what the rule says is missing raises."
    ),
    bad=(
        Case(script=PARSED, at="reads.1.max_seq_length", fixed=RENAMED),
        Case(script=REMOTE, at="reads.1.trust_remote_code"),
        Case(script=SLIP, at="reads.1.max_lenght", fixed=RENAMED),
    ),
    good=(
        Case(script=RENAMED),
        Case(script=GUARDED),
        Case(script=OWN),
        Case(script=PARSED, versions={"trl": "0.15.2", "transformers": "4.49.0"}),
        Case(script=REMOTE, versions={"trl": "1.5.0", "transformers": "5.0.0"}),
    ),
    kinds=PROGRAMS,
)
