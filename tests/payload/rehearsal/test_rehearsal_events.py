"""The stage that a part of a script belongs to."""

import json
from pathlib import Path

import pytest

from holdfast.payload.rehearsal.events import EventWriter


@pytest.mark.parametrize(
    ("within", "loaded", "stages"),
    [
        ("tokenize", "model", ["tokenize"]),  # the configuration that a tokenizer reads is no model
        ("model", "tokenize", ["model", "tokenize"]),
        ("data", "model", ["data", "model"]),
    ],
)
def test_what_a_tokenizer_loads_belongs_to_it(tmp_path: Path, within: str, loaded: str, stages: list[str]) -> None:
    path = tmp_path / "rehearsal.jsonl"
    events = EventWriter(str(path))
    with events.during(within), events.loading(loaded):
        pass
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["name"] for each in told if each["event"] == "enter"] == stages


def test_what_is_loaded_after_a_tokenizer_is_not_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "rehearsal.jsonl"
    events = EventWriter(str(path))
    with events.loading("tokenize"):
        pass
    with events.loading("model"):
        pass
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [each["name"] for each in told if each["event"] == "enter"] == ["tokenize", "model"]
