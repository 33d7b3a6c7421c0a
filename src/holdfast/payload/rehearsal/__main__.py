"""Serves rehearsals in the script's environment: imports the libraries once, and forks a process for each part.

    python rehearsal/__main__.py [MODULE:NAME...]

Reads part requests from standard input, one JSON object a line, and writes one line for each thing that happens: `ready` when the
imports are done, `started` with a process' id, `ended` with its exit code. Closing the input ends it, and all its children.
A library that cannot be imported is left to the script, in a process that never tried; so are all of them where one
initializes CUDA while it is imported, as bitsandbytes does: a process that is forked afterwards cannot use the GPU.
"""

import ctypes
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

HERE = Path(__file__).absolute().parent
PACKAGE = "holdfast_rehearsal"
RUNTIME = "holdfast_runtime_source"
LOOK_S = 0.02
BARE = "HOLDFAST_REHEARSAL_BARE"
"""Variable of a server that imports nothing beforehand, because something could not be imported."""
FIRST, EVERY_OTHER = 1, -1
"""The id of the process that a sandbox begins with, and what names all others in it."""
SUCCESS = 0
"""What the driver of CUDA answers once it is initialized; before that, `CUDA_ERROR_NOT_INITIALIZED`."""
WORKED_OUT = (("transformers.conversion_mapping", "get_checkpoint_conversion_mapping"),)
"""Functions of libraries that keep what they once worked out, in half a second, whatever model they are asked about."""


def main(wanted: list[str]) -> None:
    """Import the libraries, then serve until the input is closed."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print while they are imported is no answer
    begin_package()
    no_sandbox = importlib.import_module(f"{PACKAGE}.sandbox").enter()
    began_s = time.perf_counter()
    if not os.environ.get(BARE) and not (preload(wanted) and can_fork()):
        os.environ[BARE] = "1"
        os.dup2(answers.fileno(), 1)
        os.execv(sys.executable, [sys.executable, __file__, *wanted])  # noqa: S606 - no shell is wanted
    prepare()
    facts = {"python": sys.version.split()[0], "versions": versions(), "no_sandbox": no_sandbox}
    say(answers, "ready", elapsed_s=time.perf_counter() - began_s, **facts)
    serve(answers)


def serve(answers: TextIO) -> None:
    """Start a process for each request until the input is closed; then end all of them."""
    children: dict[int, str] = {}
    rest = b""
    while True:
        if select.select([0], [], [], LOOK_S)[0]:
            if not (read := os.read(0, 1 << 20)):
                break
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                folder = json.loads(line)["folder"]
                children[pid := start(line.decode(), folder, answers)] = folder
                say(answers, "started", folder=folder, pid=pid)
        reap(children, answers)
    for pid in children:
        os.killpg(pid, signal.SIGKILL)


def preload(wanted: list[str]) -> bool:
    """Import `module` or `module:name` of each; return whether that went well."""
    try:
        for each in wanted:
            module, _, name = each.partition(":")
            if importlib.util.find_spec(module.partition(".")[0]) is None:
                continue  # the script will say so itself, if it needs it
            with suppress(AttributeError):  # a name that there is not; nothing was imported for it
                getattr(importlib.import_module(module), name or "__name__")
    except (Exception, SystemExit):  # noqa: BLE001 - whatever it is, the script is to meet it for the first time
        return False
    return True


def can_fork() -> bool:
    """True if a forked process may use the GPU: not once CUDA is initialized, which the driver alone knows.

    Source: pytorch/pytorch#190708; `cuDeviceGetCount` in the reference of the driver's API.
    """
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True
    count = ctypes.c_int()
    return bool(driver.cuDeviceGetCount(ctypes.byref(count)) != SUCCESS)


def begin_package() -> None:
    """Import this package, under a name of its own."""
    load(HERE.parent / "runtime.py", RUNTIME)
    load(HERE / "__init__.py", PACKAGE)


def prepare() -> None:
    """Do what each part would begin with: import this package, work out what libraries keep, set aside what is there.

    What is set aside is not gone through again by the collector of each part, which takes as long as all that was imported is large.
    """
    for each in pkgutil.walk_packages([str(HERE)], f"{PACKAGE}."):
        if not each.name.endswith("__main__"):
            importlib.import_module(each.name)
    for module, name in WORKED_OUT:
        if "transformers" in sys.modules:
            with suppress(Exception):  # of releases that have none, or another
                getattr(importlib.import_module(module), name)("")
    gc.collect()
    gc.freeze()


def start(line: str, folder: str, answers: TextIO) -> int:
    """Fork the process of one part request, in a group of its own; return its id."""
    if pid := os.fork():
        return pid
    answers.close()
    os.setpgid(0, 0)
    code = 1
    try:
        for number, name in ((1, "stdout.log"), (2, "stderr.log")):
            os.dup2(os.open(Path(folder, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = importlib.import_module(f"{PACKAGE}.part").play(line)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # threads that the script left behind are not waited for


def load(path: Path, name: str) -> None:
    """Import a file under a name that no script uses."""
    inside = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=inside)
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def reap(children: dict[int, str], answers: TextIO) -> None:
    """Tell which children have ended; what they left behind is ended with the last of them, where nothing else can be met."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if (pid := ended[0]) not in children:  # it was left behind by one
                continue
            say(answers, "ended", folder=children.pop(pid), code=os.waitstatus_to_exitcode(ended[1]))
            if not children and os.getpid() == FIRST:
                with suppress(ProcessLookupError):
                    os.kill(EVERY_OTHER, signal.SIGKILL)


def say(answers: TextIO, event: str, **fields: object) -> None:
    """Write one line of answer."""
    print(json.dumps({"event": event, **fields}), file=answers, flush=True)


def versions() -> dict[str, str]:
    """Return the releases of what was imported."""
    names = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")
    return {name: str(sys.modules[name].__version__) for name in names if name in sys.modules}


if __name__ == "__main__":
    main(sys.argv[1:])
