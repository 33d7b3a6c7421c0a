"""Does the work of a request, one dataset after the other; one that fails does not stop the others."""

import errno
import json
import math
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .work_request import WorkRequest, read_request

WORDS = 600
FULL = (errno.ENOSPC, errno.EDQUOT)


class NotFiniteError(Exception):
    """The model gives numbers that are none."""


def main(path: Path) -> None:
    """Do the work; tell on standard output what happens. Whatever the libraries print goes to standard error."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), file=events, flush=True)

    model, work = read_request(path)
    try:
        from .loading import load_model

        loaded = load_model(model)
    except Exception as error:  # noqa: BLE001 - libraries raise what they like for a model that cannot be loaded
        traceback.print_exc()
        tell("unusable", because=describe(error), adapter=model.adapter is not None and _is_peft(error))
        return
    tell("loaded", **loaded.describe())
    for each in work:
        tell("started", name=each.name)
        try:
            do(each, loaded, tell)
        except Exception as error:  # noqa: BLE001 - one dataset's failure is not that of the others
            traceback.print_exc()
            tell("failed", name=each.name, because=describe(error), kind=kind_of(error))
        else:
            tell("done", name=each.name)


def do(work: WorkRequest, loaded: Any, tell: Callable[..., None]) -> None:
    """Write the outputs of the rows of one dataset that have none yet."""
    from .batching import run_batches
    from .generating import Generating
    from .scoring import Classifying, Scoring

    rows = work.read_rows()
    makers: dict[str, Callable[[], Any]] = {
        "generate": lambda: Generating(loaded, work.generation),
        "score": lambda: Scoring(loaded),
        "classify": lambda: Classifying(loaded),
    }
    worker = makers[work.kind]()
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


def refuse_not_finite(outputs: list[dict[str, Any]]) -> None:
    """Raise if a score is no number: no figure made of it would mean anything."""
    for output in outputs:
        values = [*output.get("logits", ()), *(score for score, _ in output.get("scores", ()))]
        if any(math.isnan(value) for value in values):
            raise NotFiniteError(f"row {output['row']}: the model's likelihoods are NaN")


def kind_of(error: BaseException) -> str:
    """Return the kind of an error that a dataset failed with."""
    from .batching import OutOfMemoryRowError, is_out_of_memory

    if isinstance(error, OutOfMemoryRowError) or is_out_of_memory(error):
        return "memory"
    if isinstance(error, NotFiniteError):
        return "not finite"
    if isinstance(error, OSError) and error.errno in FULL:
        return "disk"
    return "template" if type(error).__module__.startswith("jinja2") or "chat template" in str(error) else "other"


def describe(error: BaseException) -> str:
    """Return an error in one line."""
    words = " ".join(str(error).split())[:WORDS]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _is_peft(error: BaseException) -> bool:
    return any("/peft/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
