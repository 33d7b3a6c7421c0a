"""Which files of a job travel to a machine that shares none with this one."""

from pathlib import Path

import pytest

from holdfast.adapters.targets import read_target
from holdfast.app.run import own_files
from holdfast.app.run.own_files import with_own_files
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import UsageError
from holdfast.core.run.plan import Plan
from tests.helpers.files import lay_out

FILES = {
    "helper.py": "from parts import deep\nimport json\n",
    "parts/__init__.py": "",
    "parts/deep.py": "from . import near\nfrom .inner.last import x\n",
    "parts/near.py": "",
    "parts/inner/__init__.py": "",
    "parts/inner/last.py": "x = open('prompts.txt')\n",
    "prompts.txt": "a",
    "rows.jsonl": '{"text": "a"}\n',
    "data/a-1.jsonl": "{}\n",
    "data/a-2.jsonl": "{}\n",
    "tiny/config.json": "{}",
    "tiny/.cache/x": "not this",
    "jobs/beside.jsonl": "{}\n",
    "other.py": "",
    ".env": "A=1",
    "prod/.env.local": "A=2",
    ".settings.json": "{}",
}
PACKAGE = {"helper.py", "parts/__init__.py", "parts/deep.py", "parts/near.py", "parts/inner/__init__.py"}
LAST = {"parts/inner/last.py", "prompts.txt"}
LOAD = "from datasets import load_dataset, load_from_disk\n"
MODEL = "from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained"
CASES = {
    "modules, and theirs": ("import helper", [], PACKAGE | LAST),
    "a file": (f"{LOAD}load_dataset('json', data_files='rows.jsonl')", [], {"rows.jsonl"}),
    "files of a pattern": (
        f"{LOAD}load_dataset('json', data_files='data/a-*.jsonl')",
        [],
        {"data/a-1.jsonl", "data/a-2.jsonl"},
    ),
    "a folder of data": (f"{LOAD}load_from_disk('data')", [], {"data/a-1.jsonl", "data/a-2.jsonl"}),
    "a model": (f"{MODEL}('tiny')", [], {"tiny/config.json"}),
    "a model of the Hub": (f"{MODEL}('acme/tiny')", [], set[str]()),
    "a file in an argument": ("import sys", ["--rows", "rows.jsonl"], {"rows.jsonl"}),
    "a file that any call opens": ("open('./prompts.txt')", [], {"prompts.txt"}),
    "no file of secrets": (
        "open('.env'), open('prod/.env.local'), open('.settings.json')",
        ["--env", ".env"],
        {".settings.json"},
    ),
    "nothing": ("print('/etc/hostname', '', 'a\\0b', 'parts')", [], set[str]()),
}
JOB = "method: grpo\nmodel: ./tiny\ndataset: beside.jsonl\nrewards: [helper.py:deep]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of a job."""
    monkeypatch.chdir(tmp_path)
    lay_out(tmp_path, FILES)
    return tmp_path


def sent(here: Path, path: str, arguments: list[str]) -> set[str]:
    target = read_target(path)
    plan = Plan(name="a", script=script_of(target), script_name="a.py" if target.job else path, cwd=str(here))
    files = with_own_files(plan, target, arguments, places=()).files
    assert all((here / name).stat().st_size == size for name, size in files.items())
    return set(files)


@pytest.mark.parametrize("case", CASES)
def test_files_that_a_script_needs_are_sent(here: Path, case: str) -> None:
    """And no others."""
    source, arguments, expected = CASES[case]
    (here / "train.py").write_text(source + "\n")

    assert sent(here, "train.py", arguments) == expected


def test_files_of_a_job_file_are_sent(here: Path) -> None:
    """Data and model, from its folder or from here; the modules of its rewards."""
    (here / "jobs" / "job.yaml").write_text(JOB)

    assert sent(here, "jobs/job.yaml", []) == PACKAGE | LAST | {"tiny/config.json", "jobs/beside.jsonl"}


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (f"{LOAD}load_dataset('json', data_files='absent.jsonl')", "`absent.jsonl`, which is not here"),
        (f"{LOAD}load_from_disk('/data/saved')", "`/data/saved`"),
        (f"{LOAD}load_dataset('json', data_files='../rows.jsonl')", "/../rows.jsonl`"),
        ("open('HERE/rows.jsonl')", "HERE/rows.jsonl"),
    ],
)
def test_what_would_not_be_there_is_refused(here: Path, source: str, told: str) -> None:
    """Before anything is sent."""
    (here / "inner").mkdir()
    folder = here
    (folder / "train.py").write_text(source.replace("HERE", str(folder)) + "\n")
    (here.parent / "rows.jsonl").write_text("{}\n")

    with pytest.raises(UsageError) as error:
        sent(folder, "train.py", [])
    assert told.replace("HERE", str(folder)) in error.value.what
    assert error.value.fix


def test_what_a_machine_has_under_a_mounted_folder_is_not_looked_for(here: Path) -> None:
    (here / "train.py").write_text(f"{LOAD}load_from_disk('/data/saved')\n")
    target = read_target("train.py")
    plan = Plan(name="a", script=target.document.text, script_name="train.py", cwd=str(here))

    assert not with_own_files(plan, target, [], ["/data"]).files


def test_too_much_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the largest file, and where to put it."""
    monkeypatch.setattr(own_files, "MOST_BYTES", 5)
    (here / "train.py").write_text(f"{LOAD}load_dataset('json', data_files='rows.jsonl')\n")

    with pytest.raises(UsageError, match=r"the largest is `rows\.jsonl`"):
        sent(here, "train.py", [])
