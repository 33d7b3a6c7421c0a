"""`holdfast rehearse --watch`: again whenever a file is saved, in the process that has the libraries; nothing stays behind."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest

from holdfast.adapters.changes import read_stamps, wait_for_change
from holdfast.adapters.rehearsal.warm import WarmServer
from tests.helpers.run_place import PATIENCE_S
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

SCRIPT = """\
from datasets import Dataset
from transformers import AutoTokenizer
from words import COLUMN
rows = Dataset.from_list([{"text": "a"}] * 4)
tokenizer = AutoTokenizer.from_pretrained(%r)
rows.map(lambda row: tokenizer(row[COLUMN]))
"""


@pytest.fixture(name="watching")
def watch(tmp_path: Path, tiny: Path) -> Iterator["subprocess.Popen[str]"]:
    """The command, in a folder with a script that reads a column of another name."""
    (tmp_path / "train.py").write_text(SCRIPT % str(tiny))
    (tmp_path / "words.py").write_text("COLUMN = 'txt'\n")
    words = [sys.executable, "-m", "holdfast", "rehearse", "train.py", "--here", "--watch", "--format", "json"]
    variables = quiet_environment(XDG_CACHE_HOME=str(tmp_path / "cache"), PYTHONUNBUFFERED="1")
    with subprocess.Popen(words, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.train
@pytest.mark.long
def test_what_is_saved_is_rehearsed_again_without_the_imports(
    watching: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    """A module beside the script is corrected: the next answer passes, and took no imports."""
    first = read_answer(watching)
    server = children(watching)
    (tmp_path / "words.py").write_text("COLUMN = 'text'\n")
    second = read_answer(watching)

    assert (first["verdict"], second["verdict"]) == ("fail", "pass")
    assert children(watching) == server
    assert second["stages"][0]["elapsed_s"] < first["stages"][0]["elapsed_s"] / 4

    watching.send_signal(signal.SIGINT)
    watching.wait(PATIENCE_S)
    assert not any(psutil.pid_exists(pid) for pid in server)


def test_a_file_that_is_being_written_is_waited_for(tmp_path: Path) -> None:
    """The change is told once it is over, and that of other files is none."""
    (tmp_path / "train.py").write_text("a")
    before = read_stamps(tmp_path)
    (tmp_path / "weights.safetensors").write_text("b")
    told: list[Any] = []
    waiting = Thread(target=lambda: told.append(wait_for_change(tmp_path, before)), daemon=True)
    waiting.start()
    waiting.join(1)
    assert not told

    (tmp_path / "train.py").write_text("abc")
    waiting.join(10)
    assert told[0][tmp_path / "train.py"][1] == 3


def test_another_environment_gets_another_server() -> None:
    """What is wanted more, or with other variables, is not asked of a server without it."""

    def ask(**more: Any) -> Any:
        return warm.server([sys.executable], **{"header": "", "wanted": ["json"], "variables": {"A": "1"}, **more})

    with WarmServer() as warm:
        first = ask()
        assert ask(wanted=[]) is first
        second = ask(variables={"A": "2"})
        assert second is not first
        assert not first.alive
        third = ask(variables={"A": "2"}, wanted=["json", "csv"])
        assert third is not second
    assert not third.alive


def read_answer(process: "subprocess.Popen[str]") -> dict[str, Any]:
    """Return the next JSON object that a process writes over several lines."""
    lines: list[str] = []
    assert process.stdout
    while not lines or lines[-1] != "}\n":
        lines.append(process.stdout.readline())
        assert lines[-1], lines
    answer: dict[str, Any] = json.loads("".join(lines))
    return answer


def children(process: "subprocess.Popen[str]") -> set[int]:
    """Return the processes that a process has started."""
    return {each.pid for each in psutil.Process(process.pid).children()}
