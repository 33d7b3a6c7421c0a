"""Scripts that import TRL, each in a process forked from one that has imported it: the seconds of imports are paid once.

    with forks() as fork:
        done = fork([str(script), "argument"], folder, {**os.environ, "DEED": "term@7"})

What a fresh interpreter would do that a forked one does not: start without modules. As a program this file is the process that forks.
"""

import atexit
import importlib
import json
import os
import runpy
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a script.

    Attributes:
        exit_code: As of `subprocess`: negative where a signal ended it.
        stdout: What it printed.
        stderr: What it printed of errors.
    """

    exit_code: int
    stdout: str
    stderr: str


Fork = Callable[[Sequence[str], Path, Mapping[str, str]], Done]


@contextmanager
def forks() -> Iterator[Fork]:
    """Start the process that imports, and yield what runs a script with its arguments in a folder, to its end."""
    command = [sys.executable, "-W", "ignore", __file__]
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        ask, answers = server.stdin, server.stdout

        def fork(argv: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Done:
            ask.write(json.dumps([[*argv], str(folder), dict(environment)]) + "\n")
            ask.flush()
            exit_code = int(answers.readline())
            return Done(exit_code, *((folder / name).read_text() for name in ("stdout.txt", "stderr.txt")))

        yield fork
        ask.close()


def serve() -> None:
    """Run one script for each line of standard input; answer with its exit code."""
    for line in sys.stdin:
        argv, folder, environment = json.loads(line)
        if not (pid := os.fork()):
            play(argv, folder, environment)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


def play(argv: list[str], folder: str, environment: dict[str, str]) -> None:
    """Be the interpreter that runs a script."""
    os.chdir(folder)
    for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = argv
    sys.path[0] = str(Path(argv[0]).absolute().parent)
    code = 0
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            sys.stderr.write(f"{left.code}\n")
    except BaseException:  # noqa: BLE001 - as the interpreter shows it
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as at every interpreter's end
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _ = importlib.import_module("trl").SFTTrainer
    serve()
