"""Does the work of a request, one dataset after the other; one that fails does not stop the others."""

import json
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..calls import RaisedCall, attempt_aloud, claim_output, describe_error, end_with_parent
from .work_request import ModelRequest, read_request

if TYPE_CHECKING:
    from .loading import LoadedModel


def main(path: Path) -> None:
    """Do the work; tell on standard output what happens. Whatever the libraries print goes to standard error."""
    end_with_parent()
    events = claim_output()

    def tell(event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), file=events, flush=True)

    model, work = read_request(path)
    loaded = attempt_aloud(lambda: _load(model))
    if isinstance(loaded, RaisedCall):
        is_adapter = model.adapter is not None and _is_peft(loaded.error)
        tell("unusable", because=describe_error(loaded.error), adapter=is_adapter)
        return
    from .dataset_work import do, kind_of  # which the model's loading has imported

    tell("loaded", **loaded.describe())
    for each in work:
        tell("started", name=each.name)
        done = attempt_aloud(partial(do, each, loaded, tell))
        if isinstance(done, RaisedCall):
            tell("failed", name=each.name, because=describe_error(done.error), kind=kind_of(done.error))
        else:
            tell("done", name=each.name)


def _load(model: ModelRequest) -> "LoadedModel":
    """Load the model, and the code that works with it: with torch, whose import may fail."""
    from . import dataset_work  # noqa: F401 - see above
    from .loading import load_model

    return load_model(model)


def _is_peft(error: BaseException) -> bool:
    return any("/peft/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
