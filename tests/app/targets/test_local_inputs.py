"""Which files of this machine a program reads: a rehearsal that passed counts only as long as they are the same."""

import json
from pathlib import Path

import pytest

from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import program_of
from tests.helpers.files import lay_out

FILES = {
    "rows.jsonl": '{"text": "a"}\n',
    "more/b.jsonl": '{"text": "b"}\n',
    "tiny/config.json": "{}",
    "helper.py": "from parts import (  # as formatters write it\n    deep,\n)\n",
    "parts/__init__.py": "",
    "parts/deep.py": "WORDS = open('words.txt').read()\n",
    "words.txt": "word",
    "rewards.py": "from helper import *\n\ndef reward(completions, **_): return [0.0 for _ in completions]\n",
    "runs/old/log.txt": "old",
    "unrelated.txt": "x",
}
SCRIPT = """import helper
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

SFTTrainer(model="./tiny", args=SFTConfig(output_dir="runs"), train_dataset=load_dataset("json", data_files="more/*.jsonl"))
"""
JOB = (
    "method: grpo\nmodel: ./tiny\ndataset: {folder}rows.jsonl\nrewards: [rewards.py:reward]\noutput: {{folder: runs}}\n"
)
OF_HELPER = {"helper.py", "parts/__init__.py", "parts/deep.py"}
CASES = {
    "train.py": (SCRIPT, [], {*OF_HELPER, "words.txt", "more/b.jsonl", "tiny/config.json"}),
    "sub/train.py": ("import sys\nopen('words.txt')\n", ["--data", "rows.jsonl"], {"words.txt", "rows.jsonl"}),
    "job.yaml": (JOB.format(folder=""), [], {*OF_HELPER, "rows.jsonl", "tiny/config.json", "rewards.py"}),
    "jobs/job.yaml": (JOB.format(folder="../"), [], {*OF_HELPER, "rows.jsonl", "tiny/config.json", "rewards.py"}),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files, some of which programs read."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, FILES)
    return tmp_path


@pytest.mark.parametrize("target", CASES)
def test_each_file_that_a_program_reads_counts_and_no_other(target: str, here: Path) -> None:
    """Data, the model's folder, modules and theirs, and what these read: not what the program writes."""
    source, arguments, read = CASES[target]
    (here / target).parent.mkdir(exist_ok=True)
    (here / target).write_text(source)
    before = input_digests(program_of(target, (), arguments))

    changing = set[str]()
    for name, text in FILES.items():
        (here / name).write_text(f"{text}\n# changed\n")
        if input_digests(program_of(target, (), arguments)) != before:
            changing.add(name)
        (here / name).write_text(text)

    assert changing == read
    assert input_digests(program_of(target, (), arguments)) == before


@pytest.mark.parametrize("text", ["x" * 300, "**bold** words", "[x", "Why?", "a/**b", "~nobody/x", " "])
def test_a_text_that_is_no_path_is_no_input(text: str, here: Path) -> None:
    """Whatever a job or an argument says, looking for files ends well."""
    (here / "job.yaml").write_text(JOB.format(folder=""))
    program = program_of("job.yaml", (f"train.optim_args={json.dumps(text)}",), ())

    assert input_digests(program)


def test_the_whole_disk_is_not_read(here: Path) -> None:
    """A job that names a folder around its own gets its error from the rehearsal, and at once."""
    (here / "job.yaml").write_text(JOB.format(folder="").replace("dataset: rows.jsonl", "dataset: /"))

    assert not any(each.startswith("/=") for each in input_digests(program_of("job.yaml", (), ())))


def test_a_file_that_appears_counts(here: Path) -> None:
    """So does one more that fits a pattern."""
    (here / "train.py").write_text(SCRIPT)
    before = input_digests(program_of("train.py", (), ()))
    (here / "more/c.jsonl").write_text("{}\n")

    assert input_digests(program_of("train.py", (), ())) != before


def test_a_link_that_leads_nowhere_hides_no_other_file(here: Path) -> None:
    """Of a folder of data, all that can be read counts, and the link itself by its name."""
    (here / "job.yaml").write_text(JOB.format(folder="").replace("dataset: rows.jsonl", "dataset: more"))
    digests = [input_digests(program_of("job.yaml", (), ()))]
    for change in (
        lambda: (here / "more/gone.jsonl").symlink_to("nowhere.jsonl"),
        lambda: (here / "more/b.jsonl").write_text('{"text": "changed"}\n'),
        lambda: (here / "more/gone.jsonl").rename(here / "more/lost.jsonl"),
    ):
        change()
        digests.append(input_digests(program_of("job.yaml", (), ())))

    assert len(set(digests)) == 4
