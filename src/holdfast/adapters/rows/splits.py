"""Which files of a folder or a repository are data, of which split: decided by their names and the README, as `datasets` does.

Nothing is imported for it but the reader of YAML, where there is a README to read.

Covered: shards, folders and files named after splits, `configs:` of a README, what `save_to_disk` wrote. Not covered: zip
archives; kinds of data that no text trainer reads.
Source: `datasets.data_files`, `datasets.load`, `datasets.packaged_modules`, 5.2. Tried: `tests/adapters/rows/test_rows_splits.py` runs both.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.rows.names import BadDataError, BadPartError
from holdfast.catalog.data.files import READ
from holdfast.catalog.data.slices import NAME
from holdfast.core.errors import SourceError, Spot
from holdfast.core.text.json_text import parse_json

Splits = dict[str, list[Path]]

# Words in the names of folders and files that tell splits apart.
KEYWORDS: Final = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
# What may stand beside such a word.
SIGN: Final = "[-._ 0-9]"
SHARD: Final = re.compile(r"data/(?P<split>[^/]+)-\d{5}-of-\d{5}[^/]*\.[^/]*")
# Names of files that are never data.
ASIDE: Final = frozenset(
    ("README.md", "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
)
# Endings of what other builders read.
UNREAD: Final = (
    ".conll", ".conllu", ".tar", ".xml", ".hdf5", ".h5", ".eval", ".toml", ".md", ".lance", ".tsfile", ".vortex", ".fa",
    ".fasta", ".fna", ".ffn", ".faa", ".frn", ".afa", ".gb", ".gbk", ".genbank", ".fq", ".fastq", ".pdb", ".ent", ".cif",
    ".mmcif", ".pdf", ".nii", ".glb", ".ply", ".stl", ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp",
    ".mp3", ".wav", ".flac", ".ogg", ".opus", ".m4a", ".mp4", ".mkv", ".avi", ".mov", ".webm", ".mpeg", ".zip",
)  # fmt: skip
BUILDERS: Final[Mapping[str, str]] = {**READ, **dict.fromkeys(UNREAD, "other")}
# In a draw, the first of these decides.
FAVOURITES: Final = (".parquet", ".lance", ".vortex", ".arrow", ".jsonl", ".json", ".csv")
METADATA: Final = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
README: Final = "README.md"
HEAD: Final = re.compile(r"\A\s*---[\r\n]+(?P<yaml>[\S\s]*?)[\r\n]+---(\r\n|\n|\Z)")
STANDALONE: Final = ".huggingface.yaml"
# What a configuration may say that tells which files it is made of, and nothing of how they are read.
KNOWN_SETTINGS: Final = frozenset(("config_name", "data_files", "data_dir", "default", "version", "description"))
# What `save_to_disk` leaves beside the data; `load_dataset` refuses such a folder.
STATE: Final = "state.json"
STATES: Final = "dataset_dict.json"
PATTERN_PARTS: Final = re.compile(r"(\*\*/?|\*|\?|\[[^]]*\])")
PARTS: Final = {"*": "[^/]*", "?": "[^/]", "**": ".*", "**/": "(?:.*/)?"}


def find_splits(folder: Path, config: str | None = None) -> Splits:
    """Return the data files of each split of a folder, as `load_dataset` finds them.

    Args:
        folder: The folder.
        config: The configuration that is requested, if one is.

    Raises:
        BadDataError: There are none, the folder cannot be listed, the configuration is not there, or the folder was written by `save_to_disk`.
        SourceError: They are of a kind, or to be read in a way, that holdfast does not know.
    """
    if is_saved(folder):
        raise BadDataError(
            f"{folder} was written by `save_to_disk`, which is read otherwise: name a file in it", folder
        )
    try:
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    except OSError as error:
        raise BadDataError(f"{folder} cannot be listed: {error.strerror or error}", folder) from error
    splits = split_files(names, read_configs(folder), config, str(folder))
    return {split: [folder / name for name in found] for split, found in splits.items()}


def split_files(
    names: Sequence[str], configs: Sequence[Mapping[str, Any]], config: str | None, where: str
) -> dict[str, list[str]]:
    """Return the data files of each split of one configuration.

    Args:
        names: All files, relative to the folder or repository, sorted.
        configs: `configs` of its README; none if it has none.
        config: The configuration that is requested; None for the default one.
        where: What the folder or repository is called, for messages.

    Raises:
        BadDataError: There are none, or the configuration is not there.
        SourceError: They are of a kind, or to be read in a way, that holdfast does not know.
    """
    if not configs:
        if config is not None and config != "default":
            what = f"{where} has no configuration `{config}`; it has one, `default`"
            raise BadPartError(what, Path(where), config)
        return _of_one_kind(group_by_split(names), where)
    chosen = _choose(configs, config, where)
    if strange := sorted(set(chosen) - KNOWN_SETTINGS):
        what = f"the README says how to read the files ({', '.join(strange)}), which holdfast does not support"
        raise SourceError(what, where=where, fix="name one file")
    return _of_one_kind(files_of_config(chosen, names), where)


def _choose(configs: Sequence[Mapping[str, Any]], config: str | None, where: str) -> Mapping[str, Any]:
    named = {str(each.get("config_name")): each for each in configs}
    if config is None:
        config = default_config(configs)
    if config is None:
        raise BadDataError(
            f"{where} has several configurations, of which one must be named: {', '.join(named)}", Path(where)
        )
    if config not in named:
        what = f"{where} has no configuration `{config}`; it has {', '.join(named)}"
        raise BadPartError(what, Path(where), config)
    return named[config]


def default_config(configs: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the configuration that is taken where none is named; None if one has to be."""
    marked = [
        each for each in configs if len(configs) == 1 or each.get("config_name") == "default" or each.get("default")
    ]
    return str(marked[0].get("config_name")) if marked else None


