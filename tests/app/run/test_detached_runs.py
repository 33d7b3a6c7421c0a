"""A run that is left to a supervisor in the background: what its command says of a supervisor that does not live."""

from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import save_plan
from holdfast.app.resume.verb import resume
from holdfast.app.run.background import start_in_background
from holdfast.app.run.runs import Run
from holdfast.core.errors import BackendError
from holdfast.core.run.event import Closed, Event, RunRequested, RunStage
from holdfast.core.run.plan import Plan

PLAN = Plan(
    name="train",
    script="raise SystemExit(3)\n",
    script_name="train.py",
    cwd=".",
    arguments=(),
    processes=1,
)


def begun(runs: Path, *ends: Event, plan: Plan = PLAN) -> Run:
    run = Run(name="train-1", folder=runs / "train-1", ledger=Ledger(runs))
    run.folder.mkdir(parents=True)
    save_plan(run.folder, replace(plan, cwd=str(runs)))
    run.ledger.append(run.name, [RunRequested(at_s=1.0, folder=str(run.folder)), *ends])
    return run


@pytest.mark.parametrize("ends", [(), (Closed(at_s=2.0, stage=RunStage.CANCELLED, because="stopped by a person"),)])
def test_a_supervisor_that_ends_at_once_is_reported_with_its_reason(tmp_path: Path, ends: tuple[Event, ...]) -> None:
    run = begun(tmp_path, *ends, plan=replace(PLAN, backend="nowhere"))

    with pytest.raises(BackendError) as caught:
        resume(run.name, runs=tmp_path, detach=True)

    assert "no backend is called 'nowhere'" in caught.value.what
    assert caught.value.where == str(run.folder / "supervisor.log")
    assert f"holdfast resume {run.name}" in caught.value.fix


@pytest.mark.parametrize(
    ("words", "variables", "error"),
    [
        (["resume", "nothing"], {}, "no run is called 'nothing'"),
        (["resume", "nothing"], {"PYTHONHOME": "/nonexistent"}, None),
    ],
)
def test_a_command_without_an_answer_is_told_from_one_with_an_error(
    tmp_path: Path, words: list[str], variables: dict[str, str], error: str | None
) -> None:
    """One that crashed has said nothing."""
    ended = start_in_background(words, variables, tmp_path / "log", lambda: False)

    assert ended is not None
    assert (ended.error is None) == (error is None)
    assert (error or f"exit code {ended.exit_code}") in ended.because
