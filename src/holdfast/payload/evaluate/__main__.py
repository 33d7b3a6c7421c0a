"""Does the work of a request, one dataset after the other; one that fails does not stop the others."""

import json
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..calls import RaisedCall, attempt_aloud, claim_output, describe_error, shorten_error
from ..whole_weights import WeightsError
from .work_request import ModelRequest, read_request

if TYPE_CHECKING:
    from .loading import LoadedModel


def main(path: Path) -> None:
    """Do the work, and report on standard output what happens. Whatever the libraries print goes to standard error."""
    events = claim_output()

    def tell(event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), file=events, flush=True)

    model, work = read_request(path)
    loaded = attempt_aloud(lambda: _load(model))
    if isinstance(loaded, RaisedCall):
        tell(
            "unusable",
            because=_describe(loaded.error),
            adapter=model.adapter is not None and _is_of_adapter(loaded.error),
        )
        return
    tell("loaded", **loaded.model.describe())
    for each in work:
        tell("started", name=each.name)
        done = attempt_aloud(partial(loaded.do, each, loaded.model, tell))
        if isinstance(done, RaisedCall):
            tell("failed", name=each.name, because=describe_error(done.error), kind=loaded.kind_of(done.error))
        else:
            tell("done", name=each.name)


class LoadedWork(NamedTuple):
    """A model, and the code that works with it."""

    model: "LoadedModel"
    do: Callable[..., None]
    kind_of: Callable[[BaseException], str]


def _load(request: ModelRequest) -> LoadedWork:
    """Load the model, and the code that works with it: with torch, whose import may fail."""
    from . import dataset_work, gguf, loading

    load = gguf.load_gguf if request.is_gguf else loading.load_model
    return LoadedWork(load(request), dataset_work.do, dataset_work.kind_of)


def _describe(error: Exception) -> str:
    return shorten_error(error) if isinstance(error, WeightsError) else describe_error(error)


def _is_of_adapter(error: Exception) -> bool:
    if isinstance(error, WeightsError):
        return error.kind == "adapter"
    return any("/peft/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
