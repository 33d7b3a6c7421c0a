"""Which rows of a trainer's data are kept for the rules about rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.payload.rehearsal.events import EventWriter
from holdfast.payload.rehearsal.part_request import PartRequest
from holdfast.payload.rehearsal.trainers.observed import keep_rows


class Stream:
    """A dataset that is read as it is trained on."""

    column_names = ("text",)

    def __iter__(self) -> Any:
        raise AssertionError("a stream is not read beforehand")


class Table(list[dict[str, str]]):
    """A dataset whose rows are at hand."""

    column_names = ("text",)


@pytest.mark.parametrize(
    ("data", "told"), [(Stream(), ["the rules about rows"]), (Table([{"text": "So."}]), []), ([{"text": "So."}], [])]
)
def test_rows_of_a_stream_are_told_as_not_judged(data: Any, told: list[str], tmp_path: Path) -> None:
    """What was not looked at is no pass."""
    events = EventWriter(str(tmp_path / "rehearsal.jsonl"))
    asked = PartRequest(script="train.py", source="", folder=str(tmp_path), part="whole")

    keep_rows(data, asked, "train_dataset", events)

    events.fact("end")
    said = [json.loads(line) for line in (tmp_path / "rehearsal.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [each["what"] for each in said if each["event"] == "not_rehearsed"] == told
    assert (tmp_path / "rows" / "train.jsonl").exists() == isinstance(data, Table)
