"""What a rehearsal says while it waits: on a slow machine, silence looks like a hang."""

import json
from pathlib import Path

from holdfast.adapters.rehearsal.server import HOOK_EVENTS, reached_stage
from holdfast.app.rehearse.repeated_progress import RepeatedProgress
from holdfast.payload.rehearsal.part_request import PartRequest


def test_what_goes_on_is_said_again_with_the_stage_that_is_reached(tmp_path: Path) -> None:
    """Once when it begins, then every ten seconds, however often it is asked to."""
    request = PartRequest(script="train.py", source="", argv=(), module="", folder=str(tmp_path), gpu="none")
    times, said = iter([0.0, 9.0, 12.0, 13.0, 23.0]), list[str]()
    beat = RepeatedProgress(said.append, "the whole path", lambda: reached_stage(request), lambda: next(times))

    beat()
    beat()
    entered = [{"event": "enter", "name": name} for name in ("data", "model")]
    passed = {"event": "stage", "name": "model", "elapsed_s": 1.5}
    (tmp_path / HOOK_EVENTS).write_text("".join(f"{json.dumps(each)}\n" for each in [*entered, passed]))
    beat()
    beat()
    assert said == ["the whole path", "the whole path, for 12 s now", "the whole path, at `model`, for 23 s now"]


def test_a_file_that_a_script_wrote_in_place_of_the_events_says_no_stage(tmp_path: Path) -> None:
    request = PartRequest(script="train.py", source="", argv=(), module="", folder=str(tmp_path), gpu="none")
    (tmp_path / HOOK_EVENTS).write_text('[1]\n{"event": "enter"}\nnonsense\n')

    assert reached_stage(request) == ""
