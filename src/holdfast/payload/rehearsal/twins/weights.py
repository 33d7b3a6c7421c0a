"""Files of weights: whether they are there is asked, what is in them is not.

The libraries' own code decides which files it wants; here it is told that they are there, without a byte of them.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..order import Order
from ..telling import Tell, wrap
from .paths import given

WEIGHTS = re.compile(r"\.(safetensors|bin|pt|pth|h5|msgpack|gguf|ckpt|onnx|npz)$")
PATTERNS = ["*.safetensors", "*.bin", "*.pt", "*.pth", "*.h5", "*.msgpack", "*.gguf", "*.ckpt", "*.onnx", "*.npz"]
FLOATS = ("F64", "F32", "F16", "BF16")
"""Types of weights that are as they were trained: others hold several numbers in one."""
CUT: set[str] = set()
"""Snapshots of repositories that were taken without weights."""


def watch(module: Any, loader: Any) -> None:
    """Take the place of transformers' function that finds and downloads files, while a twin is loaded."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        path = str(given(args, kwargs, 0, "path_or_repo_id"))
        names = [str(name) for name in given(args, kwargs, 1, "filenames") or []]
        is_folder = Path(path).is_dir()
        if not loader.active or not all(map(WEIGHTS.search, names)) or (is_folder and not is_cut(path)):
            return original(*args, **kwargs)
        if not is_folder:
            sizes = [size_of(path, name, kwargs) for name in names]
            loader.weigh(sizes)
            if any(size is None for size in sizes):
                return None
        return [str(Path(path, name)) for name in names]

    wrap(module, "cached_files", around)


def is_cut(path: str) -> bool:
    """Return whether a folder is a snapshot that was taken without weights."""
    return str(Path(path).resolve()) in CUT


def size_of(repository: str, name: str, where: dict[str, Any]) -> int | None:
    """Return the bytes of a file on the Hub; None: there is none; 0: nobody can say.

    Args:
        repository: Its id.
        name: The file, in the subfolder that `where` names.
        where: `revision`, `token`, `subfolder`, `local_files_only`, as `cached_files` takes them.
    """
    import huggingface_hub as hub  # noqa: PLC0415
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError  # noqa: PLC0415

    whole = "/".join(filter(None, (where.get("subfolder"), name)))
    if where.get("local_files_only") or hub.constants.HF_HUB_OFFLINE:
        return 0
    try:
        url = hub.hf_hub_url(repository, whole, revision=where.get("revision"))
        return hub.get_hf_file_metadata(url, token=where.get("token")).size or 0
    except EntryNotFoundError:
        return None
    except (HfHubHTTPError, OSError):
        return 0


def bytes_of(files: list[str]) -> int:
    """Return the bytes of files that lie here."""
    return sum(Path(file).stat().st_size for file in files if Path(file).is_file())


def tell_misfits(files: list[str], shapes: Mapping[str, tuple[int, ...]], tell: Tell) -> None:
    """Tell of weights whose shape is another than the configuration asks for, as far as both have them by the same name.

    Args:
        files: Files of weights that lie here; those of the format safetensors alone tell shapes.
        shapes: Of the original's parameters.
        tell: Where it is told.
    """
    from safetensors import safe_open  # noqa: PLC0415

    for file in files:
        if not file.endswith(".safetensors") or not Path(file).is_file():
            continue
        with safe_open(file, framework="pt") as opened:
            for name in shapes.keys() & set(opened.keys()):
                part = opened.get_slice(name)
                if tuple(part.get_shape()) != shapes[name] and part.get_dtype() in FLOATS:
                    because = (
                        f"`{name}` has the shape {part.get_shape()}, and the configuration asks for {[*shapes[name]]}"
                    )
                    tell.wrong("model-config-weights-mismatch", "model", because, file=Path(file).name)


def watch_snapshots(module: Any, _order: Order, tell: Tell) -> None:
    """Have a snapshot of a model's repository be taken without its weights."""

    def around(original: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("repo_type") not in (None, "model"):
            return original(*args, **kwargs)
        ignored = kwargs.get("ignore_patterns") or []
        kwargs["ignore_patterns"] = [*([ignored] if isinstance(ignored, str) else ignored), *PATTERNS]
        taken = original(*args, **kwargs)
        tell.not_rehearsed("the download of a whole model", "the job itself: its weights are not downloaded")
        CUT.add(str(Path(taken).resolve()))
        return taken

    wrap(module, "snapshot_download", around)
