"""How a script is started, what it is given, and how it leaves: a rehearsal says what the job would meet."""

from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from holdfast import rehearse
from holdfast.adapters.rehearsal.warm import WarmServer
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
Answer = dict[str, Any]
Rehearse = Callable[..., Answer]
PACKAGE = {
    "app/__init__.py": "NAME = 'app'\n",
    "app/main.py": (
        "import argparse, os, sys\n"
        "from . import NAME\n"
        "from .lib.data import get\n"
        "words = argparse.ArgumentParser()\n"
        "words.add_argument('--lr', type=float, required=True)\n"
        "assert words.parse_args().lr == get() == 1e-4\n"
        "assert (__name__, __package__, __spec__.name, NAME) == ('__main__', 'app', 'app.main', 'app')\n"
        "assert sys.argv[0] == __file__ == os.path.abspath('app/main.py')\n"
        "assert sys.path[0] == os.getcwd()\n"
    ),
    "app/lib/data.py": "def get():\n    return 1e-4\n",
}


@pytest.fixture(name="play", scope="module")
def rehearse_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearse]:
    """What writes files into a folder, and rehearses one: with the same libraries for all, imported once."""
    with WarmServer() as warm, chdir(tmp_path_factory.mktemp("started")):

        def play(*arguments: str, target: str = "--", strict: bool = False, **files: str) -> Answer:
            for name, text in files.items():
                path = Path(name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return dict(rehearse(target, arguments=arguments, here=True, offline=True, strict=strict, warm=warm))

        yield play


@pytest.mark.parametrize("launcher", sampled(["python -u", "torchrun --nproc_per_node 1", "accelerate launch"], 3))
def test_a_module_is_run_as_python_runs_it(play: Rehearse, launcher: str) -> None:
    """With its package, from the folder that it is started in, which its imports are relative to."""
    found = play(*launcher.split(), "-m", "app.main", "--lr", "1e-4", **PACKAGE)
    assert found["failures"] == []
    assert found["path"] == "app/main.py"


def test_a_module_in_a_package_that_fails_is_shown_there(play: Rehearse) -> None:
    """What the package itself does is part of the script."""
    found = play(
        *["python", "-m", "app.main", "--lr", "1e-4"], **PACKAGE | {"app/__init__.py": "import os\nos.environ['X_Y']\n"}
    )
    assert found["failure"]["where"] == "app/__init__.py:2"


def test_a_file_of_a_package_is_told_how_to_be_started(play: Rehearse) -> None:
    """By its path it has no package, here as in the job."""
    failure = play("--lr", "1e-4", target="app/main.py", **PACKAGE)["failure"]
    assert failure["where"] == "app/main.py:2"
    assert "`holdfast rehearse -- python -m app.main`" in failure["fix"]


@pytest.mark.parametrize(
    "source",
    [
        "import json, sys\nrow = json.load(sys.stdin)\n",
        "import sys\nrows = [line for line in sys.stdin]\nassert rows\n",
        "import sys\nif not sys.stdin.buffer.read():\n    sys.exit('no rows')\n",
        "import fileinput\nfirst = next(fileinput.input())\n",
    ],
)
def test_what_fails_for_want_of_input_is_not_rehearsed(play: Rehearse, source: str) -> None:
    """A rehearsal has no standard input: what a script makes of it cannot be known."""
    found = play(target="reads.py", **{"reads.py": source})
    assert found["failures"] == []
    assert {each["status"] for each in found["stages"]} == {"not_rehearsed"}
    assert "the script reads standard input, which a rehearsal does not have" in found["stages"][0]["because"]
    assert [each["what"] for each in found["not_rehearsed"]] == ["what the script reads from standard input"]


def test_input_that_a_script_can_do_without_is_no_excuse(play: Rehearse) -> None:
    """One that asks for a terminal first reads nothing, and what fails then is its own."""
    source = "import sys\nif sys.stdin.isatty():\n    print(sys.stdin.read())\nprint(rows)\n"
    assert play(target="asks.py", **{"asks.py": source})["failure"]["where"] == "asks.py:4"


def test_a_script_that_ends_itself_is_shown_where(play: Rehearse) -> None:
    """With what it printed last, which says why; its exit code is named once."""
    source = """\
import sys


def check(rows):
    print("loading")
    if len(rows) < 1000:
        print("too few rows")
        sys.exit(3)


check([1])
"""
    failure = play(target="leaves.py", **{"leaves.py": source})["failure"]
    assert (failure["where"], failure["code"], failure["function"]) == ("leaves.py:8", "sys.exit(3)", "check")
    assert failure["cause"] == "`check` leaves with `sys.exit(3)`."
    assert [each["text"] for each in failure["evidence"]] == ["loading", "too few rows"]
    assert failure["fix"].endswith("the condition under which it leaves at leaves.py:8.")


def test_a_script_that_ends_itself_elsewhere_is_shown_where_it_led_there(play: Rehearse) -> None:
    """The line of the script itself is known, whichever file leaves."""
    files = {"leads.py": "import gives_up\n", "gives_up.py": "raise SystemExit('no rows today')\n"}
    failure = play(target="leads.py", **files)["failure"]
    assert failure["where"] == "leads.py:1"
    assert failure["cause"] == "The script leaves with `sys.exit('no rows today')`."


@pytest.mark.parametrize(
    "source", ['import torch\nif __name__ == "main":\n    torch.train()\n', "import sys\nsys.stdin.read()\nrows[0]\n"]
)
def test_a_strict_rehearsal_fails_where_nothing_was_rehearsed(play: Rehearse, source: str) -> None:
    """It trains nothing, or ends before it does: neither failed, and neither is a pass to whoever asked for one."""
    files = {"idle.py": source}
    assert play(target="idle.py", **files)["verdict"] == "pass"
    strict = play(target="idle.py", strict=True, **files)
    assert (strict["verdict"], strict["failures"]) == ("fail", [])
