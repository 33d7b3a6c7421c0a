"""The process that does the stages of an export; it is ended with all that it started."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from select import select
from signal import SIGKILL
from typing import Any, Final, Generic, Self, TypeVar

from msgspec import DecodeError, Struct, ValidationError, json

from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.environment.threads import PATIENT_THREADS
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.export import StageAnswer

MARK: Final = "HOLDFAST_EXPORT"
"""Variable by which processes are known that the export started, wherever they went."""
HEED_S: Final = 0.5
"""Seconds between two looks at what the person wants, while a stage is done."""
SHOWN: Final = 600
"""Characters of what a process last wrote that are shown."""
VARIABLES: Final = {
    **PATIENT_THREADS,
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "CUDA_VISIBLE_DEVICES": "",
}
Answer = TypeVar("Answer", bound=StageAnswer)


class FailedStage(Struct, frozen=True):
    """Why a stage failed, as its process tells it.

    Attributes:
        failed: What is wrong, in a word; `killed` or `died` if the process did not live to tell.
        because: What is wrong.
    """

    failed: str
    because: str


@dataclass(frozen=True, slots=True)
class StageReport(Generic[Answer]):
    """What came of a stage.

    Attributes:
        answer: Its answer, or why there is none.
        elapsed_s: How long it took.
    """

    answer: Answer | FailedStage
    elapsed_s: float


class StageProcess:
    """The process that does the stages of an export. It imports torch once, and does each stage in a fork of itself.

    So a stage that dies, or that changes libraries, does not concern the next one. It starts with the first stage.
    """

    def __init__(self, *, offline: bool) -> None:
        """Take what holds for all stages.

        Args:
            offline: Don't contact the Hub.
        """
        self._variables = {**VARIABLES, **({"HF_HUB_OFFLINE": "1"} if offline else {})}
        self._kept = ExitStack()
        self._child: subprocess.Popen[bytes] | None = None
        self._box = Path()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, with all that it started."""
        self._kept.close()
        self._child = None

    def run(
        self,
        stage: str,
        request: Mapping[str, Any],
        answer: type[Answer],
        *,
        heed: Callable[[], None] = lambda: None,
    ) -> StageReport[Answer]:
        """Do a stage.

        Args:
            stage: The stage.
            request: The fields of its request.
            answer: The type of its answer.
            heed: Called again and again; the stage is ended if it raises.
        """
        began = time.monotonic()
        child = self._child = self._child or self._start()
        written, log = self._box / "answer.json", self._box / "stderr.log"
        written.unlink(missing_ok=True)
        before = log.stat().st_size
        code = _ended(child, {"stage": stage, "request": request, "answer": str(written)}, heed)
        out = written.read_bytes() if written.exists() else b""
        errors = log.read_bytes()[before:]
        if child.poll() is not None:
            self.__exit__()  # it died itself; the next stage gets another
        return StageReport(read_answer(out, errors, code, answer), time.monotonic() - began)

    def _start(self) -> "subprocess.Popen[bytes]":
        self._box = Path(self._kept.enter_context(scratch_folder("holdfast-export-")))
        errors = self._kept.enter_context((self._box / "stderr.log").open("wb"))
        return self._kept.enter_context(
            marked_child(
                [sys.executable, "-P", "-m", "holdfast.payload.export"],
                MARK,
                variables=self._variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        )


def _ended(child: "subprocess.Popen[bytes]", words: Mapping[str, Any], heed: Callable[[], None]) -> int:
    """Have a stage done; return the exit code that its fork ended with, or that of the process itself if that died."""
    if child.stdin is None or child.stdout is None:
        raise ValueError("the process has no pipes")
    with suppress(BrokenPipeError):
        child.stdin.write(json.encode(words) + b"\n")
        child.stdin.flush()
    while not select([child.stdout], [], [], HEED_S)[0]:
        heed()
    line = child.stdout.readline()
    return int(line) if line else child.wait()


def read_answer(out: bytes, errors: bytes, code: int, answer: type[Answer]) -> Answer | FailedStage:
    """Return the answer of a stage that has ended.

    Args:
        out: What it answered; empty if it did not.
        errors: What it and its libraries printed.
        code: The exit code.
        answer: The type of its answer.
    """
    with suppress(DecodeError, ValidationError):
        return json.decode(out, type=FailedStage)
    with suppress(DecodeError, ValidationError):
        return json.decode(out, type=answer)
    if code == -SIGKILL:
        return FailedStage("killed", "the process was killed, most likely by the system for want of memory")
    last = errors.decode("utf-8", "replace").strip()[-SHOWN:]
    return FailedStage("died", f"the process ended with exit code {code}" + (f": {last}" if last else ""))
