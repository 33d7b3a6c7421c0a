"""Alarms that `check` gave falsely on real scripts, each in its smallest form: none of them comes back."""

import pytest

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.core.check.finding import Finding, Severity
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.job.document import Document
from holdfast.engine.check.program import check_program
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.resolve import Resolution
from holdfast.rules import all_rules

ROWS = 'from datasets import load_dataset\nrows = load_dataset("trl-lib/Capybara", split="train")\n'
SFT = ROWS + "from trl import SFTConfig, SFTTrainer\n"
SCRIPTS = [
    # A decorator takes the old name and hands it on as the new one.
    (
        ROWS
        + "from trl import KTOConfig, KTOTrainer\n"
        + 'KTOTrainer("m", args=KTOConfig(output_dir="o"), train_dataset=rows, tokenizer=load_tokenizer())\n',
        {"trl": "0.12.2", "transformers": "4.46.3"},
    ),
    # `x or "none"` is text whatever x is, and not True.
    (SFT + 'SFTTrainer("m", train_dataset=rows, args=SFTConfig(report_to=ask() or "none"))\n', {}),
    # A method called on its class gets the instance by position.
    (SFT + 'trainer = SFTTrainer("m", train_dataset=rows)\nSFTTrainer.save_model(trainer, "out")\n', {}),
    # Documentation leaves arguments out.
    (SFT + "trainer = SFTTrainer(..., args=SFTConfig(packing=True))\n", {}),
    # Optional in fact, though the annotation says float: `top_p=None` trains.
    (
        ROWS
        + "from trl import GRPOConfig, GRPOTrainer\n"
        + "def score(completions, **kwargs): return [1.0]\n"
        + 'GRPOTrainer("m", reward_funcs=score, train_dataset=rows, args=GRPOConfig(top_p=None))\n',
        {},
    ),
    # The library replaces TRL's classes by its own.
    ("from unsloth import FastLanguageModel\n" + SFT + 'SFTTrainer("m", train_dataset=rows, max_seq_length=1, tokenizer=1)\n', {}),
    # Code for several versions at once.
    (
        SFT
        + "import inspect\n"
        + 'name = "max_length" if "max_length" in inspect.signature(SFTConfig).parameters else "max_seq_length"\n'
        + "SFTConfig(**{name: 512})\n"
        + "try:\n    SFTConfig(max_seq_length=512)\nexcept TypeError:\n    SFTConfig(max_length=512)\n",
        {},
    ),
    # A class of the same name from elsewhere.
    ("from my_trainer import SFTConfig, SFTTrainer\nSFTTrainer(args=SFTConfig(max_seq_length=512), tokenizer=1)\n", {}),
]  # fmt: skip
COMMANDS = ["trl sft --help", "trl sft --model_name_or_path m --dataset_name d --num_processes 4 --config_file z.yaml"]


def errors(documents: tuple[Document, ...], versions: dict[str, str]) -> list[str]:
    version_context = VersionContext(
        resolution=Resolution(newest={**newest(), **versions}), declared=ProjectRequirements(kind="lock")
    )
    results = check_program(all_rules(), documents, version_context)
    return [
        each.message for each in results if isinstance(each, Finding) and severity_of(each) is Severity.ERROR
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "versions"), SCRIPTS)
def test_good_scripts_get_no_error(text: str, versions: dict[str, str]) -> None:
    """What runs with its versions is left alone."""
    assert errors(read_script(text, "train.py"), versions) == []


@pytest.mark.parametrize("text", COMMANDS)
def test_good_commands_get_no_error(text: str) -> None:
    """What TRL's command line takes, and what it hands on to accelerate, is left alone."""
    (line,) = read_commands(text, "run.sh")
    document = command_document(line, text, "run.sh")

    assert document
    assert errors((document,), {}) == []


def test_the_versions_are_those_of_the_catalog() -> None:
    """The scripts above are asked about with versions that the history knows: else nothing would be claimed at all."""
    for _, versions in SCRIPTS:
        assert set(Api({**newest(), **versions}).versions) == set(newest())


def test_one_fault_is_told_once() -> None:
    """An argument under its old name is no missing argument beside."""
    script = (
        ROWS
        + "from trl import KTOConfig, KTOTrainer\n"
        + 'KTOTrainer("m", args=KTOConfig(output_dir="o"), train_dataset=rows, tokenizer=load_tokenizer())\n'
    )
    (message,) = errors(read_script(script, "train.py"), {"trl": "0.16.1", "transformers": "4.51.3"})

    assert "renamed to `processing_class`" in message
