"""The model that holdfast makes itself, with random weights: what a run of the quickstart starts from."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.evaluation.process import VARIABLES
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
    done = subprocess.run(  # noqa: S603 - the words are a list, no shell reads them
        [sys.executable, "-P", "-c", PROGRAM, str(cache)],
        env={**os.environ, **VARIABLES},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason was given"]
        raise SourceError(f"{name} cannot be made: {last[0]}", where=name, fix=install_command("evaluate"))
    return Path(done.stdout.strip().splitlines()[-1])
