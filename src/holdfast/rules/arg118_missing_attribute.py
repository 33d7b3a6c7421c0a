"""Read of an attribute that the config does not have.

## What it does
Checks each attribute that the program reads from a config that it creates or parses, such as
`training_args.max_length`, against those of the class in the versions that the job will use: its arguments, its
properties, and what the class or a trainer sets. On a trainer, checks for `tokenizer`, which is now
`processing_class`. Follows the config through the program's functions and into the modules beside it. Ignores
attributes that the program sets itself, and reads behind `hasattr` or in a `try` that catches AttributeError.

## Why is this bad
The program ends with AttributeError where it reads the attribute, which may be after the training. If an argument was
renamed, the code that reads it must change as well.

## Fix safety
The fix is safe where the attribute has a new name and the value means the same. It is unsafe where it writes the
nearest name, which is a guess.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.attributes import missing_attributes
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each attribute that the class does not have at these versions."""
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

TOKENIZER = """
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train()
trainer.tokenizer.save_pretrained("out/final")
"""
PROCESSING = TOKENIZER.replace("trainer.tokenizer", "trainer.processing_class")
ASSIGNED = TOKENIZER.replace("trainer.train()", "trainer.tokenizer = tokenizer\ntrainer.train()")
SUBCLASS = TOKENIZER.replace(
    "\ntrainer = SFTTrainer(",
    "\nclass Mine(SFTTrainer):\n    @property\n    def tokenizer(self):\n        return self.processing_class\n\n\ntrainer = Mine(",
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
        "one: what the rule says is missing raises. `Trainer.tokenizer` was read in 4.57.6, where it is a property that returns "
        "`processing_class`, and 5.0.0, which has none; no stable trainer of trl 0.24.0 to 1.16.0 sets it."
    ),
    bad=(
        Case(script=PARSED, at="reads.1.max_seq_length", fixed=RENAMED),
        Case(script=REMOTE, at="reads.1.trust_remote_code"),
        Case(script=TOKENIZER, at="reads.0.tokenizer", fixed=PROCESSING),
        Case(script=SLIP, at="reads.1.max_lenght", fixed=RENAMED),
    ),
    good=(
        Case(script=RENAMED),
        Case(script=GUARDED),
        Case(script=OWN),
        Case(script=ASSIGNED),
        Case(script=SUBCLASS),
        Case(script=TOKENIZER.replace("trainer.tokenizer.", 'getattr(trainer, "tokenizer", tokenizer).')),
        Case(script=TOKENIZER, versions={"trl": "0.24.0", "transformers": "4.57.6"}),
        Case(script=PARSED, versions={"trl": "0.15.2", "transformers": "4.49.0"}),
        Case(script=REMOTE, versions={"trl": "1.5.0", "transformers": "5.0.0"}),
    ),
    kinds=PROGRAMS,
)
