"""Scripts that a rehearsal cannot simply run to their end: it says what became of each, and ends itself."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.app.rehearse import playing
from tests.helpers.rehearsal_good import OWN_LOOP
from tests.helpers.rehearsal_jobs import Job, job
from tests.helpers.rehearsing import Rehearse, rehearse_server, told  # noqa: F401 - one is the fixture `rehearse`
from tests.helpers.tiny import quiet_environment

pytestmark = [pytest.mark.train, pytest.mark.long]
ARGUMENTS = "import argparse\nwords = argparse.ArgumentParser()\nwords.add_argument('--data', required=True)\nprint(words.parse_args().data)\n"
FORK = "import os\nchild = os.fork()\nif not child:\n    os._exit(0)\nos.waitpid(child, 0)\nprint('done')\n"
BROWSER = "import webbrowser\nwebbrowser.open('http://127.0.0.1:1')\n"


@pytest.mark.parametrize(
    ("name", "source"), [("leaves", "import sys\nsys.exit()\n"), ("forks", FORK), ("browses", BROWSER), ("empty", "")]
)
def test_what_is_no_failure(rehearse: Rehearse, name: str, source: str) -> None:
    """Leaving in order, a child, a browser, and no line at all: nothing is wrong, and nothing was trained."""
    found = rehearse(Job(name=name, source=source or "\n"))
    assert told(found) == []
    assert {each.status for each in found.stages if each.name != "import"} == {"not_rehearsed"}


def test_it_leaves_with_an_error(rehearse: Rehearse) -> None:
    """`sys.exit("…")` is a failure of the script's own, in its words."""
    found = rehearse(Job(name="gives-up", source="import sys\nsys.exit('no data today')\n"))
    assert told(found) == ["import/user-code-error"]
    assert "no data today" in found.failures[0].cause.cause


def test_it_waits_for_a_person(rehearse: Rehearse) -> None:
    """Nobody will answer `input()` where the job runs."""
    found = rehearse(Job(name="asks", source="print('which model?')\nname = input()\n"))
    assert not found.passed
    assert found.failures[0].stage == "import"
    assert "waits for a person" in found.failures[0].cause.cause
    assert found.failures[0].where.endswith("asks.py:2")


def test_arguments_stand_behind_two_dashes(rehearse: Rehearse) -> None:
    """A script that needs arguments passes with them, and says which it lacks without."""
    assert told(rehearse(Job(name="with-words", source=ARGUMENTS, arguments=("--data", "rows.jsonl")))) == []
    found = rehearse(Job(name="without-words", source=ARGUMENTS))
    assert [each.stage for each in found.failures] == ["import"]
    assert "--data" in found.failures[0].cause.cause


def test_a_loop_of_its_own(rehearse: Rehearse) -> None:
    """What a loop without a `Trainer` shows is told, and what it does not show."""
    found = rehearse(Job(name="own-loop", source=OWN_LOOP))
    stages = {each.name: each for each in found.stages}
    assert found.passed
    assert stages["model"].status == stages["step"].status == stages["export"].status == "pass"
    assert stages["stop"].status == "not_rehearsed"
    assert "training" in str(stages["stop"].because)


@pytest.mark.long
def test_it_never_ends(rehearse: Rehearse) -> None:
    """It is ended at its limit, and judged by where it was."""
    found = rehearse(Job(name="turns", source="while True:\n    pass\n", limit_s=3))
    assert [each.stage for each in found.failures] == ["import"]
    assert "longer than 3 seconds" in found.failures[0].cause.cause
    assert found.failures[0].cause.signature.name == "user-code-error"


@pytest.mark.long
def test_a_reward_that_never_ends(rehearse: Rehearse) -> None:
    """The class tells what hung: here the reward function."""
    slow = job(
        "reward-turns",
        "GRPO",
        top="def turn(completions, **kwargs):\n    while True:\n        pass",
        given="reward_funcs=turn",
    )
    found = rehearse(replace(slow, limit_s=25))
    assert told(found)[0] == "step/grpo-reward-function-error"


@pytest.mark.long
def test_it_takes_too_much_memory(rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended before the machine is."""
    monkeypatch.setattr(playing, "SHARE", 0.01)
    found = rehearse(
        Job(name="eats", source="import time\nkept = bytearray(600_000_000)\nwhile True:\n    kept[0] = 1\n")
    )
    assert "GB of memory" in found.failures[0].cause.cause


def test_a_syntax_error_is_shown_in_its_line(rehearse: Rehearse) -> None:
    """The script is not run at all."""
    found = rehearse(Job(name="unread", source="print('a')\nfor row in rows\n    print(row)\n"))
    assert told(found) == ["import/user-code-error"]
    assert "line 2" in found.failures[0].cause.cause or found.failures[0].where.endswith(":2")


def rehearse_words(place: Path, *words: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    """Run the verb."""
    program = [str(Path(sys.executable).with_name("holdfast")), "rehearse", *words]
    return subprocess.run(
        program, input=given, capture_output=True, text=True, check=False, cwd=place, env=quiet_environment()
    )


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """It is a question that was wrong."""
    done = rehearse_words(tmp_path, "train.py")
    assert done.returncode == 2
    assert "train.py" in done.stderr


@pytest.mark.long
def test_a_script_on_standard_input(tmp_path: Path) -> None:
    """`-` is read, and rehearsed."""
    done = rehearse_words(tmp_path, "-", "--here", given="print('hello')\n")
    assert done.returncode == 0, done.stderr
    assert rehearse_words(tmp_path, "-", "--here", given="print(hello)\n").returncode == 1
