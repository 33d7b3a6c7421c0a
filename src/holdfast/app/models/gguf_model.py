"""A GGUF file as a model that can be evaluated."""

from pathlib import Path
from typing import Final

from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.foreign_files import expanded, is_file
from holdfast.adapters.local.gguf_files import read_gguf_metadata
from holdfast.app.extras import require_extra
from holdfast.app.models.found_model import FoundModel
from holdfast.app.models.near_files import suggest_path
from holdfast.core.errors import SourceError, UsageError

ENDING: Final = ".gguf"
TEMPLATE: Final = "tokenizer.chat_template"
MODEL: Final = "model"
"""What files of models say in `general.type`; others hold an adapter, a projector of images, or a vocabulary alone."""


def is_gguf(name: str) -> bool:
    """True of the name of a GGUF file."""
    return name.lower().endswith(ENDING)


def gguf_model(name: str, *, where: str) -> FoundModel:
    """Return the model of a GGUF file.

    Raises:
        UsageError: There is no such file, it is damaged, it cannot write, or the runtime is not installed.
    """
    path = expanded(name)
    if not is_file(path):
        fix = suggest_path(path, "name a GGUF file that is here", lambda each: is_gguf(each.name))
        raise UsageError(f"no such file: {name}", where=where, fix=fix)
    template = _template(path, where)
    require_extra("gguf", ("llama_cpp",), "a GGUF file")
    stat = path.stat()
    return FoundModel(
        name=name,
        source=ModelSource(path=str(path), tokenizer=str(path), template=template, is_gguf=True),
        identity=f"{path.name}:{stat.st_size}:{stat.st_mtime_ns}",
        template=template,
    )


def _template(path: Path, where: str) -> str | None:
    """Return the chat template of a file that holds a model which writes; None if it has none.

    Raises:
        UsageError: It is no such file.
    """
    try:
        metadata = read_gguf_metadata(path)
    except SourceError as error:
        raise UsageError(error.what, where=where, fix=error.fix) from error
    architecture, kind = metadata.get("general.architecture"), metadata.get("general.type", MODEL)
    if kind != MODEL:
        raise UsageError(f"{path} holds no model: its type is `{kind}`", where=where, fix="name the file of the model")
    if metadata.get(f"{architecture}.attention.causal") is False:
        what = f"{path} holds an encoder ({architecture}), which writes no text"
        raise UsageError(what, where=where, fix="name the folder that it was converted from")
    template = metadata.get(TEMPLATE)
    return template if isinstance(template, str) and template else None
