"""Rows that a script writes out itself, and what the rules about rows say of them: in examples, and when faults are tried."""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.core.check.finding import Finding
from holdfast.core.errors import HoldfastError
from holdfast.core.job.calls import CallResult
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place
from holdfast.engine.script.literal_rows import literal_rows

SPLITS: Final = {"train_dataset": "train", "eval_dataset": "test"}
MOST: Final = 0.5
"""Share of the rows from which a finding is one about the data, and no longer about some rows."""
ROWS: Final = "DAT2"
"""The beginning of the codes of rules about rows."""


def find_in_rows(document: Document) -> Iterator[Finding]:
    """Yield the findings of the rules about rows for literal rows in a script, at their places in it."""
    method, rows = document.get("method", None), literal_rows(document.text)
    places = _places(document)
    given = {name: rows[line] for name, line in places.items() if line in rows}
    if not isinstance(method, str) or "train_dataset" not in given:
        return
    with scratch_folder("holdfast-rows-") as folder, suppress(HoldfastError, ExceptionGroup):
        job = _write(Path(folder), method, given)
        question = TargetRequest(path=str(job), only=(ROWS,), hub=HubAccess.OFFLINE)
        for finding in check_rules(read_check_target(question), question).findings:
            at = "eval_dataset" if finding.key.endswith("eval_split") else "train_dataset"
            if finding.count is None or finding.count >= MOST * len(given[at]):
                place = Place(document.path, places[at])
                yield replace(finding, place=place, document=document, count=None, rows=())


def _places(document: Document) -> dict[str, int]:
    """Return the line of the call that makes each of the trainer's datasets."""
    lines = {call.key: call.place.line for call in document.calls}
    made = {name: document.get(f"trainer.{name}", None) for name in SPLITS}
    found = {name: lines.get(value.key) for name, value in made.items() if isinstance(value, CallResult)}
    return {name: line for name, line in found.items() if line}


def _write(folder: Path, method: str, given: dict[str, list[dict[str, Any]]]) -> Path:
    """Write rows as a job's data, and the job; return its path."""
    data = folder / "data"
    data.mkdir()
    for name, rows in given.items():
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (data / f"{SPLITS[name]}.jsonl").write_text(text, encoding="utf-8")
    evaluation = {"eval_split": "test"} if "eval_dataset" in given else {}
    dataset = {"path": str(data), "split": "train", **evaluation}
    job = folder / "job.yaml"
    job.write_text(json.dumps({"method": method, "model": "builtin:tiny-chat", "dataset": dataset}), encoding="utf-8")
    return job
