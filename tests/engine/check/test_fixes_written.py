"""What people write is fixed as they would fix it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.cli.main import run_command
from holdfast.core.check.finding import Case
from holdfast.engine.check.fixes import combine_fixes
from holdfast.rules import all_rules
from tests.helpers.fixes import ask, fixed, one_cell, place, read, windows

ARGUMENTS = """import argparse
from trl import SFTConfig, SFTTrainer

LENGTH = 2**10
parser = argparse.ArgumentParser()
parser.add_argument("--max_seq_length", type=int, default=LENGTH)
options = parser.parse_args()
args = SFTConfig("out", max_seq_length=options.max_seq_length, no_cuda=True)  # ü
trainer = SFTTrainer("m", args=args, tokenizer=t, dataset_num_proc=LENGTH, train_dataset=rows)
"""
ARGUMENTS_MENDED = """import argparse
from trl import SFTConfig, SFTTrainer

LENGTH = 2**10
parser = argparse.ArgumentParser()
parser.add_argument("--max_seq_length", type=int, default=LENGTH)
options = parser.parse_args()
args = SFTConfig("out", max_length=options.max_seq_length, use_cpu=True, dataset_num_proc=LENGTH)  # ü
trainer = SFTTrainer("m", args=args, processing_class=t, train_dataset=rows)
"""
DICTS = """from trl import DPOConfig, DPOTrainer

shared = dict(no_cuda=True, overwrite_output_dir=True)
settings = {
    "output_dir": "dpo",
    "save_safetensors": True,  # always
    **shared,
}
settings["evaluation_strategy"] = "no"
first = DPOTrainer("m", args=DPOConfig(**settings), train_dataset=rows)
"""
DICTS_MENDED = """from trl import DPOConfig, DPOTrainer

shared = dict(use_cpu=True)
settings = {
    "output_dir": "dpo",
    **shared,
}
settings["eval_strategy"] = "no"
first = DPOTrainer("m", args=DPOConfig(**settings), train_dataset=rows)
"""
SHARED = """from trl import SFTConfig, SFTTrainer

args = SFTConfig("out", max_seq_length=512)
one = SFTTrainer("m", args=args, train_dataset=rows)
two = SFTTrainer("n", args=args, tokenizer=t, train_dataset=rows)
"""
NESTED = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    "m",
    max_seq_length=512,
    args=SFTConfig("three", group_by_length=True),
    packing=True, train_dataset=rows,
    tokenizer=t)
"""
NESTED_MENDED = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    "m",
    args=SFTConfig("three", train_sampling_strategy="group_by_length", packing=True, max_length=512),
    train_dataset=rows,
    processing_class=t)
"""


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (ARGUMENTS, ARGUMENTS_MENDED),
        (DICTS, DICTS_MENDED),
        (SHARED, SHARED.replace("max_seq_length", "max_length").replace("tokenizer=", "processing_class=")),
        (NESTED, NESTED_MENDED),
    ],
    ids=["argparse", "dicts", "shared", "nested"],
)
def test_what_people_write_is_mended_as_they_would(text: str, result: str) -> None:
    """Options of a command line, dicts within dicts, a config that two trainers share, calls within calls."""
    case = Case(script=text)
    ours = [rule for rule in all_rules() if rule.code.startswith("ARG")]

    assert fixed(text, case, lambda text: read(case, text), rules=ours) == result


def test_a_value_of_another_file_stays() -> None:
    """What another module says is not this file's to change; nor is what more than one kind of call is given."""
    script = "from common import SETTINGS\nfrom trl import SFTConfig\nSFTConfig(**SETTINGS)\n"
    documents = read_script(script, "train.py", beside={"common": "SETTINGS = {'no_cuda': True}\n"}.get)
    findings = [found for found in ask(all_rules(), documents, Case(script=script)) if found.fix]

    assert [found.key for found in findings] == ["calls.0.no_cuda"]
    assert combine_fixes(findings, place, unsafe=False).edits == ()


