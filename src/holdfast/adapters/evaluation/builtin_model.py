"""The model that holdfast makes itself, with random weights: what a run of the quickstart starts from."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.evaluation.process import MARK, VARIABLES
from holdfast.core.errors import SourceError

PROGRAM: Final = """\
import sys
from pathlib import Path
from holdfast.catalog.builtin import stdlib_docstrings, tiny_chat
print(tiny_chat.make(Path(sys.argv[1]), stdlib_docstrings.texts()))
"""


def make_builtin(name: str) -> Path:
    """Return the folder of a built-in model, which is made once; in a process of its own, since torch makes it.

    Raises:
        SourceError: It cannot be made.
    """
    cache = Path(os.environ.get("HOLDFAST_CACHE", "~/.cache/holdfast")).expanduser()
    words = [sys.executable, "-P", "-c", PROGRAM, str(cache)]
    with marked_child(words, MARK, variables=VARIABLES, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        out, errors = (each.decode(errors="replace").strip().splitlines() for each in child.communicate())
    if child.returncode:
        last = errors[-1:] or ["no reason was given"]
        raise SourceError(f"{name} cannot be made: {last[0]}", where=name, fix=install_command("evaluate"))
    return Path(out[-1])
