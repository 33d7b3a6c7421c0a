"""Loading of datasets: real files by the real code, those that are large or on the Hub up to a bound.

Covered: all that goes through a `DatasetBuilder` (`load_dataset`, `Dataset.from_json`, `from_generator` …), and
`load_from_disk`. What the script's user has in the cache of `datasets` already is read from there; what is prepared for
a rehearsal lies in its own folder.
Not covered: Spark; tar archives on the Hub, which cannot be read from their beginning and are downloaded.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..libraries import datasets
from ..part_request import PartRequest
from ..wrapping import wrap
from .bounds import BYTES, ROWS, Bound, is_small, rows_of, small_blocks
from .part import as_part, part_of, scaled, whole_rows
from .working import PROCESSES, fewer

POOL = 2_000  # rows that are kept of a dataset that is not read to its end, or is large
LOOP = 64  # rows that are kept of any where the script goes through them in a loop of its own, which nothing cuts short
TRAINS = re.compile(r"Trainer\b")
UNKNOWN = 2**40  # rows, where their number is not known


def _is_forced(download_mode: Any) -> bool:
    """True if rows are to be prepared anew, although they are there."""
    return str(getattr(download_mode, "value", download_mode or "")).startswith("force")


class BuilderMethods:
    """Takes the place of the methods of builders that write and read Arrow files."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events = part_request, events
        self._loops = bool(part_request.source) and not TRAINS.search(part_request.source)

    def install(self, module: Any) -> None:
        """Let a rehearsal load datasets by `datasets`, the module."""
        self._module = module
        wrap(module.DatasetBuilder, "download_and_prepare", self._prepare)
        wrap(module.DatasetBuilder, "as_dataset", self._read)

    def _prepare(self, original: Callable[..., Any], builder: Any, *args: Any, **kwargs: Any) -> None:
        if args or kwargs.get("output_dir") is not None:
            original(builder, *args, **kwargs)  # the script writes a dataset of its own
        elif Path(builder._cache_dir, "dataset_info.json").exists() and not _is_forced(kwargs.get("download_mode")):
            original(builder, **kwargs)
        else:
            self._prepare_anew(original, builder, {**kwargs, "output_dir": self._folder_of(builder)})

    def _prepare_anew(self, original: Callable[..., Any], builder: Any, given: dict[str, Any]) -> None:
        """Have the builder's own code prepare rows: all of few, of many the first."""
        if (given.get("num_proc") or 0) > PROCESSES:
            given["num_proc"] = PROCESSES
        if is_small(builder) or not self._can_be_bounded(builder):
            builder._cache_downloaded_dir = str(Path(self._part_request.folder, "datasets", "downloads"))
            original(builder, **given)
        else:
            self._prepare_some(original, builder, given)

    def _prepare_some(self, original: Callable[..., Any], builder: Any, given: dict[str, Any]) -> None:
        """Have the builder's own code prepare the rows that it generates first."""
        bound = Bound(builder)
        _note_rows(builder, bound, _beside(given["output_dir"]))
        kept = {name: given[name] for name in ("output_dir", "download_mode", "storage_options") if name in given}
        size, builder.info.download_size, builder.info.size_in_bytes = builder.info.download_size, None, None
        try:
            with small_blocks():
                manager = _manager(builder, given.get("download_config"))
                original(builder, **kept, dl_manager=manager, verification_mode="no_checks")
        except NotImplementedError as error:
            self._events.not_rehearsed(f"a part of {builder.dataset_name}", f"its files are read as a whole: {error}")
            builder.info.download_size = size
            original(builder, **given)

    def _can_be_bounded(self, builder: Any) -> bool:
        """True if the builder's rows come one after another from a function that it has."""
        ours = (datasets.ArrowBasedBuilder, datasets.GeneratorBasedBuilder)
        return type(builder)._prepare_split in [one._prepare_split for one in ours]

    def _folder_of(self, builder: Any) -> str:
        """Return the folder that a builder's rows are prepared in."""
        name = hashlib.sha256(str(builder._cache_dir).encode()).hexdigest()[:16]
        return str(Path(self._part_request.folder, "datasets", name))

    def _read(self, original: Callable[..., Any], builder: Any, split: Any = None, *args: Any, **kwargs: Any) -> Any:
        real = rows_of_whole(builder)

        def read(spec: Any) -> Any:
            return original(builder, spec, *args, **kwargs)

        if not real:
            return each_dataset(read(split), self._trimmed)
        return _nested(split, builder.info.splits, lambda spec: self._read_part(read, spec, builder, real))

    def _read_part(self, read: Callable[[Any], Any], spec: Any, builder: Any, real: dict[str, float]) -> Any:
        """Return the rows at hand of a split, of slices of splits, or of several."""
        text = "+".join(builder.info.splits) if str(spec) == "all" else spec
        given = isinstance(text, datasets.ReadInstruction)
        instruction: Any = text if given else datasets.ReadInstruction.from_spec(text)
        parts = []
        for one in instruction._relative_instructions:
            alone = datasets.ReadInstruction._read_instruction_from_relative_instructions([one])
            whole = real.get(one.splitname)
            if whole is None:
                parts.append(read(alone))
                continue
            pool = self._trimmed(as_part(read(one.splitname), whole))
            if one.unit == "%":  # of the rows at hand, so that slices have as much in common as they would have
                here = alone.to_absolute({one.splitname: len(pool)})[0]
                rows = pool.select(range(here.from_, max(here.to, min(here.from_ + 1, len(pool)))))
                parts.append(as_part(rows, scaled(whole, len(rows) / max(len(pool), 1))))
            else:
                there = alone.to_absolute({one.splitname: int(min(whole, UNKNOWN))})[0]
                nothing = there.from_ >= min(whole, there.to)
                parts.append(read(alone) if nothing else _slice(pool, there.from_, there.to, whole))
        return parts[0] if len(parts) == 1 else datasets.concatenate_datasets(parts)

    def _trimmed(self, dataset: Any) -> Any:
        """Return a dataset, or as many rows of a large one as are worked on."""
        most = LOOP if self._loops else POOL
        small = len(dataset) <= ROWS and dataset.data.nbytes <= BYTES and not part_of(dataset)
        if len(dataset) <= most or (small and not self._loops):
            return dataset
        self._events.shrunk(
            f"rows of {dataset.info.dataset_name or 'a dataset'}, {dataset.split}",
            _with_record(dataset),
            most,
            unit="rows",
        )
        return fewer(dataset, most)


