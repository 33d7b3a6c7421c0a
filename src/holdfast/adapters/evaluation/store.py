"""The files of evaluations: outputs, kept by model, rows and settings; and results.

    results/evaluation-<date>.json, .csv     the figures
    results/evaluation-<date>-samples/       the answers, one file a dataset
    results/outputs/<fingerprint>.jsonl      what a model gave for rows, as soon as it did

An evaluation whose model, rows and settings are those of an earlier one continues its outputs, also after a crash.
"""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import gmtime, strftime
from typing import Any, Final

from msgspec import DecodeError, ValidationError, json

from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.foreign_files import open_foreign
from holdfast.adapters.storage.private_files import make_private
from holdfast.adapters.storage.run_folder import write_whole
from holdfast.core.errors import LedgerError
from holdfast.core.evaluation import Example, GenerationSettings, ModelOutput, WorkKind
from holdfast.results.evaluate import EvaluationFigure

OUTPUTS: Final = "outputs"
SHORT: Final = 24
"""Characters of a fingerprint that are enough to tell files apart."""
LONGEST_NAME: Final = 60
KEYS: Final[Mapping[WorkKind, tuple[str, ...]]] = {
    "generate": ("prompt",),
    "score": ("scored",),
    "classify": ("prompt", "scored"),
    "respond": ("calls",),
}
"""What the process needs of a row, by the kind of work."""
COLUMNS: Final = ("dataset", "split", "where", "metric", "rows", "value", "low", "high", "interval")
BASE_COLUMNS: Final = ("base_value", "difference", "difference_low", "difference_high", "p_value", "verdict")


@dataclass(frozen=True, slots=True)
class OutputFile:
    """The file with a model's outputs for some rows.

    Attributes:
        path: Where it is.
        done: How many of the rows had outputs before this evaluation.
        rows: How many rows there are.
    """

    path: Path
    done: int
    rows: int

    def read(self) -> dict[int, ModelOutput]:
        """Return the outputs by row. A line that a crash left half is no output."""
        found: dict[int, ModelOutput] = {}
        with suppress(FileNotFoundError), open_foreign(self.path) as file:
            for line in file:
                with suppress(DecodeError, ValidationError):
                    output = json.decode(line, type=ModelOutput)
                    found[output.row] = output
        return found


class EvaluationStore:
    """The results folder.

    Args:
        folder: The folder.
        now_s: Unix time, for the names of files.
    """

    def __init__(self, folder: Path, now_s: float) -> None:
        self.folder = folder
        stem = strftime("evaluation-%Y%m%d-%H%M%S", gmtime(now_s))
        taken = len(list(folder.glob(f"{stem}*.json"))) if folder.is_dir() else 0
        self.name = f"{stem}-{taken + 1}" if taken else stem

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            LedgerError: It cannot be made.
        """
        try:
            make_private(self.folder / OUTPUTS)
        except OSError as error:
            what = f"the results folder cannot be made: {error.strerror}"
            raise LedgerError(what, where=str(self.folder), fix="choose another with --results") from error

    def output_file(
        self, model: ModelSource, identity: str, kind: WorkKind, lines: Sequence[bytes], generation: GenerationSettings
    ) -> OutputFile:
        """Return the file that a model's outputs for some rows go to; the rows are written beside it.

        Args:
            model: The model.
            identity: What tells its weights, and the libraries that its outputs depend on, from others.
            kind: What it does for a row.
            lines: The rows, as the process reads them.
            generation: How answers are generated.

        Raises:
            LedgerError: The rows cannot be written.
        """
        identity_line = json.encode([asdict(model), identity, kind, asdict(generation) if kind == "generate" else None])
        path = self.folder / OUTPUTS / f"{hashlib.sha256(identity_line + b''.join(lines)).hexdigest()[:SHORT]}.jsonl"
        write_whole(path.with_suffix(".rows"), b"".join(lines).decode())
        return OutputFile(path, len(OutputFile(path, 0, 0).read()), len(lines))

    def write_samples(self, number: int, dataset: str, rows: Iterable[Mapping[str, Any]]) -> str:
        """Write the answers to a dataset's rows; return the file."""
        plain = re.sub(r"[^\w.-]+", "-", Path(dataset).name)[-LONGEST_NAME:]
        path = self.folder / f"{self.name}-samples" / f"{number}-{plain.removesuffix('.jsonl')}.jsonl"
        write_whole(path, b"".join(json.encode(row) + b"\n" for row in rows).decode())
        return str(path)

    @property
    def files(self) -> tuple[Path, Path]:
        """The files of the results: JSON and CSV."""
        return self.folder / f"{self.name}.json", self.folder / f"{self.name}.csv"


def render_csv(model: str, figures: Sequence[EvaluationFigure], settings: Mapping[str, str]) -> str:
    """Return the figures as CSV: one row a dataset, part of it and metric, with what is needed to repeat it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", *COLUMNS, *BASE_COLUMNS, *settings])
    for each in figures:
        writer.writerow([model, *_cells(each), *settings.values()])
    return text.getvalue()


def _cells(figure: EvaluationFigure) -> Iterator[object]:
    """Yield the cells of a figure; what there is none of is empty."""
    where = "; ".join(f"{name}={value}" for name, value in (figure.where or {}).items())
    yield from (figure.dataset, figure.split, where, figure.metric, figure.rows)
    yield from (figure.value, figure.low, figure.high, figure.interval)
    base = figure.base
    if base is None:
        yield from [""] * len(BASE_COLUMNS)
    else:
        yield from (base.value, base.difference, base.low, base.high, base.p_value, base.verdict)


def work_lines(kind: WorkKind, examples: Sequence[Example]) -> list[bytes]:
    """Return rows as the process reads them."""
    keys = KEYS[kind]
    return [
        json.encode({"row": each.row, **{key: getattr(each, key) for key in keys}, **_images(each), **_tools(each)})
        + b"\n"
        for each in examples
    ]


def _tools(example: Example) -> dict[str, Any]:
    """Return the tools of a row under their key, as training passes them to the chat template: a list, or the JSON of one."""
    tools = example.columns.get("tools")
    if isinstance(tools, str):
        with suppress(DecodeError):
            tools = json.decode(tools)
    return {"tools": tools} if isinstance(tools, list) and tools else {}


def _images(example: Example) -> dict[str, Any]:
    """Return the images of a row under their key; without any, the line is that of a row of text."""
    return {"images": [asdict(each) for each in example.images]} if example.images else {}
