"""Which of the script's models are its own work of this rehearsal, and which model stands in place of them all."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..part_request import PartRequest
from ..wrapping import when_imported, wrap

LOADERS = {
    "transformers.configuration_utils": ("PretrainedConfig", "PreTrainedConfig"),
    "transformers.tokenization_utils_base": ("PreTrainedTokenizerBase",),
    "transformers.processing_utils": ("ProcessorMixin",),
    "transformers.models.auto.configuration_auto": ("AutoConfig",),
    "transformers.models.auto.tokenization_auto": ("AutoTokenizer",),
    "transformers.models.auto.processing_auto": ("AutoProcessor",),
    "transformers.models.auto.image_processing_auto": ("AutoImageProcessor",),
    "transformers.models.auto.feature_extraction_auto": ("AutoFeatureExtractor",),
    "transformers.models.auto.auto_factory": ("_BaseAutoModelClass",),
    "transformers.generation.configuration_utils": ("GenerationConfig",),
}


PATH = "pretrained_model_name_or_path"


def given(args: Sequence[Any], kwargs: Mapping[str, Any], place: int, name: str) -> Any:
    """Return an argument, given by its place or by its name; None: not given."""
    return args[place] if len(args) > place else kwargs.get(name)


def with_given(
    args: Sequence[Any], kwargs: Mapping[str, Any], place: int, name: str, value: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with another value of one that is given by its place or by its name."""
    if len(args) > place:
        return (*args[:place], value, *args[place + 1 :]), dict(kwargs)
    return tuple(args), {**kwargs, name: value}


def written_at(path: Any, part_request: PartRequest) -> str:
    """Return where a model lies that this rehearsal wrote, else an empty text.

    >>> written_at("org/model", PartRequest(script="", source="", folder="/nowhere"))
    ''
    """
    if not isinstance(path, str | os.PathLike) or not str(path):
        return ""
    whole = os.path.abspath(os.fspath(path))  # noqa: PTH100 - a shadow is at the same place, links and all
    shadow = f"{part_request.inside}{whole}"
    if Path(shadow).is_dir():
        return shadow
    return whole if part_request.owns(whole) and Path(whole).is_dir() else ""


def in_place_of(path: Any, part_request: PartRequest) -> Any:
    """Return the path to load in place of the script's."""
    if written := written_at(path, part_request):
        return written
    return part_request.known_model or path


def without_place(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that say where in a repository something lies."""
    return {name: value for name, value in kwargs.items() if name not in ("revision", "subfolder", "variant")}


def install(part_request: PartRequest) -> None:
    """Have configurations, tokenizers and processors come from where the model does."""

    def around(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        path = given(args, kwargs, 0, PATH)
        there = in_place_of(path, part_request)
        if there is not path:
            args, kwargs = with_given(args, kwargs, 0, PATH, there)
            kwargs = without_place(kwargs)
        return original(cls, *args, **kwargs)

    for name, classes in LOADERS.items():
        when_imported(name, partial(_watch, classes=classes, around=around))


def _watch(module: Any, classes: tuple[str, ...], around: Any) -> None:
    seen: list[Any] = []
    for name in classes:
        for owner in _with_heirs(getattr(module, name, None)):
            if owner not in seen:
                seen.append(owner)
                wrap(owner, "from_pretrained", around)


def _with_heirs(owner: Any) -> list[Any]:
    """Return a class and those under it with a function of their own: automatic ones have copies."""
    if owner is None:
        return []
    below = [heir for each in owner.__subclasses__() for heir in _with_heirs(each)]
    return [owner, *(each for each in below if "from_pretrained" in vars(each))]