def rows_of_whole(builder: Any) -> dict[str, float]:
    """Return the rows of each split of a builder that was not read to its end; infinite where they are not known."""
    note = _beside(builder._output_dir)
    counts: dict[str, float] = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    return {split: max(rows, builder.info.splits[split].num_examples) for split, rows in counts.items()}


def _beside(folder: str) -> Path:
    """Return the file that says how many rows there would be in a folder."""
    return Path(f"{folder}.rows.json")


def each_dataset(loaded: Any, change: Callable[[Any], Any]) -> Any:
    """Return the loaded object with each dataset in it changed; the containers keep their types."""
    if isinstance(loaded, dict):
        for name, one in loaded.items():
            loaded[name] = each_dataset(one, change)
        return loaded
    if isinstance(loaded, (list, tuple)):
        return type(loaded)(each_dataset(one, change) for one in loaded)
    return change(loaded) if hasattr(loaded, "_data") else loaded


def _nested(split: Any, splits: Any, read: Callable[[Any], Any]) -> Any:
    """Return a dataset for each split that was requested, in the shape in which they were."""
    if split is None:
        split = {name: name for name in splits}
    if isinstance(split, dict):
        return datasets.DatasetDict({name: _nested(one, splits, read) for name, one in split.items()})
    if isinstance(split, (list, tuple)):
        return type(split)(_nested(one, splits, read) for one in split)
    return read(split)


def _slice(pool: Any, first: int, last: int, whole: float) -> Any:
    """Return the rows at hand of a slice by numbers, or others where none of its own is at hand."""
    if (first, last) in ((0, whole), (0, UNKNOWN)):
        return pool
    if first < len(pool):
        return as_part(pool.select(range(first, min(last, len(pool)))), last - first)
    return pool.select(range(first, min(last, first + len(pool))))


def _with_record(dataset: Any) -> Any:
    rows = whole_rows(dataset)
    return rows if math.isfinite(rows) else "not known"


def _note_rows(builder: Any, bound: Bound, note: Path) -> None:
    """Have a builder write down how many rows there would be, while others that want the same ones still wait."""
    known, save = dict(builder.info.splits or {}), builder._save_info

    def save_info() -> None:
        if bound.cut:
            rows = {split: rows_of(builder, split, known) for split in bound.cut}
            note.write_text(json.dumps(rows), encoding="utf-8")
        save()

    builder._save_info = save_info


def _manager(builder: Any, config: Any) -> Any:
    """Return a download manager that opens files where they are, with what `download_and_prepare` asks of one."""

    class Manager(datasets.StreamingDownloadManager):  # type: ignore[misc]  # a base without types
        downloaded_size, record_checksums = 0, False  # which those before datasets 3 lack

        def manage_extracted_files(self) -> None:
            """Nothing was extracted."""

        def get_recorded_sizes_checksums(self) -> dict[str, Any]:
            """Nothing was downloaded."""
            return {}

    return Manager(
        base_path=builder.base_path,
        download_config=config or datasets.DownloadConfig(token=builder.token, storage_options=builder.storage_options),
        dataset_name=builder.dataset_name,
        data_dir=builder.config.data_dir,
    )
