"""Which rows of a trainer's data are kept for the rules about rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.inspect.verb import look_at_local
from holdfast.core.job.document import Document
from holdfast.payload.rehearsal.events import EventWriter
from holdfast.payload.rehearsal.part_request import PartRequest
from holdfast.payload.rehearsal.trainers.observed import NUMBERS, keep_rows


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


@pytest.mark.parametrize("seed", [1, 5])
def test_a_row_of_shuffled_data_has_its_number_in_the_data(seed: int, tmp_path: Path) -> None:
    """A rehearsal names a bad row as `check` and `inspect` do, whatever the script shuffles and holds out."""
    datasets = pytest.importorskip("datasets")
    rows = [{"prompt": f"What is {at}?", "completion": None if at == 17 else f"It is {at}."} for at in range(40)]
    given = datasets.Dataset.from_list(rows).shuffle(seed=seed)
    training = next(each for each in given.train_test_split(4, seed=seed).values() if None in each["completion"])
    asked = PartRequest(script="train.py", source="", folder=str(tmp_path), part="whole")

    keep_rows(training, asked, "train_dataset", EventWriter(str(tmp_path / "rehearsal.jsonl")))

    values = {"method": "sft", "dataset": {"path": str(tmp_path / "rows"), "split": "train"}}
    numbers = json.loads((tmp_path / NUMBERS).read_text(encoding="utf-8"))
    found = look_at_local(Document(path="train.py", kind="job", values=values), limit=0, numbers=numbers)
    assert [each.rows for each in found.findings if "null" in each.message] == [(17,)]
