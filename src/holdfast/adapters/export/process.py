"""The process that does a stage of an export; it is ended with all that it started."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from typing import Any, Final, Generic, TypeVar

from msgspec import DecodeError, Struct, ValidationError, json

from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.export import StageAnswer

MARK: Final = "HOLDFAST_EXPORT"
"""Variable by which processes are known that the export started, wherever they went."""
HEED_S: Final = 0.5
"""Seconds between two looks at what the person wants, while a stage is done."""
SHOWN: Final = 600
"""Characters of what a process last wrote that are shown."""
VARIABLES: Final = {
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


def run_stage(
    stage: str,
    request: Mapping[str, Any],
    answer: type[Answer],
    *,
    offline: bool = False,
    heed: Callable[[], None] = lambda: None,
) -> StageReport[Answer]:
    """Do a stage in a process of its own.

    Args:
        stage: The stage.
        request: The fields of its request.
        answer: The type of its answer.
        offline: Don't contact the Hub.
        heed: Called again and again; the stage is ended if it raises.
    """
    began = time.monotonic()
    with scratch_folder("holdfast-export-") as box:
        request_path = Path(box, "request.json")
        request_path.write_bytes(json.encode(request))
        with marked_child(
            [sys.executable, "-P", "-m", "holdfast.payload.export", stage, str(request_path)],
            MARK,
            variables={**VARIABLES, **({"HF_HUB_OFFLINE": "1"} if offline else {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as child:
            out, errors = _outputs(child, heed)
    return StageReport(_read(out, errors, child.returncode, answer), time.monotonic() - began)


def _outputs(child: "subprocess.Popen[bytes]", heed: Callable[[], None]) -> tuple[bytes, bytes]:
    """Return what a process has written when it has ended."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            return child.communicate(timeout=HEED_S)
        heed()


def _read(out: bytes, errors: bytes, code: int, answer: type[Answer]) -> Answer | FailedStage:
    """Return the answer of a process that has ended."""
    with suppress(DecodeError, ValidationError):
        return json.decode(out, type=FailedStage)
    with suppress(DecodeError, ValidationError):
        return json.decode(out, type=answer)
    if code == -SIGKILL:
        return FailedStage("killed", "the process was killed, most likely by the system for want of memory")
    last = errors.decode("utf-8", "replace").strip()[-SHOWN:]
    return FailedStage("died", f"the process ended with exit code {code}" + (f": {last}" if last else ""))
