"""Programs that import TRL, each in a process forked from one that has imported it: the seconds of imports are paid once a test process.

    done = fork(["train.py", "argument"], folder, {**os.environ, "DEED": "term@7"})

What a fresh interpreter would do that a forked one does not: start without modules, and read the variables of its imports
anew. As a program this file is the process that forks.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

IMPORTED = ("SFTTrainer", "DPOTrainer", "RewardTrainer")
LOCK = Lock()


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a program.

    Attributes:
        exit_code: As of `subprocess`: negative where a signal ended it.
        stdout: What it printed.
        stderr: What it printed of errors.
    """

    exit_code: int
    stdout: str
    stderr: str


def fork(argv: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: str = "") -> Done:
    """Run a program in a folder, to its end: a script, or `-c` or `-m` with what follows, as Python takes them."""
    with TemporaryDirectory() as streams:
        names = {name: Path(streams, name) for name in ("stdin", "stdout", "stderr")}
        names["stdin"].write_text(stdin)
        order = json.dumps([[*argv], str(folder), dict(environment), {each: str(path) for each, path in names.items()}])
        with LOCK:
            server = start_server()
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(f"{order}\n")
            server.stdin.flush()
            exit_code = int(server.stdout.readline())
        return Done(exit_code, names["stdout"].read_text(), names["stderr"].read_text())


@cache
def start_server() -> "subprocess.Popen[str]":
    """Start the process that imports; it ends with this one, which closes its standard input."""
    command = [sys.executable, "-W", "ignore", __file__]
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
    atexit.register(server.communicate)
    return server


def serve() -> None:
    """Run one program for each line of standard input; answer with its exit code."""
    for line in sys.stdin:
        argv, folder, environment, streams = json.loads(line)
        if not (pid := os.fork()):
            play(argv, folder, environment, streams)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


def play(argv: list[str], folder: str, environment: dict[str, str], streams: dict[str, str]) -> None:
    """Be the interpreter that runs a program."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.dup2(os.open(streams[name], os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    code = 0
    try:
        run(argv)
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


def run(argv: list[str]) -> None:
    """Run a program as `__main__`."""
    match argv:
        case ["-c", program, *words]:
            sys.argv[:], sys.path[0] = ["-c", *words], ""
            exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        case ["-m", module, *words]:
            sys.argv[:], sys.path[0] = ["-m", *words], str(Path.cwd())
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case _:
            sys.argv[:], sys.path[0] = argv, str(Path(argv[0]).absolute().parent)
            runpy.run_path(argv[0], run_name="__main__")


if __name__ == "__main__":
    trl = importlib.import_module("trl")
    for name in IMPORTED:
        getattr(trl, name)
    serve()