def files_of_config(config: Mapping[str, Any], names: Sequence[str]) -> dict[str, list[str]]:
    """Return the files of each split of a configuration, of whatever kind."""
    inside = _inside(str(config.get("data_dir") or "").strip("/"), names)
    declared = config.get("data_files")
    splits = group_by_split(list(inside)) if declared is None else _matching(_patterns(declared), inside)
    return {split: [inside[name] for name in found] for split, found in splits.items()}


def _inside(folder: str, names: Sequence[str]) -> dict[str, str]:
    """Return the files of a folder, by their names in it."""
    prefix = f"{folder}/" if folder else ""
    return {name.removeprefix(prefix): name for name in names if name.startswith(prefix)}


def _matching(patterns: Mapping[str, Sequence[str]], names: Iterable[str]) -> dict[str, list[str]]:
    """Return the names that the patterns of each split mean."""
    return {split: [name for each in listed for name in match(each, names)] for split, listed in patterns.items()}


def _patterns(declared: Any) -> dict[str, list[str]]:
    """Return the patterns of each split; what names no split is all for training."""
    listed = _as_list(declared)
    if not any(isinstance(each, Mapping) for each in listed):
        return {"train": [*map(str, listed)]}
    entries = [each for each in listed if isinstance(each, Mapping) and {"split", "path"} <= set(each)]
    return {str(each["split"]): [*map(str, _as_list(each["path"]))] for each in entries}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def match(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that a pattern means, as fsspec reads it: `*` stays within its folder, `**` does not.

    >>> match("data/*.csv", ["data/a.csv", "data/b/c.csv", "data/.d.csv"]), match("**/c.csv", ["data/b/c.csv"])
    (['data/a.csv'], ['data/b/c.csv'])
    """
    wanted = re.compile("".join(_spelled(part) for part in PATTERN_PARTS.split(pattern.removeprefix("./"))))
    return [name for name in names if wanted.fullmatch(name) and not _is_hidden(name, pattern)]


def _spelled(part: str) -> str:
    if part.startswith("[") and part.endswith("]"):
        return part.replace("[!", "[^", 1)
    return PARTS.get(part) or re.escape(part)


def _is_hidden(name: str, pattern: str = "") -> bool:
    """True if a file is left out, being hidden or in a hidden folder, unless the pattern names that."""
    path, wanted = PurePosixPath(name), PurePosixPath(pattern)
    dotted = [sum(part.startswith(".") for part in each.parts) for each in (path, wanted)]
    special = [sum(part.startswith("__") for part in each.parent.parts) for each in (path, wanted)]
    aside = path.name in ASIDE and path.name != wanted.name
    return aside or dotted[0] != dotted[1] or special[0] != special[1]


def group_by_split(names: Iterable[str]) -> dict[str, list[str]]:
    """Group the files of a folder by the split that their names speak of; all train where none speaks of any.

    >>> group_by_split(["data/train-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"])
    {'train': ['data/train-00000-of-00001.parquet'], 'test': ['data/test-00000-of-00001.parquet']}
    >>> group_by_split(["my_train.jsonl", "val.jsonl", "notes.jsonl"])
    {'train': ['my_train.jsonl'], 'validation': ['val.jsonl']}
    """
    names = [name for name in names if not _is_hidden(name)]
    if shards := _shards(names):
        return shards
    if found := [name for name in names if name.endswith(".eval")]:
        return {"logs": found}
    in_folders = _spoken_of({name: name.split("/")[:-1] for name in names}, whole=True)
    in_files = _spoken_of({name: name.split("/")[-1:] for name in names}, whole=False)
    return in_folders or in_files or {"train": names}


def _shards(names: Iterable[str]) -> dict[str, list[str]]:
    shards: dict[str, list[str]] = {}
    for name in names:
        if shard := SHARD.fullmatch(name):
            shards.setdefault(shard["split"], []).append(name)
    order = sorted(
        shards, key=lambda split: (list(KEYWORDS).index(split) if split in KEYWORDS else len(KEYWORDS), split)
    )
    return {split: shards[split] for split in order}


def _spoken_of(parts: dict[str, list[str]], *, whole: bool) -> dict[str, list[str]]:
    """Return the files of each split: those with a keyword of it first that stands first among its keywords."""
    found: dict[str, list[str]] = {}
    for split, keywords in KEYWORDS.items():
        named = [_with(keyword, parts, whole=whole) for keyword in keywords]
        if any(named):
            found[split] = [name for each in named for name in each]
    return found


def _with(keyword: str, parts: dict[str, list[str]], *, whole: bool) -> list[str]:
    """Return the files of which a part is a keyword, or has it between signs; twice, if that is so in two ways."""
    ends = ("", f"{SIGN}.*") if whole else (f"{SIGN}.*",)
    patterns = [re.compile(f"{start}{keyword}{end}", re.DOTALL) for start in ("", f".*{SIGN}") for end in ends]
    return [
        name for pattern in patterns for name, words in parts.items() if any(pattern.fullmatch(word) for word in words)
    ]


def _of_one_kind(splits: Mapping[str, Sequence[str]], where: str) -> dict[str, list[str]]:
    """Return the files that the builder reads which most of them need; all splits must need the same."""
    known = {split: [name for name in names if endings_of(name)] for split, names in splits.items()}
    kind = _only_kind({split: builder_of(names) for split, names in known.items()}, where)
    return {split: [name for name in names if _reads(kind, name)] for split, names in known.items()}


def _only_kind(kinds: Mapping[str, str | None], where: str) -> str:
    """Return the builder that the files of all splits need.

    Raises:
        BadDataError: There are no data files, or the splits need several builders.
        SourceError: The files are of a kind that holdfast does not read.
    """
    if len(set(kinds.values())) > 1:
        shown = ", ".join(f"{split}: {kind}" for split, kind in kinds.items())
        raise BadDataError(f"{where}: the splits hold files of different kinds ({shown})", Path(where))
    kind = next(iter(kinds.values()), None)
    if kind is None:
        raise BadDataError(f"{where} holds no data files ({', '.join(sorted(READ))})", Path(where))
    if kind == "other":
        what = "its files are of a kind that is not read here"
        raise SourceError(what, where=Spot(where), fix="nothing to do")
    return kind


def _reads(kind: str, name: str) -> bool:
    """True if a builder takes a file; that of CSV takes tabs for commas in none of them if it does in one."""
    kinds = {BUILDERS[ending] for ending in endings_of(name)}
    return kind in kinds or {kind, *kinds} == {"csv", "tsv"}


def endings_of(name: str) -> list[str]:
    """Return all endings of a file that a builder knows.

    >>> endings_of("data/a.b.jsonl.gz"), endings_of("LICENSE")
    (['.jsonl'], [])
    """
    endings = (f".{ending}" for ending in PurePosixPath(name).name.split(".")[1:])
    return [ending for ending in endings if ending in BUILDERS]


def builder_of(names: Iterable[str]) -> str | None:
    """Return which builder most of the files need; None for none."""
    counts = Counter(
        (PurePosixPath(name).name not in METADATA, ending) for name in names for ending in endings_of(name)
    )
    ranked = max(counts.items(), key=lambda each: (each[0][0], each[1], *_favour(each[0][1])), default=None)
    return BUILDERS[ranked[0][1]] if ranked else None


def _favour(ending: str) -> tuple[Any, ...]:
    return (*(ending == favourite for favourite in FAVOURITES), ending)


def read_configs(folder: Path) -> list[Mapping[str, Any]]:
    """Return `configs` of the head of a folder's README; none if it has none.

    Raises:
        BadDataError: It is not valid YAML, or no list of configurations.
    """
    found: Any = []
    readme, standalone = folder / README, folder / STANDALONE
    try:
        if readme.is_file() and (head := HEAD.match(read_foreign_text(readme))):
            found = _configs(head["yaml"], readme) or found
        if standalone.is_file():
            found = _configs(read_foreign_text(standalone), standalone) or found
    except OSError as error:
        raise BadDataError(f"{error.filename} cannot be read: {error.strerror}", folder) from error
    return check_configs(found, readme)


def check_configs(found: Any, path: Path) -> list[Mapping[str, Any]]:
    """Return configurations that `datasets` would take.

    Raises:
        BadDataError: They are none.
    """
    if not isinstance(found, list) or not all(map(_is_config, found)):
        raise BadDataError(f"{path}: `configs` is a list, of which each has a `config_name`", path)
    if not all(_are_entries(each.get("data_files", "")) for each in found):
        raise BadDataError(f"{path}: `data_files` is a path, or a list of paths or of `split` with `path`", path)
    return found


def _is_config(each: Any) -> bool:
    return isinstance(each, Mapping) and "config_name" in each


def _are_entries(declared: Any) -> bool:
    return isinstance(declared, str) or (isinstance(declared, list) and all(map(_is_entry, declared)))


def _is_entry(entry: Any) -> bool:
    if isinstance(entry, str):
        return True
    if not isinstance(entry, Mapping) or set(entry) != {"split", "path"}:
        return False
    return re.fullmatch(NAME, str(entry["split"])) is not None and isinstance(entry["path"], str | list)


def _configs(text: str, path: Path) -> Any:
    if "configs:" not in text:
        return None
    yaml = import_module("ruamel.yaml")
    try:
        card = yaml.YAML(typ="safe", pure=True).load(text)
    except (yaml.error.YAMLError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise BadDataError(f"{path}: its head is not valid YAML", path) from error
    return card.get("configs") if isinstance(card, Mapping) else None


def is_saved(folder: Path) -> bool:
    """True if `save_to_disk` wrote a folder."""
    return any((folder / name).is_file() for name in (STATE, STATES))


def saved_splits(folder: Path) -> Splits:
    """Return the data files of what `save_to_disk` wrote: of each split, or of the only one, `train`.

    Raises:
        BadDataError: It is not whole.
    """
    try:
        if (folder / STATES).is_file():
            names = parse_json(read_foreign_text(folder / STATES))["splits"]
            return {name: _saved_files(folder / name) for name in names}
        return {"train": _saved_files(folder)}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadDataError(f"{folder} was written by `save_to_disk`, and is not whole: {error}", folder) from error


def _saved_files(folder: Path) -> list[Path]:
    state = parse_json(read_foreign_text(folder / STATE))
    return [folder / each["filename"] for each in state["_data_files"]]
