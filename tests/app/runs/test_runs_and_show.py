"""What `show` and `runs` say of runs, by their folders."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

import holdfast
from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.runs import Run
from holdfast.cli.main import run_command
from holdfast.cli.text.answers import render_show
from holdfast.core.run.event import Closed, Event, Reported, RunRequested, RunStage, Started, Starting
from holdfast.results.run import RunResult

NAME = "sums-20261127-090000-x7"
SAID: list[dict[str, Any]] = [
    {"event": "start", "step": 0, "max_steps": 30},
    {"event": "step", "step": 10, "max_steps": 30, "loss": 2.5},
    {"event": "evaluate", "step": 10, "metrics": {"eval_loss": 2.25}},
    {"event": "step", "step": 20, "max_steps": 30, "loss": 1.5},
    {"event": "evaluate", "step": 20, "metrics": {"eval_loss": 1.25}},
    {"event": "model", "step": 20, "path": "/out"},
]
READ = 3
"""Events that the supervisor read before it was killed."""


def begin(runs: Path, *ends: Event) -> None:
    """Write a run, the events of whose training were not all read."""
    folder = runs / NAME
    attempt = folder / "attempts" / "1"
    attempt.mkdir(parents=True)
    (attempt / "events.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in SAID) + '{"event": "st')
    events: list[Event] = [
        RunRequested(at_s=1.0, folder=str(folder)),
        Starting(at_s=2.0, attempt=1, backend="local"),
        Started(at_s=3.0, attempt=1, id="7"),
        *(Reported(at_s=4.0, attempt=1, said=each) for each in SAID[:READ]),
        *ends,
    ]
    Ledger(runs).append(NAME, events)


def test_a_run_whose_supervisor_was_killed_shows_its_newest_figures(tmp_path: Path) -> None:
    """The training goes on, and writes what nobody reads; nothing of it is stored by a look at it."""
    begin(tmp_path)

    shown = holdfast.show(NAME, runs=tmp_path)
    (listed,) = holdfast.runs(runs=tmp_path)["runs"]

    for result in (shown, listed):
        assert (result["metrics"], result["attempts"][0]["steps"]) == ({"train_loss": 1.5, "eval_loss": 1.25}, 20)
    assert sum(isinstance(event, Reported) for _, event in Ledger(tmp_path).read(NAME)) == READ


def test_a_run_says_how_long_it_still_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own steps, the same in the list and on its own; one that has ended, or that nobody supervises, says nothing."""
    now = 1_000.0
    monkeypatch.setattr("holdfast.adapters.clock.SystemClock.now_s", lambda _self: now)
    steps = [
        {"event": "step", "step": n, "max_steps": 30, "at": now - 200 + 10 * n, "elapsed_s": 10.0} for n in range(1, 21)
    ]
    said = [{"event": "start", "step": 0, "max_steps": 30, "at": now - 200}, *steps]
    folder = tmp_path / NAME
    (folder / "attempts" / "1").mkdir(parents=True)
    ledger = Ledger(tmp_path)
    events: list[Event] = [
        RunRequested(at_s=1.0, folder=str(folder)),
        Starting(at_s=2.0, attempt=1, backend="hf-jobs"),
        Started(at_s=3.0, attempt=1, id="me/7"),
        *(Reported(at_s=4.0, attempt=1, said=each) for each in said),
    ]
    ledger.append(NAME, events)
    assert "remaining_s" not in holdfast.show(NAME, runs=tmp_path)
    assert "remaining_s" not in holdfast.runs(runs=tmp_path)["runs"][0]
    for verb in ("show", "runs"):
        monkeypatch.setattr(f"holdfast.app.{verb}.verb.is_supervised", lambda _folder: True)

    shown = holdfast.show(NAME, runs=tmp_path)
    (listed,) = holdfast.runs(runs=tmp_path)["runs"]

    assert shown["remaining_s"]["value"] == listed["remaining_s"]["value"] == 100.0
    assert "about 1 min 40 s until the last step (1 min 40 s to" in render_show(convert(shown, RunResult))
    ledger.append(NAME, [Closed(at_s=9.0, stage=RunStage.FAILED, because="it ended")])
    assert "remaining_s" not in holdfast.show(NAME, runs=tmp_path)


