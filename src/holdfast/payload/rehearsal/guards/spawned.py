"""Processes that are started anew by `multiprocessing`: they import the script as they would, and are guarded as it is.

Covered: the start methods `spawn` and `forkserver`. Source: `multiprocessing.popen_spawn_posix` and `popen_forkserver` of
Python 3.10 to 3.14, which ask `spawn.get_preparation_data` where the main program lies.
"""

import importlib
import multiprocessing.spawn
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..part_request import NOTEBOOK, PartRequest
from ..wrapping import wrap
from .inherited import guarded

STARTING = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
MAIN = "init_main_from_path"


def install(part_request: PartRequest, guard: Path) -> None:
    """Have new processes begin with the guards, and with the script's own file."""

    def launch(original: Any, popen: Any, process: Any) -> None:
        with _variables(guard), _main(part_request):
            original(popen, process)

    for name in STARTING:
        with suppress(ImportError):  # elsewhere than on Unix
            wrap(importlib.import_module(name).Popen, "_launch", launch)


@contextmanager
def _variables(guard: Path) -> Iterator[None]:
    """Have the variables with which a new process is guarded, meanwhile."""
    given = guarded(None, guard)
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _main(part_request: PartRequest) -> Iterator[None]:
    """Have new processes import the script's file; a notebook has none, and its functions are nowhere to be found."""
    own: Any = multiprocessing.spawn
    before = own.get_preparation_data

    def prepare(name: str) -> dict[str, Any]:
        preparation: dict[str, Any] = before(name)
        if MAIN in preparation and not part_request.script.endswith(NOTEBOOK):
            preparation[MAIN] = str(Path(part_request.script).absolute())
        return preparation

    own.get_preparation_data = prepare
    try:
        yield
    finally:
        own.get_preparation_data = before
