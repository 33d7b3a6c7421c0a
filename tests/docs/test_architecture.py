"""The page of the architecture tells the truth: the functions that it lists for a verb are called when that verb runs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tiny import quiet_environment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STEP = re.compile(r"`((?:app|engine|adapters)\.[\w.]+)`")
PATH = re.compile(r"`([\w.]+/[\w./]*)`|\b(payload/\w[\w/.]*)")
PACKAGE = ROOT / "src" / "holdfast"
LISTED_IN = ("", "core", "engine", "adapters", "catalog")
"""Packages whose tables give paths from there."""
SCRIPT = """\
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

rows = Dataset.from_dict({"text": ["a b c"] * 20})
trainer = SFTTrainer("./absent", args=SFTConfig("out", max_steps=2), train_dataset=rows)
trainer.train()
"""
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: {path: builtin:stdlib-docstrings, rows: 40}
train: {max_steps: 2, per_device_train_batch_size: 4, max_length: 64}
"""
PLANNED = """\
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

rows = Dataset.from_dict({"text": ["a b c"] * 20})
trainer = SFTTrainer("Qwen/Qwen3-0.6B", args=SFTConfig("out", max_steps=2), train_dataset=rows)
trainer.train()
"""
STUDY = """\
job:
  method: sft
  model: builtin:tiny-chat
  dataset: {path: builtin:stdlib-docstrings, rows: 40}
  train: {max_steps: 2, per_device_train_batch_size: 4, max_length: 64}
seeds: [1]
metric: train_loss
"""
TRACE = """\
import json, sys, threading, holdfast
seen = set()

def note(frame, event, argument):
    path = frame.f_code.co_filename
    if event == "call" and "/holdfast/" in path:
        module = path.rsplit("/holdfast/", 1)[1].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        seen.add(f"{module}.{frame.f_code.co_qualname}")

verb, target, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.setprofile(note)
threading.setprofile(note)
try:
    getattr(holdfast, verb)(target, **options)
finally:
    sys.setprofile(None)
    print(json.dumps(sorted(seen)), file=open("seen.json", "w"))
"""
TARGETS = {
    "check": ("train.py", SCRIPT, {"offline": True}),
    "inspect": ("rows.jsonl", '{"question": "a b", "answer": "c d"}\n' * 5, {"method": "sft"}),
    "plan": ("train.py", PLANNED, {"offline": True, "hardware": "l4x1"}),
    "diagnose": (
        "train.log",
        "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'\n",
        {},
    ),
    "rehearse": ("job.yaml", JOB, {"offline": True, "isolate": True}),
    "evaluate": (
        "builtin:tiny-chat",
        "",
        {
            "on": "builtin:stdlib-docstrings",
            "rows": 4,
            "base": "builtin:tiny-chat",
            "trained_on": "builtin:stdlib-docstrings",
        },
    ),
    "export": ("builtin:tiny-chat", "", {"offline": True}),
    "run": ("job.yaml", JOB, {"rehearse": False, "offline": True}),
    "study": ("study.yaml", STUDY, {"rehearse": False, "offline": True}),
}


def steps(verb: str) -> list[str]:
    """The functions that the page lists for a verb."""
    section = PAGE.split(f"\n## {verb}\n")[1].split("\n## ")[0]
    return STEP.findall(section)


@pytest.mark.parametrize(
    "verb",
    [
        "check",
        "inspect",
        "plan",
        "diagnose",
        *(
            pytest.param(each, marks=[pytest.mark.train, pytest.mark.long])
            for each in ("rehearse", "evaluate", "export", "run", "study")
        ),
    ],
)
def test_a_verb_goes_the_way_that_the_page_tells(verb: str, tmp_path: Path) -> None:
    """Each function of its list is called, in a process of its own."""
    name, text, options = TARGETS[verb]
    if text:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "trace.py").write_text(TRACE, encoding="utf-8")
    words: list[Any] = [sys.executable, "trace.py", verb, name, json.dumps(options)]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True, env=quiet_environment())
    seen = set(json.loads((tmp_path / "seen.json").read_text(encoding="utf-8")))

    assert steps(verb)
    assert [each for each in steps(verb) if each not in seen] == []
    if verb == "run":
        (folder,) = (each for each in (tmp_path / "runs").iterdir() if each.is_dir())
        assert [each for each in made_files(folder) if not is_listed(each)] == []


def made_files(folder: Path) -> list[str]:
    """The files of a run, from its folder."""
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def listed_files() -> list[str]:
    """The files and folders that the page lists for a run; of several on a line, the later ones are beside the first."""
    block = PAGE.split("The files of a run")[1].split("```")[1]
    lists = [line[:37].strip().split(", ") for line in block.strip().splitlines()]
    return [name for first, *more in lists for name in (first, *(str(Path(first).parent / each) for each in more))]


def is_listed(path: str) -> bool:
    """True if a file of a run, or a folder that it is in, is listed; DATE, TIME and MODEL stand for what differs."""
    patterns = (re.sub("MODEL|DATE|TIME", "[^/]+", re.escape(each)) for each in listed_files())
    return any(re.match(f"{each}{'' if each.endswith('/') else '$'}", path) for each in patterns)


def test_the_files_of_a_run_are_those_of_the_contract() -> None:
    """Both lists name the same files, so that neither leaves one out."""
    contract = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8").split("## The run folder")[1].split("```")[1]
    names = {Path(name).name for name in re.findall(r"[\w.-]+\.(?:jsonl?|yaml|py|txt|html|sqlite|log)\b", contract)}
    names -= {"holdfast-manifest.json"}  # is in a checkpoint's folder

    assert {name for name in names if name not in {Path(each).name for each in listed_files()}} == set()


def test_paths_of_the_page_exist() -> None:
    """What the page names by its path is there."""
    named = {path or other for path, other in PATH.findall(PAGE)}
    places = [ROOT, ROOT / "src", ROOT / "docs", *(PACKAGE / each for each in LISTED_IN)]

    assert len(named) > 40
    assert {each for each in named if not any((place / each).exists() for place in places)} == set()


@pytest.mark.parametrize("package", ["engine", "adapters", "catalog"])
def test_no_package_is_left_out(package: str) -> None:
    """Each package has a line, but those that are named after their verb; so has each module of `adapters/`."""
    verbs = {path.name for path in (PACKAGE / "app").iterdir()}
    packages = {f"`{path.name}/`" for path in (PACKAGE / package).iterdir() if path.is_dir() and path.name[0] != "_"}
    modules = (
        {f"`{path.name}`" for path in (PACKAGE / "adapters").glob("[a-z]*.py")} if package == "adapters" else set()
    )
    wanted = modules | (packages - ({f"`{each}/`" for each in verbs} if package == "engine" else set()))

    assert {each for each in wanted if each not in PAGE} == set()


def test_tests_lie_where_their_code_lies() -> None:
    """Each folder of tests is a folder of the package, but for those about what is no code of it; attacks have one of their own in it."""
    found = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    folders = {str(each.parent if each.name == "hostile" else each) for each in found}
    others = {"docs", "benchmarks"}

    assert {each for each in folders - others if not (ROOT / "src" / "holdfast" / each).is_dir()} == set()
