"""Does the work of a request, one dataset after the other; one that fails does not stop the others."""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from .work_request import read_request

WORDS = 600


def main(path: Path) -> None:
    """Do the work; tell on standard output what happens. Whatever the libraries print goes to standard error."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}), file=events, flush=True)

    model, work = read_request(path)
    try:
        from .dataset_work import do, kind_of  # with torch, which may fail to be imported
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


def describe(error: BaseException) -> str:
    """Return an error in one line."""
    words = " ".join(str(error).split())[:WORDS]
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _is_peft(error: BaseException) -> bool:
    return any("/peft/" in frame.filename for frame in traceback.extract_tb(error.__traceback__))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
