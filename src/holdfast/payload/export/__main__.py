"""Does the stages of an export, each in a fork of this process, which has imported the libraries.

Each line of standard input is JSON: `stage`, `request` with the fields of the stage's request, and `answer`, the file for its answer.
When a stage has ended, its exit code is a line on standard output. What libraries print goes to standard error.
"""

import errno
import json
import math
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from select import select
from typing import Any

from ..calls import RaisedCall, attempt_aloud, claim_output, describe_error, shorten_error
from ..whole_weights import WeightsError
from .converter import Converter
from .errors import ExportError

KNOWN = (ExportError, WeightsError)
"""Errors whose message says all."""
FULL = (errno.ENOSPC, errno.EDQUOT)
KIB = 1024
ORIGINS = {"/conversion/": "converter", "/gguf-py/": "converter", "/peft/": "adapter"}
"""Kinds of errors by the folder of the code that raised them."""
LOOK_S = 0.02
"""Seconds between two looks at whether a stage has ended."""


def _merge(request: dict[str, Any]) -> dict[str, Any]:
    from .merging import MergeRequest, merge

    return merge(MergeRequest(**request))


def _vocabulary(request: dict[str, Any]) -> dict[str, Any]:
    from .vocabulary import VocabularyRequest, look

    return look(VocabularyRequest(**request))


def _reference(request: dict[str, Any]) -> dict[str, Any]:
    from .reference import ReferenceRequest, refer

    return refer(ReferenceRequest(**request))


def _convert(request: dict[str, Any]) -> dict[str, Any]:
    words = ("--outtype", "f16", "--model-name", request["name"])
    Converter(request["converter"]).convert(
        Path(request["model"]), Path(request["out"]), *words, pre_tokenizer=request["pre_tokenizer"]
    )
    return {}


def _quantize(request: dict[str, Any]) -> dict[str, Any]:
    from .runtime import quantize

    quantize(request["file"], request["out"], request["file_type"])
    return {}


def _prove(request: dict[str, Any]) -> dict[str, Any]:
    from .proving import ProofRequest, prove

    return prove(ProofRequest(**request))


STAGES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "merge": _merge,
    "vocabulary": _vocabulary,
    "reference": _reference,
    "convert": _convert,
    "quantize": _quantize,
    "prove": _prove,
}


def main() -> None:
    """Do one stage after the other, until standard input is closed."""
    codes = claim_output()
    attempt_aloud(load_libraries)  # what is not installed, the stage that needs it tells
    for line in iter(sys.stdin.readline, ""):
        print(_forked(json.loads(line)), file=codes, flush=True)


def load_libraries() -> None:
    """Import what every stage needs."""
    for name in ("torch", "transformers", "transformers.models.auto.modeling_auto"):
        import_module(name)


def _forked(given: dict[str, Any]) -> int:
    """Run a stage in a fork; return its exit code. Both processes end if standard input is closed: the answer is no longer wanted."""
    sys.stderr.flush()
    child = os.fork()
    if not child:
        try:
            do(given["stage"], given["request"], Path(given["answer"]))
        finally:
            sys.stderr.flush()
            os._exit(0)
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if select([sys.stdin], [], [], LOOK_S)[0]:
            os.killpg(0, signal.SIGKILL)
    return os.waitstatus_to_exitcode(ended[1])


def do(stage: str, request: dict[str, Any], out: Path) -> None:
    """Do a stage, and write its answer."""
    done = attempt_aloud(lambda: STAGES[stage](request))
    if isinstance(done, RaisedCall):
        answer: dict[str, Any] = {"failed": kind_of(done.error), "because": describe(done.error)}
    else:
        answer = {name: None if _is_infinite(value) else value for name, value in done.items()}
        answer["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    out.write_text(json.dumps(answer), encoding="utf-8")


def _is_infinite(value: object) -> bool:
    """True of a number that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


def kind_of(error: BaseException) -> str:
    """Return the kind of an error."""
    if isinstance(error, KNOWN):
        return error.kind
    if _is_full(error):
        return "disk"
    if _is_out_of_memory(error):
        return "memory"
    files = "\n".join(frame.filename for frame in traceback.extract_tb(error.__traceback__))
    return next((kind for folder, kind in ORIGINS.items() if folder in files), "other")


def _is_out_of_memory(error: BaseException) -> bool:
    """True if the memory of the machine or of a GPU was full; torch says it in words alone."""
    words = str(error)
    return isinstance(error, MemoryError) or "out of memory" in words.lower() or "can't allocate memory" in words


def _is_full(error: BaseException) -> bool:
    """True if the disk was full; libraries that write in Rust or C say it in words alone."""
    numbered = isinstance(error, OSError) and error.errno in FULL
    return numbered or any(words in str(error) for words in ("No space left on device", "os error 28"))


def describe(error: BaseException) -> str:
    """Return an error in one line."""
    return shorten_error(error) if isinstance(error, KNOWN) else describe_error(error)


if __name__ == "__main__":
    main()
