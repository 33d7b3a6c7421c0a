"""Files of libraries that open them in C, C++ or Rust: they get the place in the rehearsal's folder.

Covered: safetensors, `torch.save` and `torch.load`, tokenizers as transformers saves and loads them, Arrow and Parquet files,
SQLite. Not covered: others.
"""

import functools
import os
from pathlib import Path
from typing import Any, Protocol

from ..wrapping import replace_everywhere, when_imported, wrap, wrap_everywhere
from .overlay import Overlay


class WriteDestinations(Protocol):
    """What knows where files are written to."""

    def passes(self, path: Any) -> bool:
        """Whether a path is written to as it is."""
        ...

    def place(self, path: Any) -> Any:
        """Return where a file is written to. Raises OSError as the file system would."""
        ...


class LibraryFiles:
    """Functions that take the place of those of libraries."""

    def __init__(self, files: WriteDestinations, overlay: Overlay) -> None:
        self._files, self._overlay = files, overlay
        self._reach = overlay.reading

    def take_over(self) -> None:
        """Take the place of their functions as they are imported."""
        when_imported("sqlite3", lambda module: wrap(module, "connect", self._write_first))
        when_imported("safetensors", self._take_over_safetensors)
        when_imported("safetensors.torch", lambda module: wrap(module, "serialize_file", self._write_second))
        when_imported("torch.serialization", self._take_over_torch)
        when_imported("pyarrow", self._take_over_pyarrow)
        when_imported("pyarrow.parquet.core", self._take_over_parquet)
        when_imported("transformers.tokenization_utils_base", self._take_over_tokenizers)

    def _write_first(self, original: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(path if path == ":memory:" else self._files.place(path), *args, **kwargs)

    def _write_second(self, original: Any, what: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(what, self._files.place(path), *args, **kwargs)

    def _write_own(self, original: Any, thing: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(thing, self._files.place(path), *args, **kwargs)

    def _read_own(self, original: Any, thing: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(thing, self._reach(path), *args, **kwargs)

    def _take_over_safetensors(self, module: Any) -> None:
        opening = module.safe_open

        @functools.wraps(opening, updated=())
        def safe_open(path: Any, *args: Any, **kwargs: Any) -> Any:
            return opening(self._reach(path), *args, **kwargs)

        replace_everywhere("safe_open", opening, safe_open)

    def _take_over_torch(self, module: Any) -> None:
        wrap(module._open_zipfile_writer_file, "__init__", self._write_own)
        wrap_everywhere(
            module, "load", lambda original, path, *args, **kwargs: original(self._reach(path), *args, **kwargs)
        )

    def _take_over_pyarrow(self, module: Any) -> None:
        for name in ("memory_map", "OSFile"):
            opening = getattr(module, name)

            @functools.wraps(opening, updated=())
            def reach(path: Any, mode: str = "r", *, opening: Any = opening, **kwargs: Any) -> Any:
                return opening(self._reach(path) if mode.startswith("r") else self._files.place(path), mode, **kwargs)

            setattr(module, name, reach)

    def _take_over_parquet(self, module: Any) -> None:
        wrap(module.ParquetWriter, "__init__", self._write_own)
        wrap(module.ParquetFile, "__init__", self._read_own)
        wrap(module.ParquetDataset, "__init__", self._read_own)

    def _take_over_tokenizers(self, module: Any) -> None:
        def save(original: Any, tokenizer: Any, folder: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(folder, str | os.PathLike) and not Path(folder).is_file() and not self._files.passes(folder):
                Path(folder).mkdir(parents=True, exist_ok=True)
                folder = self._overlay.shadow(self._overlay.whole(folder))
                Path(folder).mkdir(parents=True, exist_ok=True)  # where the folder is the user's
            return original(tokenizer, folder, *args, **kwargs)

        wrap(module.PreTrainedTokenizerBase, "save_pretrained", save)

        def load(original: Any, kind: Any, path: Any, *args: Any, cache_dir: Any = None, **kwargs: Any) -> Any:
            if cache_dir is not None and not self._files.passes(cache_dir):
                cache_dir = self._overlay.shadow(self._overlay.whole(cache_dir))
            return original(kind, self._reach(path), *args, cache_dir=cache_dir, **kwargs)

        wrap(module.PreTrainedTokenizerBase, "from_pretrained", load)
