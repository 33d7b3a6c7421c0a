"""Attributes that a program reads of its settings: which are missing, which are left alone, and what a rename takes along."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from holdfast import check
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.catalog.calls.attributes import missing_attributes

HEADER = '# /// script\n# requires-python = ">=3.10"\n# dependencies = ["trl==1.16.0", "transformers==5.23.0"]\n# ///\n'
PARSED = """
from transformers import HfArgumentParser
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer
from helper import prepare

script, args, model = HfArgumentParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_into_dataclasses()
"""
MADE = 'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig("out", max_seq_length=512)\n'


def missing(text: str, **modules: str) -> list[str]:
    """The lines and names of what is read and not there, at the newest releases."""
    beside: Mapping[str, str] = modules
    found = (
        finding
        for document in read_script(text, "train.py", beside=beside.get)
        for finding in missing_attributes(document, Api(newest()))
    )
    return [f"{each.place.path}:{each.place.line} {each.key.rpartition('.')[2]}" for each in found if each.place]


@pytest.mark.parametrize(
    "line",
    [
        "args.max_seq_length",
        'getattr(args, "max_seq_length")',
        'f"{args.max_seq_length}"',
        "model.trust_remote_code",
        "args.model_name_or_path",
        "(lambda given: given.max_seq_length)(args)",
    ],
)
def test_a_missing_attribute_is_told(line: str) -> None:
    """However it is read, and of whichever settings."""
    assert len(missing(f"{PARSED}\n{line}\n")) == 1


@pytest.mark.parametrize(
    "lines",
    [
        "args.max_length, args.world_size, args.device, args.to_dict(), args._n_gpu, model.model_name_or_path",
        "args.max_seq_length = 5\nprint(args.max_seq_length)",
        'if hasattr(args, "max_seq_length"):\n    print(args.max_seq_length)',
        'print(args.max_seq_length if hasattr(args, "max_seq_length") else args.max_length)',
        'getattr(args, "max_seq_length", 512)',
        'if "max_seq_length" in vars(args):\n    print(args.max_seq_length)',
        'if "max_seq_length" not in args.__dict__:\n    args.max_length\nelse:\n    args.max_seq_length',
        "@extended\nclass Mine(SFTConfig):\n    pass\n\nprint(HfArgumentParser(Mine).parse_args_into_dataclasses()[0].notes)",
        "try:\n    args.max_seq_length\nexcept AttributeError:\n    args.max_length",
        'setattr(args, "max_seq_length", 5)\nprint(args.max_seq_length)',
        "for name, value in vars(script).items():\n    setattr(args, name, value)\nprint(args.dataset_path)",
        "prepare(args)\nprint(args.dataset_path)",
        "args.__dict__.update(rows)\nprint(args.dataset_path)",
        "args = unknown(args)\nprint(args.max_seq_length)",
        "def never(args):\n    return args.max_seq_length",
        "class Mine(SFTConfig):\n    max_seq_length: int = 5\n\nprint(Mine('out').max_seq_length)",
        "class Mine(SFTConfig):\n    def __getattr__(self, name):\n        return 5\n\nprint(Mine('out').max_seq_length)",
        "SFTConfig.max_seq_length = property(lambda self: self.max_length)\nprint(args.max_seq_length)",
        "import unsloth\nprint(args.max_seq_length)",
    ],
)
def test_what_may_be_there_is_left_alone(lines: str) -> None:
    """What the program sets, asks for first, or hands to code that is not seen."""
    assert missing(f"{PARSED}\n{lines}\n") == []


def test_settings_are_followed_through_functions_and_modules() -> None:
    """A config that a function or a module beside the script is handed is the same config there."""
    lines = "def outer(given):\n    prepare(given)\n\nouter(args)\n"

    assert missing(PARSED + lines, helper="def prepare(config):\n    return config.max_seq_length\n") == [
        "helper.py:2 max_seq_length"
    ]


def test_what_a_trainer_was_given_is_read_of_it() -> None:
    """`trainer.args`, and `self.args` of a trainer's class, are the config that it was given."""
    lines = (
        'class Mine(SFTTrainer):\n    def log(self, logs):\n        self.args.max_seq_length\n\nMine("m", args=args)\n'
    )

    assert set(missing(f"{PARSED}{lines}\nSFTTrainer('m', args=args).args.max_seq_length\n")) == {
        "train.py:9 max_seq_length",
        "train.py:13 max_seq_length",
    }


def test_a_rename_takes_the_reads_along(tmp_path: Path) -> None:
    """Those in functions, those with a default, and those in the modules beside the script, by one fix."""
    script, helper = tmp_path / "train.py", tmp_path / "helper.py"
    lines = 'def show(given):\n    print(given.max_seq_length, getattr(given, "max_seq_length", 1))\n    tell(given)\n\nshow(args)\n'
    script.write_text(f"{HEADER}from helper import tell\n{MADE}{lines}")
    helper.write_text("def tell(given):\n    return given.max_seq_length\n")

    check([str(script)], fix=True, select=["ARG101"], offline=True)

    assert script.read_text() == f"{HEADER}from helper import tell\n{MADE}{lines}".replace("max_seq_", "max_")
    assert helper.read_text() == "def tell(given):\n    return given.max_length\n"


def test_the_diff_shows_every_file(tmp_path: Path) -> None:
    """Nothing is written, and each file that would change is in the diff."""
    script, helper = tmp_path / "train.py", tmp_path / "helper.py"
    script.write_text(f"{HEADER}from helper import tell\n{MADE}tell(args)\n")
    helper.write_text("def tell(given):\n    return given.max_seq_length\n")

    answer = check([str(script)], diff=True, offline=True)

    assert all(f"+++ b/{path}" in answer["targets"][0]["diff"] for path in (script, helper))
    assert "max_seq_length" in helper.read_text()


def test_settings_of_two_classes_keep_their_names(tmp_path: Path) -> None:
    """A function that is handed two kinds of settings reads both: the rename is left to a person."""
    script = tmp_path / "train.py"
    lines = "class Own:\n    max_seq_length = 5\n\ndef show(given):\n    print(given.max_seq_length)\n\nshow(args)\nshow(Own())\n"
    script.write_text(f"{HEADER}{MADE}{lines}")

    fixed = check([str(script)], fix=True, select=["ARG"], offline=True)["targets"][0]

    assert not fixed["fixed"]
    assert script.read_text() == f"{HEADER}{MADE}{lines}"


def test_settings_that_are_parsed_in_one_of_two_ways_are_the_same_settings() -> None:
    """From a file that is named, or from the command line, as most scripts have it."""
    lines = "if file:\n    script, args = parser.parse_json_file(file)\nelse:\n    script, args = parser.parse_args_into_dataclasses()\n"
    start = "from transformers import HfArgumentParser\nfrom trl import ScriptArguments, SFTConfig\n"
    parser = "parser = HfArgumentParser((ScriptArguments, SFTConfig))\n"

    assert missing(f"{start}{parser}{lines}args.max_seq_length\nscript.dataset_name\n") == ["train.py:8 max_seq_length"]


def test_one_of_two_classes_of_the_program_may_have_it() -> None:
    """What is read of either of them is not renamed for one, and not missing."""
    lines = (
        "class Mine(SFTConfig):\n    max_seq_length: int = 5\n\n"
        "given = Mine('out') if args.seed else SFTConfig('out')\nprint(given.max_seq_length)\n"
    )

    assert missing(PARSED + lines) == []
