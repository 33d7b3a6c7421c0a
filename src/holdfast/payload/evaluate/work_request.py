"""What the process is asked to do."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModelRequest:
    """The model to load.

    Attributes:
        path: The folder or Hub id of the model, or its GGUF file; of an adapter, that of its base.
        adapter: The folder or Hub id of the adapter; None for a whole model.
        tokenizer: The folder or Hub id of the tokenizer.
        template: The chat template to use if the tokenizer has none.
        classifies: Whether it has a classification head.
        is_vision: Whether it takes images, so that a processor reads its rows.
        is_gguf: Whether it is a GGUF file.
        threads: How many threads read a GGUF file.
    """

    path: str
    adapter: str | None
    tokenizer: str
    template: str | None
    classifies: bool
    is_vision: bool
    is_gguf: bool
    threads: int


@dataclass(frozen=True)
class GenerationRequest:
    """How answers are generated."""

    max_new_tokens: int
    stop_strings: list[str]
    temperature: float
    top_p: float
    top_k: int
    seed: int


@dataclass(frozen=True)
class WorkRequest:
    """The work for one dataset.

    Attributes:
        name: Its name in the events.
        kind: `generate`, `score`, `classify` or `respond`.
        rows: The file with the rows, as JSON lines: `row`, and `prompt`, `scored` or `calls`; `images` if a row has any.
        out: The file that outputs are appended to.
        batch_size: The most rows of a batch.
        generation: How answers are generated.
    """

    name: str
    kind: str
    rows: str
    out: str
    batch_size: int
    generation: GenerationRequest

    def read_rows(self) -> list[dict[str, Any]]:
        """Return the rows that have no output yet."""
        with Path(self.rows).open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        done = {output["row"] for output in read_whole_lines(Path(self.out))}
        return [row for row in rows if row["row"] not in done]


def read_whole_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; cut off a last line that is not whole, as a crash leaves it."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        with path.open("r+b") as file:
            file.truncate(whole)
    return [json.loads(line) for line in data[:whole].splitlines()]


def read_request(path: Path) -> tuple[ModelRequest, list[WorkRequest]]:
    """Return the model and the work of a request."""
    request = json.loads(path.read_text(encoding="utf-8"))
    work = [WorkRequest(**{**each, "generation": GenerationRequest(**each["generation"])}) for each in request["work"]]
    return ModelRequest(**request["model"]), work
