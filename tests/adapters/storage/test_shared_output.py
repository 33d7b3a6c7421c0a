"""Events that are read from `events.jsonl`, where the run's folder is shared."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.event import Reported

ATTEMPT = AttemptState(number=1, backend="local", started_s=0)


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "attempts" / "1" / "events.jsonl"
    path.parent.mkdir(parents=True)
    return path


def said(output: SharedOutput, known: int = 0) -> list[Any]:
    news = output.read(replace(ATTEMPT, reports=known), 0, ended=False).events
    return [event.said["event"] for event in news if isinstance(event, Reported)]


def test_a_line_that_is_still_being_written_is_read_later(tmp_path: Path, events: Path) -> None:
    """Each event is read once, by a supervisor that knows those before it; one that starts anew reads what it lacks."""
    output = SharedOutput(tmp_path)
    assert said(output) == []
    events.write_text('{"event": "start"}\n{"event": "st')
    assert said(output) == ["start"]
    events.write_text('{"event": "start"}\n{"event": "step"}\n{"event": "end"}\n')

    assert said(output, 1) == ["step", "end"]
    assert said(output, 3) == []
    assert said(SharedOutput(tmp_path), 2) == ["end"]
    assert said(output, 0) == ["start", "step", "end"]


def test_an_unreadable_event_is_passed_on(tmp_path: Path, events: Path) -> None:
    """A line that is not a JSON object is kept as text and does not shift the others."""
    events.write_text('nonsense\n[1]\n{"event": "end"}\n')

    assert said(SharedOutput(tmp_path)) == ["unreadable", "unreadable", "end"]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, events: Path) -> None:
    """So the attempt's state is unknown, and not ended."""
    events.mkdir()
    news = SharedOutput(tmp_path).read(ATTEMPT, 0, ended=True)

    assert "Is a directory" in news.because
