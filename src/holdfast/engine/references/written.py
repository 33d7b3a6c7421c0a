"""What a program writes itself: folders and repositories that need not be there before."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from holdfast.catalog.data.files import READ, ending_of
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown

SAVES_MODEL: Final = frozenset(
    {"save_model", "save_pretrained", "save_pretrained_merged", "save_pretrained_gguf", "save_checkpoint", "save_lora"}
)
"""Methods whose first argument is the folder of a model that they make."""
MAKES: Final = frozenset({"save_to_disk", "makedirs", "mkdir"})
"""Methods and functions whose first argument is another folder that they make."""
FOLDERS: Final = frozenset(
    {"output_dir", "local_dir", "save_directory", "save_dir", "output_path", "output_folder", "out_dir", "target_dir"}
    | {"dataset_path", "dataset_dict_path", "saved_model_path", "save_path", "merged_dir", "logging_dir", "cache_dir"}
)
"""Parameters that take the name of such a folder."""
OTHERS: Final = frozenset(
    {"ModelConfig", "ScriptArguments", "DatasetMixtureConfig", "BitsAndBytesConfig", "AutoConfig"}
)
"""Configs of something else than a trainer."""
REMOVES: Final = frozenset({"delete_repo", "move_repo"})


@dataclass(frozen=True, slots=True)
class WrittenPaths:
    """What a program writes.

    Attributes:
        folders: Its folders, without a slash at the end.
        hidden: Whether it writes to folders whose names cannot be seen.
        hides_model: Whether it saves a model in such a folder.
    """

    folders: frozenset[str]
    hidden: bool
    hides_model: bool = False

    def holds(self, name: str) -> bool:
        """True if a name is, or may be, that of something which the program writes first.

        >>> WrittenPaths(frozenset({"out"}), hidden=False).holds("out/final"), WrittenPaths(frozenset(), hidden=True).holds("gpt2")
        (True, True)
        """
        hidden = self.hidden or (self.hides_model and may_be_model(name))
        if hidden and "/" not in name:
            return True
        plain = plain_folder(name)
        return any(plain == folder or plain.startswith(f"{folder}/") for folder in self.folders)


def read_written(document: Document) -> WrittenPaths:
    """Return the paths that a program writes; a job file's script uses names of its own."""
    models = list(_models(document))
    others = list(_folders(document))
    named = frozenset(plain_folder(value) for value in (*models, *others) if isinstance(value, str) and value)
    return WrittenPaths(named - {""}, hidden=_hides(others), hides_model=_hides(models))


def _hides(values: Iterable[Any]) -> bool:
    return any(isinstance(value, Unknown) for value in values)


def _models(document: Document) -> Iterator[Any]:
    for call in document.calls:
        if call.name in SAVES_MODEL:
            yield from (*call.positional[:1], *_named_folders(call))


def _named_folders(call: Call) -> Iterator[Any]:
    return (value for name, value in call.arguments.items() if name in FOLDERS and name != "cache_dir")


def _folders(document: Document) -> Iterator[Any]:
    yield document.get("train.output_dir", None)
    for call in document.calls:
        if call.name not in SAVES_MODEL:
            yield from _named_folders(call)
        if call.name in MAKES:
            yield from call.positional[:1]
        if _configures(call):
            yield from call.positional[:1]  # `output_dir`
            if call.open:
                yield Unknown()


def _configures(call: Call) -> bool:
    """True if a call makes the config of a trainer."""
    named = call.name.endswith(("Config", "Arguments")) and call.name not in OTHERS
    return named and call.package in ("trl", "transformers")


def may_be_model(name: str) -> bool:
    """True if a name may be that of a model's folder: it does not end as a data file does.

    >>> may_be_model("out/merged"), may_be_model("rows.jsonl")
    (True, False)
    """
    return ending_of(name.rpartition("/")[2]) not in READ


def plain_folder(folder: str) -> str:
    """Return a path without the `./` and the `/` that it may have at its ends."""
    return folder.removeprefix("./").rstrip("/")


def remade(calls: Iterable[Call]) -> bool:
    """True if a program deletes or moves repositories, so that what is there now says little."""
    return any(call.package == "huggingface_hub" and call.name in REMOVES for call in calls)
