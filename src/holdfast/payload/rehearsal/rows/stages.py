"""The stage of a script that makes and shapes its rows: `data`, until it has a tokenizer or a model to work with."""

from typing import Any

from ..events import EventWriter
from ..wrapping import wrap
from .noting import MADE

SHAPED = (
    "cast",
    "cast_column",
    "class_encode_column",
    "flatten",
    "remove_columns",
    "rename_column",
    "rename_columns",
    "select",
    "select_columns",
    "sort",
    "train_test_split",
)
"""Methods of `datasets.Dataset` that give another one, without a function of the script's."""
WORKED = ("map", "filter")
"""Those that call one."""


def install_stages(module: Any, events: EventWriter) -> None:
    """Report what goes wrong with rows as of its stage."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        if events.stage != "import":
            return original(*args, **kwargs)
        with events.during("data"):
            return original(*args, **kwargs)

    def work(original: Any, *args: Any, **kwargs: Any) -> Any:
        if events.outside != "model" or events.stage != "model":
            return around(original, *args, **kwargs)
        with events.during("tokenize"):
            return original(*args, **kwargs)

    for name in (*MADE, *SHAPED):
        wrap(module.Dataset, name, around)
    for name in WORKED:
        wrap(module.Dataset, name, work)
