"""Files of weights: whether they are there is asked, what is in them is not.

The libraries' own code decides which files it wants; here they are said to be there, without a byte of them.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..libraries import hub, safetensors
from ..part_request import PartRequest
from ..wrapping import wrap, wrap_everywhere
from .paths import given

WEIGHTS = re.compile(r"\.(safetensors|bin|pt|pth|h5|msgpack|gguf|ckpt|onnx|npz)$")
PATTERNS = ["*.safetensors", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf", "*.ckpt", "*.onnx", "*.npz"]
FLOATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
"""Types of weights that are as they were trained, and torch's names of them: others hold several numbers in one."""
GGUF = ".gguf"
CUT: set[str] = set()
"""Snapshots of repositories that were taken without weights."""


def watch(module: Any, loader: Any) -> None:
    """Take the place of transformers' function that finds and downloads files, while a twin is loaded."""
    requests = FileRequests(loader)
    if hasattr(module, "cached_files"):
        wrap(module, "cached_files", requests.find_several)
    else:  # before transformers 4.50, whose modules have imported the other from one another
        wrap_everywhere(module, "cached_file", requests.find_one)


class FileRequests:
    """Answers requests for a model's files: weights that are on the Hub are not downloaded for a twin."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def find_several(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of `cached_files`."""
        path, names = (given(args, kwargs, place, name) for place, name in enumerate(("path_or_repo_id", "filenames")))
        _look_at_gguf(self._loader, str(path), names or [], kwargs)
        if not _are_weights(self._loader, str(path), names or []):
            return original(*args, **kwargs)
        return _find(self._loader, str(path), names, kwargs)

    def find_one(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of `cached_file`."""
        path, file = (given(args, kwargs, place, name) for place, name in enumerate(("path_or_repo_id", "filename")))
        _look_at_gguf(self._loader, str(path), [file], kwargs)
        is_weights = _are_weights(self._loader, str(path), [file])
        there = _find(self._loader, str(path), [file], kwargs) if is_weights else None
        return there[0] if there else original(*args, **kwargs)


def _look_at_gguf(loader: Any, path: str, names: Sequence[Any], where: dict[str, Any]) -> None:
    """Have the loader see files of the format GGUF that would be downloaded: they hold a model's configuration too."""
    if any(str(name).endswith(GGUF) for name in names) and not Path(path).is_dir():
        loader.look_at_gguf(path, [str(name) for name in names], where)


def _are_weights(loader: Any, path: str, names: Sequence[Any]) -> bool:
    """True if a twin is being loaded, and nothing but weights is requested that are not in a folder of the user's."""
    own = Path(path).is_dir() and not is_cut(path)
    if any(str(name).endswith(GGUF) for name in names):
        return False
    return loader.active and not own and all(WEIGHTS.search(str(name)) for name in names)


def _find(loader: Any, path: str, names: Sequence[Any], where: dict[str, Any]) -> list[str] | None:
    """Return the paths that files of weights would have; None if the repository lacks one."""
    if not Path(path).is_dir():
        sizes = [size_of(path, str(name), where) for name in names]
        loader.weigh(sizes)
        if any(size is None for size in sizes):
            return None
    return [str(Path(path, name)) for name in names]


def is_cut(path: str) -> bool:
    """True if a folder is a snapshot that was taken without weights."""
    return str(Path(path).resolve()) in CUT


def is_cached(repository: str, name: str, where: dict[str, Any]) -> bool:
    """True if a file of the Hub lies on this machine; the arguments are as of `size_of`."""
    whole = "/".join(filter(None, (where.get("subfolder"), name)))
    found = hub.try_to_load_from_cache(
        repository, whole, cache_dir=where.get("cache_dir"), revision=where.get("revision")
    )
    return isinstance(found, str)


def size_of(repository: str, name: str, where: dict[str, Any]) -> int | None:
    """Return the bytes of a file on the Hub; None: there is none; 0: nobody can say.

    Args:
        repository: Its id.
        name: The file, in the subfolder that `where` names.
        where: `revision`, `token`, `subfolder`, `local_files_only`, as `cached_files` takes them.
    """
    whole = "/".join(filter(None, (where.get("subfolder"), name)))
    if where.get("local_files_only") or hub.constants.HF_HUB_OFFLINE:
        return 0
    try:
        url = hub.hf_hub_url(repository, whole, revision=where.get("revision"))
        return hub.get_hf_file_metadata(url, token=where.get("token")).size or 0
    except hub.errors.EntryNotFoundError:
        return None
    except (hub.errors.HfHubHTTPError, OSError):
        return 0


def type_of(file: str) -> str:
    """Return the type of the first numbers in a file of the format safetensors; of one that is not here, the usual one."""
    if not Path(file).is_file():
        return "float32"
    with safetensors.safe_open(file, framework="pt") as opened:
        types = (opened.get_slice(name).get_dtype() for name in opened.keys())  # noqa: SIM118 - it is not a mapping
        return next((FLOATS[each] for each in types if each in FLOATS), "float32")


def bytes_of(files: list[str]) -> int:
    """Return the bytes of files that lie here."""
    return sum(Path(file).stat().st_size for file in files if Path(file).is_file())


def report_misfits(files: list[str], shapes: Mapping[str, tuple[int, ...]], events: EventWriter) -> None:
    """Report weights whose shape is another than the configuration asks for, as far as both have them by the same name.

    Args:
        files: Files of weights that lie here; those of the format safetensors alone tell shapes.
        shapes: Of the original's parameters.
        events: Receives the report.
    """
    for file in files:
        if not file.endswith(".safetensors") or not Path(file).is_file():
            continue
        with safetensors.safe_open(file, framework="pt") as opened:
            for name in shapes.keys() & set(opened.keys()):
                part = opened.get_slice(name)
                if tuple(part.get_shape()) != shapes[name] and part.get_dtype() in FLOATS:
                    because = (
                        f"`{name}` has the shape {part.get_shape()}, and the configuration asks for {[*shapes[name]]}"
                    )
                    fix = "Take the `config.json` that belongs to these weights."
                    events.fault("model-config-weights-mismatch", "model", because, fix=fix, file=Path(file).name)


def watch_snapshots(module: Any, _part_request: PartRequest, events: EventWriter) -> None:
    """Have a snapshot of a model's repository be taken without its weights."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("repo_type") not in (None, "model"):
            return original(*args, **kwargs)
        ignored = kwargs.get("ignore_patterns") or []
        kwargs["ignore_patterns"] = [*([ignored] if isinstance(ignored, str) else ignored), *PATTERNS]
        taken = original(*args, **kwargs)
        events.not_rehearsed("the download of a whole model", "a rehearsal downloads no weights; the job shows it")
        CUT.add(str(Path(taken).resolve()))
        return taken

    wrap(module, "snapshot_download", around)
