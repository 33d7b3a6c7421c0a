"""Does one stage of an export, and answers on standard output, in one line of JSON. What libraries print goes to standard error.

`python -m holdfast.payload.export STAGE REQUEST`, where REQUEST is a file of JSON with the fields of the stage's request.
"""

import errno
import json
import math
import resource
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..calls import RaisedCall, attempt_aloud, claim_output, describe_error, end_with_parent, shorten_error
from .converter import Converter
from .errors import ExportError

FULL = (errno.ENOSPC, errno.EDQUOT)
KIB = 1024


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


def main(stage: str, request: Path) -> None:
    """Do a stage, and answer."""
    end_with_parent()
    answers = claim_output()
    done = attempt_aloud(lambda: STAGES[stage](json.loads(request.read_text(encoding="utf-8"))))
    if isinstance(done, RaisedCall):
        answer: dict[str, Any] = {"failed": kind_of(done.error), "because": describe(done.error)}
    else:
        answer = {name: None if _is_infinite(value) else value for name, value in done.items()}
        answer["peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    print(json.dumps(answer), file=answers, flush=True)


def _is_infinite(value: object) -> bool:
    """True of a number that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


def kind_of(error: BaseException) -> str:
    """Return the kind of an error."""
    if isinstance(error, ExportError):
        return error.kind
    if _is_full(error):
        return "disk"
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower() or "can't allocate memory" in str(error):
        return "memory"
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if any("/conversion/" in each or "/gguf-py/" in each for each in frames):
        return "converter"
    return "adapter" if any("/peft/" in each for each in frames) else "other"


def _is_full(error: BaseException) -> bool:
    """True if the disk was full; libraries that write in Rust or C say it in words alone."""
    numbered = isinstance(error, OSError) and error.errno in FULL
    return numbered or any(words in str(error) for words in ("No space left on device", "os error 28"))


def describe(error: BaseException) -> str:
    """Return an error in one line."""
    return shorten_error(error) if isinstance(error, ExportError) else describe_error(error)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
