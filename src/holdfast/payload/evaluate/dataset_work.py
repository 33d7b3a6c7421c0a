"""The work for one dataset: the outputs of its rows, and the kind of error that it fails with."""

import errno
import json
import math
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from .batching import OutOfMemoryRowError, is_out_of_memory, run_batches
from .generating import Generating
from .gguf import GgufModel, GgufScoring
from .loading import LoadedModel
from .scoring import Classifying, Scoring
from .vision import VisionScoring
from .work_request import WorkRequest

FULL = (errno.ENOSPC, errno.EDQUOT)


class NotFiniteError(Exception):
    """The model gives numbers that are none."""


def do(work: WorkRequest, loaded: LoadedModel, tell: Callable[..., None]) -> None:
    """Write the outputs of the rows of one dataset that have none yet."""
    rows = work.read_rows()
    worker = _worker(work, loaded)
    prepared = [worker.prepare(row) for row in rows]
    done = 0
    with Path(work.out).open("a", encoding="utf-8") as out:
        batches = run_batches(
            prepared,
            worker.length,
            worker.run,
            work.batch_size,
            lambda size: tell("shrunk", name=work.name, batch_size=size),
        )
        for outputs in batches:
            refuse_not_finite(outputs)
            out.write("".join(json.dumps(output) + "\n" for output in outputs))
            out.flush()
            os.fsync(out.fileno())
            done += len(outputs)
            tell("progress", name=work.name, done=done, of=len(rows))


def _worker(work: WorkRequest, loaded: LoadedModel) -> Any:
    """Return what does a kind of work."""
    if work.kind == "respond":
        from .responding import Responding  # with lm-eval, which datasets need not

        return Responding(loaded, work.batch_size)
    if work.kind == "generate":
        return Generating(loaded, work.generation)
    return Classifying(loaded) if work.kind == "classify" else _scorer(loaded)


def _scorer(loaded: LoadedModel) -> Any:
    """Return what gives log-likelihoods."""
    if isinstance(loaded.model, GgufModel):
        return GgufScoring(loaded)
    return Scoring(loaded) if loaded.processor is None else VisionScoring(loaded)


def refuse_not_finite(outputs: list[dict[str, Any]]) -> None:
    """Raise if a score is no number: no figure made of it would mean anything."""
    for output in outputs:
        values = [*output.get("logits", ()), *(score for score, _ in output.get("scores", ()))]
        if any(map(math.isnan, values)):
            raise NotFiniteError(f"row {output['row']}: the model's likelihoods are NaN")
        if not all(map(math.isfinite, _likelihoods(output))):
            raise NotFiniteError(f"row {output['row']}: a likelihood of the model is no finite number")


def _likelihoods(output: dict[str, Any]) -> Iterator[float]:
    """Yield the likelihoods among the responses to the calls of a row; the others are texts."""
    for response in chain.from_iterable(output.get("responses", ())):
        value = response[0] if isinstance(response, list) else response
        if not isinstance(value, str):
            yield value


def kind_of(error: BaseException) -> str:
    """Return the kind of an error that a dataset failed with."""
    if isinstance(error, OutOfMemoryRowError) or is_out_of_memory(error):
        return "memory"
    if isinstance(error, NotFiniteError):
        return "not finite"
    if isinstance(error, OSError) and error.errno in FULL:
        return "disk"
    return "template" if type(error).__module__.startswith("jinja2") or "chat template" in str(error) else "other"
