"""The data on this machine that the calls of a program read: files by a builder, folders, and what was saved before.

Source: the signatures of datasets 5.2; `tests/engine/references/test_training_data.py` compares them with the installed ones.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.catalog.hub.repositories import FILE_ENDING, may_be_repository
from holdfast.core.check.reference import DataFiles, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document
from holdfast.engine.references.given import ArgumentLookup
from holdfast.engine.references.names import split_of, texts_in
from holdfast.engine.references.table import BUILDERS, FUNCTIONS

COMMAND: Final = "trl "
NAME: Final = "dataset_name"
LOAD: Final = "datasets.load_dataset"
FROM_FILES: Final[Mapping[str, str]] = {
    f"datasets.Dataset.from_{builder}": builder for builder in ("json", "csv", "parquet", "text")
}
"""Methods that read files, each with the builder that it reads them by."""
FILES: Final = "path_or_paths"
FROM_DISK: Final[Mapping[str, str]] = {
    "datasets.load_from_disk": "dataset_path",
    "datasets.Dataset.load_from_disk": "dataset_path",
    "datasets.DatasetDict.load_from_disk": "dataset_dict_path",
}
"""What reads a folder that `save_to_disk` wrote, each with the parameter that names it."""
SAVED, A_FOLDER = "saved", "folder"
TRAIN: Final = "train"
HARMLESS: Final = frozenset(
    {"path", "name", "data_files", "data_dir", "split", FILES, *FROM_DISK.values()}
    | {"cache_dir", "keep_in_memory", "num_proc", "streaming", "save_infos", "download_mode", "verification_mode"}
    | {"revision", "token", "trust_remote_code"}
)
"""Arguments that do not change which columns are read."""
ADDRESS: Final = ("://", "::", "\\")
"""What is in the name of a file that lies elsewhere, or that this machine would read otherwise."""


def local_data(document: Document) -> Iterator[Reference]:
    """Yield the data that a program reads from files and folders, where the source names them."""
    for call in document.calls:
        if call.via != "partial" and not call.guard.because:
            yield from _read_by(document, call)


def _read_by(document: Document, call: Call) -> Iterable[Reference]:
    """Return the data that a call reads."""
    if call.path == LOAD:
        return _loaded(ArgumentLookup(document, call, FUNCTIONS[LOAD].positions))
    if call.path in FROM_FILES:
        return _read(ArgumentLookup(document, call, (FILES,)), FILES, FROM_FILES[call.path])
    if call.path in FROM_DISK:
        return _read(ArgumentLookup(document, call, (FROM_DISK[call.path],)), FROM_DISK[call.path], SAVED)
    if call.path.startswith(COMMAND) and not call.open:
        return _named(ArgumentLookup(document, call))
    return ()


def _loaded(given: ArgumentLookup) -> Iterator[Reference]:
    """Yield the data that `load_dataset` reads: files by a builder, or the folder that it gets as a name."""
    name, inside = given.value("path"), given.value("data_dir")
    if name in BUILDERS and inside in (None, ""):
        yield from _read(given, "data_files", str(name))
    elif isinstance(name, str) and _is_folder(name) and given.value("data_files") is None and inside in (None, ""):
        yield from _read(given, "path", A_FOLDER)


def _named(given: ArgumentLookup) -> Iterator[Reference]:
    """Yield the folder that a command of TRL's reads: it loads what is named, and takes one split of it."""
    name, split = given.value(NAME), given.value("dataset_train_split")
    if isinstance(name, str) and _is_folder(name) and given.value("dataset_config") is None:
        wanted = TRAIN if split is None else split
        yield from (replace(each, split=split_of(wanted)) for each in _read(given, NAME, A_FOLDER))


def _is_folder(name: str) -> bool:
    """True if a name can only be that of a folder: a file in its place has a rule of its own."""
    return bool(name) and name not in BUILDERS and not may_be_repository(name) and not FILE_ENDING.search(name)


def _read(given: ArgumentLookup, argument: str, reader: str) -> Iterator[Reference]:
    splits, wanted = _splits(given.value(argument)), given.value("split")
    names = [name for _, files in splits for name in files]
    if not names or any(sign in name for name in names for sign in ADDRESS):
        return
    call = given.call
    yield Reference(
        role="dataset",
        name=names[0],
        key=given.key(argument),
        place=given.place(argument),
        repo_kind="dataset",
        split=split_of(wanted),
        files=tuple(names),
        label=call.label,
        guard=call.guard,
        local=True,
        read=DataFiles(reader=reader, splits=splits, options=_options(call)),
    )


def _options(call: Call) -> tuple[str, ...]:
    """Return the arguments that change what is read, or may; without a name, that others may be among them."""
    if call.path.startswith(COMMAND):
        return ()
    return (*(name for name in call.arguments if name not in HARMLESS), *("**",) * call.open)


def _splits(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the files of each split; none if one of them is not known.

    >>> _splits("a.json"), _splits({"test": ["b.json"]}), _splits(3)
    ((('train', ('a.json',)),), (('test', ('b.json',)),), ())
    """
    named = value if isinstance(value, dict) else {TRAIN: value}
    found = [(str(split), texts) for split, files in named.items() if (texts := texts_in(files))]
    return tuple(found) if len(found) == len(named) else ()
