"""Reward functions are asked in a process of their own, and whatever they do is told and does no harm."""

import math
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest

from holdfast.adapters.rehearsal.rewards import MARK, call_rewards
from holdfast.core.rows.scan import RewardResult
from holdfast.engine.inspect.made_completions import make_question

ROWS: list[dict[str, Any]] = [{"prompt": "2 + 2?", "answer": "4"}, {"prompt": "2 + 3?", "answer": "5"}]
CHATS: list[dict[str, Any]] = [{"prompt": [{"role": "user", "content": "2 + 2?"}], "answer": "4"}]

GOOD = {
    "correct": "def correct(completions, answer, **kwargs):\n"
    "    return [float(a in c) for c, a in zip(completions, answer, strict=True)]\n",
    "later": "async def later(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n",
    "part": "import functools\ndef f(completions, scale, **kwargs):\n    return [scale * len(c) for c in completions]\n"
    "part = functools.partial(f, scale=2)\n",
    "Judge": "class _Judge:\n    __name__ = 'j'\n    async def __call__(self, completions, **kwargs):\n"
    "        return [len(c) for c in completions]\nJudge = _Judge()\n",
    "generator": "def generator(completions, **kwargs):\n    return (len(c) for c in completions)\n",
    "sometimes": "def sometimes(completions, **kwargs):\n    return [None if not c else True for c in completions]\n",
    "state": "def state(completions, trainer_state, log_extra, log_metric, completion_ids, prompts, **kwargs):\n"
    "    log_extra('seen', completions)\n    log_metric('mean', 1.0)\n"
    "    return [len(ids) + trainer_state.global_step for ids in completion_ids]\n",
    "loud": "import os, sys\nprint('hello')\ndef loud(completions, **kwargs):\n    os.write(1, b'{}')\n    os.system('echo x')\n"
    "    print('out'); print('err', file=sys.stderr)\n    return [len(c) for c in completions]\n",
}
BAD = {
    "raises": (
        "def raises(completions, **kwargs):\n    return [{}['x'] for c in completions]\n",
        r"it raises KeyError: 'x' \(rewards.py, line 2\)",
    ),
    "deep": (
        "import json\ndef deep(completions, **kwargs):\n    return [json.loads('no') for c in completions]\n",
        r"it raises JSONDecodeError: .* \(rewards.py, line 3\)",
    ),
    "few": ("def few(completions, **kwargs):\n    return [1.0]\n", "it returns 1 rewards for 20 completions"),
    "nothing": ("def nothing(completions, **kwargs):\n    pass\n", "it returns None, not a list of rewards"),
    "one": ("def one(completions, **kwargs):\n    return 1.0\n", "it returns a float, not a list of rewards"),
    "words": ("def words(completions, **kwargs):\n    return ['1.0' for c in completions]\n", "its reward 0 is a str"),
    "lists": ("def lists(completions, **kwargs):\n    return [[1] for c in completions]\n", "its reward 0 is a list"),
    "strict": (
        "def strict(completions, solution):\n    return [1.0 for c in completions]\n",
        r"it asks for `solution`, .*; it does not take `answer`, `completion_ids`, .*`trainer_state`, .*: add `\*\*kwargs`",
    ),
    "leaves": ("import sys\ndef leaves(completions, **kwargs):\n    sys.exit(3)\n", "it raises SystemExit: 3"),
    "dies": ("import os\ndef dies(completions, **kwargs):\n    os._exit(9)\n", "it ends the process, with exit code 9"),
    "number": ("number = 3\n", "it is an int, and no function"),
    "absent": ("x = 1\n", "has no `absent`"),
    "unparsed": ("def unparsed(:\n", r"it raises SyntaxError: .* \(rewards.py, line 1\)"),
    "unimported": ("import not_a_module\ndef unimported(): pass\n", r"ModuleNotFoundError: .* \(rewards.py, line 1\)"),
}


def ask(folder: Path, name: str, source: str, rows: list[dict[str, Any]] | None = None, **more: Any) -> RewardResult:
    (folder / "rewards.py").write_text(source)
    (told,) = call_rewards([f"rewards.py:{name}"], asdict(make_question(rows or ROWS)), folder=folder, **more)
    return told