def test_a_dict_that_different_calls_get_stays() -> None:
    """What is renamed for one of them would be wrong for the other."""
    script = (
        "from trl import SFTConfig\nimport wandb\nboth = {'no_cuda': True}\nSFTConfig(**both)\nwandb.init(**both)\n"
    )
    found = [each for each in ask(all_rules(), read_script(script, "train.py"), Case(script=script)) if each.fix]

    assert found
    assert combine_fixes(found, place, unsafe=False).edits == ()


def test_two_fixes_that_want_one_argument_are_not_both_made() -> None:
    """A name that is renamed to it, and a value that is moved there: the second has to look again, and finds it taken."""
    script = SHARED.partition("two =")[0].replace("train_dataset", "max_seq_length=1024, train_dataset")
    (document, *_) = read_script(script, "train.py")
    found = [each for each in ask(all_rules(), [document], Case(script=script)) if each.key.endswith("max_seq_length")]

    assert len([each for each in found if each.fix]) == 2
    assert len(combine_fixes(found, place, unsafe=False).fixed) == 1
    assert fixed(script, Case(script=script), lambda text: read_script(text, "t.py")).count("max_length=") == 1


def test_a_value_for_two_trainers_is_not_moved_for_one() -> None:
    """The config of one is that of the other: to move an argument there is unsafe."""
    script = SHARED.replace("tokenizer=t", "packing=True").replace("max_seq_length", "max_length")
    found = next(each for each in ask(all_rules(), read_script(script, "train.py"), Case(script=script)) if each.fix)

    assert found.key == "trainer.packing"
    assert found.fix is not None
    assert not found.fix.safe


WHOLE = """# /// script
# dependencies = [
#     "trl==1.16.0",
#     "transformers==5.23.0",
# ]
# ///
from peft import LoraConfig
from trl import ORPOConfig, ORPOTrainer, SFTConfig

args = SFTConfig("out", max_seq_length=512, overwrite_output_dir=True)
"""
WHOLE_MENDED = """# /// script
# dependencies = [
#     "trl==1.16.0",
#     "transformers==5.23.0",
#     "peft",
# ]
# ///
from peft import LoraConfig
from trl import SFTConfig
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

args = SFTConfig("out", max_length=512)
"""


def test_header_imports_and_arguments_are_mended_in_one_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script and a notebook, by the command itself; a second time there is nothing to do."""
    script, notebook = tmp_path / "train.py", tmp_path / "train.ipynb"
    body, mended_body = (text.partition("# ///\nfrom")[2] for text in (WHOLE, WHOLE_MENDED))
    script.write_bytes(windows(WHOLE).encode())
    notebook.write_text(one_cell(f"%pip install trl==1.16.0 transformers==5.23.0\nfrom{body}"), encoding="utf-8")
    chosen = ["--select", "ARG", "--select", "IMP", "--select", "DEP104"]
    words = ["check", str(script), str(notebook), *chosen, "--fix", "--format", "json"]
    assert run_command(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert run_command(words) == 0
    second = json.loads(capsys.readouterr().out)

    assert script.read_bytes() == windows(WHOLE_MENDED).encode()
    expected = one_cell(f"%pip install trl==1.16.0 transformers==5.23.0\nfrom{mended_body}")
    assert notebook.read_text(encoding="utf-8") == expected
    assert [len(target["fixed"]) for target in first["targets"]] == [5, 4]
    assert [target["fixed"] for target in second["targets"]] == [[], []]


def test_a_person_who_asks_for_no_edits_does_not_wait_for_them(tmp_path: Path) -> None:
    """As text, each fix is told without being worked out, and LibCST is not imported; as JSON, it is."""
    script = tmp_path / "train.py"
    script.write_text(WHOLE)
    program = """
import sys
from holdfast.cli.main import run_command
run_command(["check", *sys.argv[1:], "--no-cache"])
print("libcst" in sys.modules)
"""
    answers = [
        subprocess.run([sys.executable, "-c", program, str(script), *words], check=True, capture_output=True, text=True)
        for words in ([], ["--format", "github"], ["--format", "json"])
    ]

    assert [answer.stdout.splitlines()[-1] for answer in answers] == ["False", "False", "True"]
    assert "fix: import `ORPOConfig` from `trl.experimental.orpo`" in answers[0].stdout