@pytest.mark.parametrize("stage", [RunStage.FAILED, RunStage.CANCELLED])
def test_a_run_that_ended_is_what_its_ledger_says(tmp_path: Path, stage: RunStage) -> None:
    begin(tmp_path, Closed(at_s=9.0, stage=stage, because="it ended"))

    assert holdfast.show(NAME, runs=tmp_path)["metrics"] == {"train_loss": 2.5, "eval_loss": 2.25}


def test_looking_at_runs_and_stopping_them_imports_neither_rows_nor_rehearsals() -> None:
    """Each is typed often, and somebody waits for it."""
    code = """
import sys
import holdfast.cli.verbs.runs, holdfast.cli.verbs.show, holdfast.cli.verbs.stop
slow = ("polars", "numpy", "holdfast.app.rehearse", "holdfast.app.check", "holdfast.engine.rehearse")
print([name for name in slow if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_run_that_died_with_its_supervisor_counts_until_its_last_sign_of_life(tmp_path: Path) -> None:
    """Nobody has looked since: neither its end nor a poll is in the ledger."""
    begin(tmp_path)
    folder = tmp_path / NAME
    attempt = folder / "attempts" / "1"
    run = Run(name=NAME, folder=folder, ledger=Ledger(tmp_path))
    Ledger(tmp_path).append(NAME, [Started(at_s=3.0, attempt=1, id=str(attempt))])
    (attempt / "guard.json").write_text("{}")
    for name in ("guard.json", "events.jsonl"):
        os.utime(attempt / name, (1000.0, 1000.0))
    assert run.counted_until_s(run.state()) == 1000.0

    (attempt / "exit.json").write_text(json.dumps({"exit_code": 1, "at": 900.5}))
    assert run.counted_until_s(run.state()) == 900.5


def test_an_attempt_that_died_with_its_supervisor_is_not_shown_as_running(tmp_path: Path) -> None:
    begin(tmp_path)
    attempt = tmp_path / NAME / "attempts" / "1"
    Ledger(tmp_path).append(NAME, [Started(at_s=3.0, attempt=1, id=str(attempt))])
    (attempt / "guard.json").write_text("{}")

    (listed,) = holdfast.runs(runs=tmp_path)["runs"]
    assert (listed["attempts"][0]["stage"], listed["stage"], listed["supervised"]) == ("failed", "running", False)

    (attempt / "exit.json").write_text(json.dumps({"exit_code": -9, "at": 900.5}))
    assert holdfast.show(NAME, runs=tmp_path)["attempts"][0]["exit_code"] == -9


def test_the_logs_of_an_attempt_without_output_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin(tmp_path)

    assert run_command(["logs", NAME, "--runs", str(tmp_path)]) == 0
    assert capsys.readouterr() == ("", f"attempt 1 of {NAME} has written no output\n")


@pytest.mark.parametrize("name", [b"\xff", b"sums-\xed\xa0\x80", "é".encode("latin-1")])
def test_a_folder_whose_name_is_no_text_is_named_and_passed_over(tmp_path: Path, name: bytes) -> None:
    """It stops neither the list of runs nor any other run, whether the index was there before it or not."""
    begin(tmp_path)
    journal = (tmp_path / NAME / "ledger.jsonl").read_bytes()
    other = tmp_path / os.fsdecode(name)
    other.mkdir()
    (other / "ledger.jsonl").write_bytes(journal)

    for has_index in (True, False):
        for path in () if has_index else [*tmp_path.glob("ledger.sqlite*")]:
            path.unlink()
        listed = holdfast.runs(runs=tmp_path)
        assert [run["run"] for run in listed["runs"]] == [NAME]
        assert [run["fix"] for run in listed["unreadable"]] == ["rename the folder"]
        json.dumps(listed).encode()
        assert holdfast.show(NAME, runs=tmp_path)["run"] == NAME
