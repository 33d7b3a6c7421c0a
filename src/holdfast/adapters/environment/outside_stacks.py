"""Stacks of processes that do not write their own when they are asked: py-spy reads them from outside.

A script that takes SIGUSR1 for itself writes none, nor does a process that is suspended.

Covered: Linux and macOS, by py-spy 0.4, which never stops the process here. Not covered: a process that this user may not trace (`ptrace_scope`).
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.environment.extras import install_command
from holdfast.core.text.json_text import parse_json

EXTRA: Final = "stacks"
PY_SPY: Final = "py-spy"
LIMIT_S: Final = 20.0
NO_STACK: Final = "holdfast: no stack: {}\n"


def outside_stack(pid: int) -> str:
    """Return the stack of a process' main thread as faulthandler writes it; a line that says why there is none otherwise."""
    program = shutil.which(str(Path(sys.executable).with_name(PY_SPY))) or shutil.which(PY_SPY)
    if program is None:
        return NO_STACK.format(
            f"the process does not write its own, and py-spy is not installed: {install_command(EXTRA)}"
        )
    words = [program, "dump", "--nonblocking", "--json", "--pid", str(pid)]
    try:
        dumped = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=True)  # noqa: S603 - no shell reads the words
        threads = parse_json(dumped.stdout)
        return "".join(_as_faulthandler(next(each for each in threads if each["thread_name"] == "MainThread")))
    except subprocess.CalledProcessError as error:
        return NO_STACK.format(f"py-spy: {error.stderr.partition(chr(10))[0]}")
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError, StopIteration) as error:
        return NO_STACK.format(f"py-spy: {type(error).__name__}: {error}")


def _as_faulthandler(thread: Mapping[str, Any]) -> Iterator[str]:
    frames: Sequence[Mapping[str, Any]] = thread["frames"]
    yield f"Current thread 0x{thread['thread_id']:016x} (most recent call first):\n"
    for each in frames:
        yield f'  File "{each["filename"]}", line {each["line"]} in {each["name"].rpartition(".")[2]}\n'
