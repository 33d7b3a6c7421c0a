"""Base models: what is in their folders.

Covered: folders on this machine, and models that holdfast makes itself. Not covered: the Hub, which is not asked yet.
"""

from pathlib import Path

from holdfast.catalog.builtin import MODELS
from holdfast.core.errors import SourceError
from holdfast.core.facts import Model
from holdfast.core.job import Model as BaseModel

# Beginnings that no Hub id has.
LOCAL = ("/", "./", "../", "~")
# What a model that is made on the spot will have.
MADE = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
HUB_ID_PARTS = 2


class LocalModels:
    """Models on this machine."""

    def __init__(self, folder: Path = Path()) -> None:
        """Take the folder that relative paths start from."""
        self._folder = folder

    def fetch(self, model: BaseModel) -> Model:
        """Return the names of a model folder's files.

        Raises:
            SourceError: The model is one of the Hub's.
        """
        if model.path in MODELS:
            return Model(files=MADE)
        path = self._folder / Path(model.path).expanduser()
        if path.is_dir():
            return Model(files=frozenset(file.name for file in path.iterdir() if file.is_file()))
        if model.path.startswith(LOCAL) or len(Path(model.path).parts) > HUB_ID_PARTS:
            return Model(files=None)
        raise SourceError("models of the Hub are not looked up yet", where=model.path, fix="download it into a folder")
