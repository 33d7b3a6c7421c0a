"""The defaults of a script's options are judged like its other values, as warnings: a command line may give others."""

from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app.check import verb
from holdfast.cli.text.findings import render_outcome

ARGPARSE = """
import argparse
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-5)
parser.add_argument("--strategy", default="no")
parser.add_argument("--model", required=True)
parser.add_argument("--seed", type=int)
options = parser.parse_args()
args = SFTConfig(output_dir="out", learning_rate=options.lr, eval_strategy=options.strategy, seed=options.seed)
SFTTrainer(model=options.model, args=args, train_dataset=rows, eval_dataset=more)
"""
FIELDS = """
from dataclasses import dataclass
from transformers import HfArgumentParser
from trl import SFTConfig, SFTTrainer

@dataclass
class Options:
    lr: float = 2e-5
    strategy: str = "no"

(options,) = HfArgumentParser(Options).parse_args_into_dataclasses()
args = SFTConfig(output_dir="out", learning_rate=options.lr, eval_strategy=options.strategy)
SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, eval_dataset=more)
"""
GIVEN = ("--model", "Qwen/Qwen2.5-0.5B")


def check(folder: Path, script: str, *arguments: str) -> dict[str, Any]:
    (folder / "train.py").write_text(script)
    (target,) = holdfast.check([str(folder / "train.py")], arguments=arguments, offline=True)["targets"]
    return dict(target)


def findings(target: dict[str, Any]) -> set[tuple[str, str]]:
    return {(each["code"], each["severity"]) for each in target["findings"]}


@pytest.mark.parametrize("script", [ARGPARSE, FIELDS])
@pytest.mark.parametrize(
    ("good", "bad", "code"),
    [("2e-5", "1e6", "CMB106"), ('"no"', '"sometimes"', "ARG110"), ('"no"', '"never"', "ARG110")],
)
def test_a_default_that_no_training_takes_is_a_warning(
    tmp_path: Path, script: str, good: str, bad: str, code: str
) -> None:
    """An error only where the command line is known; nothing where the default is good."""
    faulty = script.replace(good, bad)

    assert findings(check(tmp_path, faulty)) - findings(check(tmp_path, script)) == {(code, "warning")}
    given = GIVEN if script is ARGPARSE else ("--strategy", "no", "--lr", "2e-5")
    assert ((code, "error") in findings(check(tmp_path, faulty, *given))) == (script is ARGPARSE)


def test_a_finding_names_the_option_whose_default_it_rests_on(tmp_path: Path) -> None:
    """The place of the value is that of the option's use."""
    (finding,) = (
        each for each in check(tmp_path, ARGPARSE.replace("2e-5", "1e6"))["findings"] if each["code"] == "CMB106"
    )
    assert finding["message"].endswith("(by the default of `--lr`, which the command line may override)")
    assert finding["fix"] is None


@pytest.mark.parametrize(("script", "names"), [(ARGPARSE, ["--lr", "--strategy"]), (FIELDS, ["--lr", "--strategy"])])
def test_the_assumed_options_are_named(tmp_path: Path, script: str, names: list[str]) -> None:
    """Not those that must be given, nor those whose default is no value; none where the command line is known."""
    assert check(tmp_path, script)["assumed"] == names
    assert "assumed" not in check(tmp_path, script, *GIVEN)


def test_what_a_default_decides_is_not_skipped_and_what_must_be_given_is(tmp_path: Path) -> None:
    """The rate is judged; the model, which has no default, and the seed, whose default is no value, are not."""
    target = check(tmp_path, ARGPARSE)
    missing = {name for each in target["skipped"] for name in each["missing"]}

    assert not {name for name in missing if "learning_rate" in name or "eval_strategy" in name}
    assert {name for name in missing if "model" in name}


def test_faults_in_a_branch_that_the_defaults_do_not_take_are_still_found(tmp_path: Path) -> None:
    """The defaults add to what is known, and hide nothing."""
    script = ARGPARSE.replace('"--seed", type=int', '"--long", action="store_true"').replace(
        ", seed=options.seed", ""
    ) + ("if options.long:\n    SFTConfig(output_dir='long', max_seq_length=4096)\n")

    assert ("ARG101", "error") in findings(check(tmp_path, script))


def test_the_text_names_the_options(tmp_path: Path) -> None:
    """In one line, with the way to give others."""
    (tmp_path / "train.py").write_text(ARGPARSE)

    (line,) = (
        each for each in render_outcome(verb.check([str(tmp_path / "train.py")], offline=True)) if "defaults" in each
    )
    assert "with the defaults of --lr, --strategy; arguments after `--` override them" in line


@pytest.mark.parametrize(
    "options",
    ['"--lr", type=float, required=True', '"lr", type=float', '"--lr", type=float, default=None'],
)
def test_options_without_a_default_are_not_assumed(tmp_path: Path, options: str) -> None:
    """Then there is nothing to add to what is said of the script as it is."""
    script = ARGPARSE.replace('"--lr", type=float, default=2e-5', options).replace(
        '"--strategy", default="no"', '"--strategy", required=True'
    )

    assert check(tmp_path, script).get("assumed") is None
    assert check(tmp_path, ARGPARSE)["assumed"]
