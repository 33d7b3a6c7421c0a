"""The events of a process of a rehearsal."""

import json
import os
from pathlib import Path

from holdfast.payload.rehearsal.events import EventWriter


def test_a_child_tells_what_is_out_of_reach_and_nothing_else(tmp_path: Path) -> None:
    """A worker of `map` raises in its own process, and its message ends the script; facts are the script's own."""
    told = tmp_path / "rehearsal.jsonl"
    events = EventWriter(str(told))
    child = os.fork()
    if not child:
        events.fact("loop")
        events.out_of_reach("no way to a.b")
        events.out_of_reach("no way to a.b")
        os._exit(0)
    os.waitpid(child, 0)

    assert [json.loads(line)["event"] for line in told.read_text(encoding="utf-8").splitlines()] == ["out_of_reach"]


def test_what_there_is_less_of_is_known_by_its_unit(tmp_path: Path) -> None:
    """Rows may be fewer under many names; a setting that is smaller is no rows."""
    events = EventWriter(str(tmp_path / "rehearsal.jsonl"))
    events.shrunk("rows of a setting's name", 1000, 4)
    before = events.has_shrunk("rows")
    events.shrunk("the training data", 1000, 16, unit="rows")

    assert (before, events.has_shrunk("rows"), events.has_shrunk("tokens")) == (False, True, False)
