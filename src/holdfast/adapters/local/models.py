"""Models, adapters and tokenizers in folders of this machine, and models that holdfast makes itself.

Covered: the files of a folder, what the small ones say, and of the weights in safetensors what their headers tell.
Not covered: weights in other formats, of which only the names are read; the Hub, which `adapters.hub` asks.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.adapters.foreign_files import expanded, read_foreign
from holdfast.adapters.local.model_files import ADAPTER, CONFIG, INDEX, WHOLE, model_of, wanted
from holdfast.adapters.local.weights import Tensor, read_tensor_header
from holdfast.catalog.builtin import BUILTIN
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.catalog.models.builtin_models import builtin_model, builtin_tensors
from holdfast.catalog.models.chat_templates import ENDINGS
from holdfast.core.check.facts import ModelFacts
from holdfast.core.errors import SourceError

if TYPE_CHECKING:
    from holdfast.core.job_file.job import (
        Model as BaseModel,  # for the type alone: pydantic takes longer to import than a script to check
    )

TEMPLATES: Final = "additional_chat_templates"
VOCABULARY: Final = "tokenizer.json"
BESIDE_VOCABULARY: Final = ("added_tokens.json", "special_tokens_map.json", "tokenizer_config.json")
"""Files that name tokens which are added when the tokenizer is loaded."""
LARGEST: Final = 64_000_000
"""In bytes; a longer file is none of those that say something of a model."""
ADAPTER_WEIGHTS: Final = "adapter_model.safetensors"
QUANTIZED: Final = "quantization_config"
INTEGERS: Final = ("I", "U", "BOOL")
"""How their types begin in safetensors."""
WEIGHT: Final = ".weight"


class LocalModels:
    """Models on this machine."""

    def __init__(self, folder: Path = Path()) -> None:
        """Take the folder that relative paths start from."""
        self._folder = folder

    def fetch(self, model: "BaseModel") -> ModelFacts:
        """Return the known facts about a base model.

        Raises:
            SourceError: It is one of the Hub's.
        """
        found = self.find(model.path)
        if found is None:
            raise SourceError(f"{model.path} is not a local path", where=model.path, fix="download it into a folder")
        return found

    def find(self, name: str) -> ModelFacts | None:
        """Return the facts about the folder of a model, an adapter or a tokenizer; None if the name is one of the Hub's.

        Args:
            name: As a job writes it, of a chat template too. For a path that cannot be a Hub id and does not exist, no files are listed.
        """
        if made := builtin_model(name):
            return made
        path = self._path(name)
        if _is_folder(path):
            return read_model(path)
        if name.endswith(ENDINGS) and path.is_file():
            return ModelFacts(files=frozenset({path.name}), chat_template=_read(path))
        return ModelFacts(files=None) if not may_be_repository(name) or name.startswith(BUILTIN) else None

    def tensors(self, name: str) -> frozenset[str]:
        """Return the names of the weights in a model's folder.

        Raises:
            SourceError: They are in another format than safetensors, they are damaged, or there is no such folder.
        """
        if made := builtin_tensors(name):
            return made
        path = self._path(name)
        return read_tensors(path, _names(path) if _is_folder(path) else ())

    def absent_tokens(self, name: str, tokens: Collection[str]) -> frozenset[str]:
        """Return those of some tokens that the vocabulary in a model's folder surely lacks: no file of it spells them.

        Raises:
            SourceError: The folder has no vocabulary that can be read.
        """
        path = self._path(name)
        vocabulary = _read(path / VOCABULARY) if _is_folder(path) else None
        if vocabulary is None:
            raise SourceError(f"it has no {VOCABULARY}", where=name, fix="save the tokenizer as a fast one")
        texts = [vocabulary, *filter(None, (_read(path / each) for each in BESIDE_VOCABULARY))]
        return frozenset(token for token in tokens if not any(_spells(text, token) for text in texts))

    def _path(self, name: str) -> Path:
        return self._folder / expanded(name)


def read_model(folder: Path) -> ModelFacts:
    """Return the facts about the model in a folder; a reason why it cannot be loaded is its problem.

    Raises:
        SourceError: The folder cannot be listed.
    """
    names = _names(folder)
    texts = {name: text for name in wanted(names) if (text := _read(folder / name)) is not None}
    model = model_of(names, texts)
    try:
        tensors = _headers(folder, names, model.shards)
        if ADAPTER in names and ADAPTER_WEIGHTS in names:
            read_tensor_header(folder / ADAPTER_WEIGHTS)
    except SourceError as damage:
        return replace(model, problem=model.problem or damage.what)
    problem = "" if QUANTIZED in texts.get(CONFIG, QUANTIZED) else _integers(tensors)
    return replace(model, parameters=_count(tensors.values()), problem=model.problem or problem)


def _integers(tensors: Mapping[str, Tensor]) -> str:
    """Return what is wrong with the weights of a model that is not quantized, if some are integers; transformers takes them as numbers."""
    whole = (name for name, each in tensors.items() if each.dtype.startswith(INTEGERS) and name.endswith(WEIGHT))
    return next((f"{name} is stored as {tensors[name].dtype}, and weights are no integers" for name in whole), "")


def read_tensors(folder: Path, names: Collection[str]) -> frozenset[str]:
    """Return the names of a folder's weights, out of the headers of its safetensors files.

    Args:
        folder: The folder.
        names: Of its files.

    Raises:
        SourceError: There are none, or one of them is damaged.
    """
    shards = model_of(names, {INDEX: _read(folder / INDEX) or ""} if INDEX in names else {}).shards
    found = _headers(folder, names, shards)
    if not found:
        raise SourceError("the names of its weights are not known", where=str(folder), fix="save it as safetensors")
    return frozenset(found)


def _headers(folder: Path, names: Collection[str], shards: Iterable[str]) -> dict[str, Tensor]:
    """Return all tensors that are loaded; a shard that is not there has none."""
    files = [WHOLE] if WHOLE in names else sorted(set(shards).intersection(names))
    return {name: tensor for file in files for name, tensor in read_tensor_header(folder / file).items()}


def _count(tensors: Iterable[Tensor]) -> dict[str, int]:
    numbers = Counter[str]()
    for tensor in tensors:
        numbers[tensor.dtype] += tensor.count
    return dict(numbers)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # of a name that no file system would take
        return False


def _spells(text: str, token: str) -> bool:
    """True if a JSON text holds a token as a string, in either spelling of what is not ASCII."""
    return any(json.dumps(token, ensure_ascii=each) in text for each in (True, False))


def _names(folder: Path) -> frozenset[str]:
    try:
        here = [file.name for file in folder.iterdir() if file.is_file()]
        beside = [f"{TEMPLATES}/{file.name}" for file in (folder / TEMPLATES).glob("*.jinja")]
    except OSError as error:
        raise SourceError(
            f"the folder cannot be listed: {error.strerror}", where=str(folder), fix="look at it"
        ) from error
    return frozenset([*here, *beside])


def _read(path: Path) -> str | None:
    """Return the text of a small file; None if it cannot be read, as of a `config.json` of several gigabytes."""
    try:
        return read_foreign(path, LARGEST).decode()
    except (OSError, UnicodeDecodeError):
        return None
