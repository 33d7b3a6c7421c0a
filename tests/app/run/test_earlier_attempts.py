"""What `diagnose` says of a run's attempts before the newest one."""

from pathlib import Path

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.text.diagnosis import render_diagnosis
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
)
from holdfast.results.diagnose import DiagnoseResult

NAME = "sums-20261127-090000-x7"
STEP = {"event": "step", "step": 5, "max_steps": 9, "loss": 2.5}


def attempt(number: int, code: int, *more: Event) -> list[Event]:
    """An attempt that reaches step 5, and ends with an exit code."""
    return [
        Starting(at_s=2.0, attempt=number, backend="local"),
        Started(at_s=3.0, attempt=number, id=str(number)),
        Reported(at_s=4.0, attempt=number, said=STEP),
        Polled(at_s=5.0, attempt=number, answer=Liveness.ENDED, exit_code=code),
        *more,
    ]


def diagnosed(runs: Path, *attempts: list[Event]) -> DiagnoseResult:
    """The diagnosis of a run whose newest attempt trained to its end."""
    folder = runs / NAME
    for number in range(1, len(attempts) + 1):
        (folder / "attempts" / str(number)).mkdir(parents=True)
        log = "{'loss': '2.5', 'epoch': '1'}\n{'train_runtime': '0.2', 'train_loss': '2.5', 'epoch': '1'}\n"
        (folder / "attempts" / str(number) / "stdout.log").write_text(log)
    events = [RunRequested(at_s=1.0, folder=str(folder)), *(each for some in attempts for each in some)]
    Ledger(runs).append(NAME, [*events, Closed(at_s=9.0, stage=RunStage.SUCCEEDED)])
    return convert(holdfast.diagnose(NAME, runs=runs), DiagnoseResult)


@pytest.mark.parametrize(
    ("code", "name", "words"),
    [(-9, "cpu-ram-oom-kill", "SIGKILL killed it at step 5 of 9"), (1, "", "exit code 1 at step 5 of 9")],
)
def test_a_healthy_end_hides_no_failure_before_it(code: int, name: str, words: str, tmp_path: Path) -> None:
    """An attempt that failed is named with its end, and with its class if that was found."""
    found = diagnosed(tmp_path, attempt(1, code, Diagnosed(at_s=6.0, attempt=1, name=name)), attempt(2, 0))

    (earlier,) = found.earlier
    assert (found.verdict, earlier.number, earlier.because, earlier.name) == ("healthy", 1, words, name or None)
    assert f"earlier attempt 1 failed: {words}" in unstyle(render_diagnosis(found))


def test_a_run_of_one_attempt_has_none_before_it(tmp_path: Path) -> None:
    """Nothing is said of attempts where there was only one."""
    found = diagnosed(tmp_path, attempt(1, 0))

    assert (found.earlier, "earlier" in unstyle(render_diagnosis(found))) == ((), False)
