"""A number in a journal is unreadable, or it can be shown: no reader of events meets one that it cannot compute with."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.text.answers import render_show
from holdfast.core.errors import LedgerError
from holdfast.core.run.event import (
    Closed,
    Diagnosed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    TroubleNoted,
)
from holdfast.core.run.event_json import event_to_json
from holdfast.core.run.run_state import fold
from holdfast.core.run.training_event import event_of_line
from holdfast.core.run.trouble import Trouble
from holdfast.core.run.usage import MachineUsage
from holdfast.engine.report.page import ReportData, render_report
from holdfast.engine.run.answers import run_result

STEP: dict[str, Any] = {"event": "step", "max_steps": 20, "epoch": 0.5, "memory_bytes": 10, "elapsed_s": 2.5}
SAID: list[dict[str, Any]] = [
    {"event": "start", "at": 110.0, "step": 0, "max_steps": 20, "parameters": 5, "trainable": 5, "world_size": 1},
    *({**STEP, "at": 120.0 + n, "step": n, "loss": 3.0 - n / 9, "grad_norm": 1.5, "idle_s": 0.5, "tokens": n * 9} for n in range(1, 9)),
    {"event": "evaluate", "at": 130.0, "step": 8, "metrics": {"eval_loss": 2.5}, "elapsed_s": 1.5},
    {"event": "checkpoint", "at": 131.0, "step": 8, "path": "/c/checkpoint-8", "bytes": 10, "free_bytes": 99, "kept": 1},
    {"event": "heartbeat", "at": 140.0, "step": 8, "phase": "train", "idle_s": 4.5},
]  # fmt: skip
EVENTS: list[Event] = [
    RunRequested(at_s=100.0, folder="/runs/r"),
    Starting(at_s=101.0, attempt=1, backend="local", timeout_s=900.0),
    Started(at_s=102.0, attempt=1, id="7"),
    *(Reported(at_s=150.0, attempt=1, said=said, process="p", number=n) for n, said in enumerate(SAID, 1)),
    TroubleNoted(at_s=151.0, attempt=1, trouble=Trouble(kind="no-progress", text="slow", step=8)),
    Polled(at_s=160.0, attempt=1, answer=Liveness.ENDED, exit_code=1, ended_s=155.0,
           usage=MachineUsage(memory_bytes=5, memory_total_bytes=9)),
    Diagnosed(at_s=161.0, attempt=1, name="x", title="it broke", confidence=0.9, next_s=5.0),
    Closed(at_s=170.0, stage=RunStage.FAILED, because="it broke"),
]  # fmt: skip
LINES = [json.dumps(dict(zip(("kind", "fields"), event_to_json(event), strict=True))) for event in EVENTS]
NUMBERS = (
    *("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 400, "9" * 5000, f"-{'9' * 400}", "1e308", "-1e308"),
    *("1e299", "-1e299", "-1e18", "1e18", "253402300800", "253402300799", "-1", "0", "1e-320", str(1 << 63), "-0.0"),
)


def numbered(value: Any, *path: Any) -> Iterator[tuple[Any, ...]]:
    """The path to each number."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbered(inner, *path, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


def damaged(line: str, path: tuple[Any, ...], number: str) -> str:
    value = json.loads(line)
    within = value
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = "HERE"
    return json.dumps(value).replace('"HERE"', number)


CASES = [(place, path) for place, line in enumerate(LINES) for path in numbered(json.loads(line))]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[-12:]}_{len(number)}")
def test_a_run_with_any_number_is_shown_or_its_event_is_named(tmp_path: Path, number: str) -> None:
    """Wherever it is: in a time, a step, a figure or an exit code."""
    chance = random.Random(number)  # noqa: S311 - drawn, no secret
    for case, (place, path) in enumerate([CASES[0], *chance.sample(CASES, 8)]):
        lines = [*LINES]
        lines[place] = damaged(lines[place], path, number)
        run = tmp_path / str(case) / "r"
        run.mkdir(parents=True)
        (run / JOURNAL).write_text("\n".join(lines) + "\n")
        ledger = Ledger(run.parent)
        assert ledger.runs() == ["r"]
        shown = ""
        try:
            events = [event for _, event in ledger.read("r")]
            ledger.outline("r")
        except LedgerError as error:
            shown = str(error.where)
        else:
            assert render_report(ReportData(run="r", events=events, now_s=200.0))
            assert render_show(run_result("r", fold(events)))
        assert shown in ("", f"{run / JOURNAL}:{place + 1}"), (path, number)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{number[-12:]}_{len(number)}")
def test_a_training_process_that_reports_any_number_does_not_spoil_its_run(tmp_path: Path, number: str) -> None:
    """What it wrote is kept as text if it cannot be computed with, so that the journal can be read again."""
    lines = [json.dumps(said) for said in SAID]
    said = [
        event_of_line(damaged(line, path, number).encode()) for line in lines for path in numbered(json.loads(line))
    ]
    Ledger(tmp_path).append("r", [*EVENTS[:3], *(Reported(at_s=150.0, attempt=1, said=each) for each in said)])

    events = [event for _, event in Ledger(tmp_path).read("r")]
    assert len(events) == 3 + len(said)
    assert render_report(ReportData(run="r", events=events, now_s=200.0))
    assert render_show(run_result("r", fold(Ledger(tmp_path).outline("r"))))