@pytest.mark.parametrize("name", GOOD)
def test_what_the_trainer_takes_is_taken(tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Functions of every form give a number or None for each completion, and print nothing of ours full."""
    told = ask(tmp_path, name, GOOD[name])

    assert told.problem == ""
    assert len(told.rewards) == 20
    assert len(set(told.rewards)) > 1
    assert told.answered
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", BAD)
def test_what_ends_training_is_told(tmp_path: Path, name: str) -> None:
    """A function that the trainer cannot use is told with the reason and the place in the user's own file."""
    source, why = BAD[name]

    told = ask(tmp_path, name, source)

    assert told.rewards == ()
    assert re.search(why, told.problem), told.problem


def test_right_answers_are_rewarded(tmp_path: Path) -> None:
    """Made completions hold the answer of their own row, and columns are repeated with them."""
    told = ask(tmp_path, "correct", GOOD["correct"])

    assert told.rewards == ((1.0,) * 4 + (0.0,) * 6) * 2


def test_conversations_come_as_messages(tmp_path: Path) -> None:
    """Where prompts are messages, so are completions."""
    source = "def said(completions, prompts, **kwargs):\n    return [len(c[0]['content']) + len(p) for c, p in zip(completions, prompts)]\n"

    assert ask(tmp_path, "said", source, CHATS).problem == ""


def test_numbers_that_are_none(tmp_path: Path) -> None:
    """NaN and the infinite are handed on as they are; what no 32-bit float holds is infinite."""
    source = (
        "def odd(completions, **kwargs):\n    return [float('nan'), 1e39, -1e39] + [0.5] * (len(completions) - 3)\n"
    )
    told = ask(tmp_path, "odd", source)

    assert told.rewards[0] is not None
    assert math.isnan(told.rewards[0])
    assert told.rewards[1:4] == (math.inf, -math.inf, 0.5)


def test_the_file_beside_is_importable(tmp_path: Path) -> None:
    """A reward file may import its neighbours, and the file is found from the job's folder."""
    (tmp_path / "scales.py").write_text("SCALE = 2.0\n")

    assert (
        ask(
            tmp_path, "f", "from scales import SCALE\ndef f(completions, **k):\n    return [SCALE] * len(completions)\n"
        ).problem
        == ""
    )


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """No such file, and no such module, are told as such."""
    question = asdict(make_question(ROWS))
    told = call_rewards(["gone.py:f", "gone_module:f"], question, folder=tmp_path)

    assert told[0].problem == "there is no file gone.py"
    assert "ModuleNotFoundError" in told[1].problem


def test_what_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    """After the time limit nothing is left, not even a child in a session of its own."""
    source = (
        "import subprocess, sys, time\n"
        "def slow(completions, **kwargs):\n"
        "    program = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "    subprocess.Popen(program, start_new_session=True)\n"
        "    subprocess.Popen(program)\n"
        "    time.sleep(600)\n"
    )
    begun = time.monotonic()
    told = ask(tmp_path, "slow", source, limit_s=1.5)

    assert told.problem == "it takes longer than 1.5 seconds"
    assert time.monotonic() - begun < 60
    assert not [process for process in psutil.process_iter() if _marked(process)]


def _marked(process: psutil.Process) -> bool:
    try:
        return MARK in process.environ() and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def test_nothing_of_the_users_is_imported_here(tmp_path: Path) -> None:
    """The file runs in the child alone."""
    source = "from pathlib import Path\nimport os\nPath('pid').write_text(str(os.getpid()))\ndef f(completions, **k):\n    return [0.0] * len(completions)\n"
    ask(tmp_path, "f", source)

    assert int((tmp_path / "pid").read_text()) != os.getpid()


def test_values_that_json_lacks_do_no_harm(tmp_path: Path) -> None:
    """A column of dates or bytes is handed over as text."""
    rows: list[dict[str, Any]] = [{"prompt": "a", "when": Path("x"), "raw": b"x"}]
    source = "def f(completions, when, **k):\n    return [float(len(str(w))) for w in when]\n"

    assert ask(tmp_path, "f", source, rows).problem == ""


def test_a_function_ends_with_the_process_that_asked(tmp_path: Path) -> None:
    """However that ends: here it is killed, and cleans up nothing."""
    slow = "import pathlib, time\ndef slow(completions, **kwargs):\n    pathlib.Path('began').touch()\n    time.sleep(300)\n"
    (tmp_path / "rewards.py").write_text(slow)
    question: dict[str, Any] = {"prompts": [], "completions": [], "completion_ids": [], "columns": {}}
    asks = (
        f"from holdfast.adapters.rehearsal.rewards import call_rewards\ncall_rewards(['rewards.py:slow'], {question})\n"
    )
    asking = subprocess.Popen([sys.executable, "-c", asks], cwd=tmp_path)
    try:
        while not (tmp_path / "began").exists():
            asking.poll()
        children = psutil.Process(asking.pid).children()
    finally:
        asking.kill()
        asking.wait()
    gone, _ = psutil.wait_procs(children, timeout=30)
    assert {each.pid for each in gone} == {each.pid for each in children}
