"""Two studies that start at once: what the one trains, the other follows, and nothing is trained twice."""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from holdfast.app.run.continuing import continue_run
from holdfast.app.run.runs import Run
from holdfast.app.run.starting import begin_run
from holdfast.core.run.event import Closed, RunStage
from tests.app.study.test_study import PATIENCE_S, start
from tests.helpers.quick_training import (
    QuickStudy,
    quick_study,  # noqa: F401 - the fixture `quick`
    run,
)


def begin(quick: QuickStudy, name: str) -> "subprocess.Popen[bytes]":
    """Start the study as a file of another name."""
    file = quick.folder / f"{name}.yaml"
    file.write_text(quick.file.read_text())
    return start(quick, file=file.name)


@pytest.mark.long
@pytest.mark.parametrize("kills", range(4))
def test_a_study_takes_over_what_another_leaves_behind(quick: QuickStudy, kills: int) -> None:
    """One of two is killed, at any moment: the other runs all that is left, once."""
    quick = QuickStudy(quick.folder, seconds=0.3)
    quick.write(seeds=[1, 2, 3, 4])
    killed, other = (begin(quick, name) for name in ("one", "two"))
    time.sleep(1.5 + kills / 3)  # noqa: TID251 - a real process
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=PATIENCE_S)

    answer = json.loads(other.communicate(timeout=PATIENCE_S)[0])

    assert answer["verdict"] == "complete"
    assert set(quick.trainings().values()) == {1}
    assert len(quick.trainings()) == 4


@pytest.mark.long
def test_two_study_files_with_the_same_trials_train_each_once(quick: QuickStudy) -> None:
    """Started at the same moment; each answers with all trials."""
    quick = QuickStudy(quick.folder, seconds=0.3)
    quick.write(seeds=[1, 2, 3])

    studies = [begin(quick, name) for name in ("one", "two")]
    answers = [json.loads(study.communicate(timeout=PATIENCE_S)[0]) for study in studies]

    assert [each["verdict"] for each in answers] == ["complete", "complete"]
    assert set(quick.trainings().values()) == {1}
    assert [trial["run"] for trial in answers[0]["trials"]] == [trial["run"] for trial in answers[1]["trials"]]


def test_a_trial_that_is_stopped_before_its_supervision_begins_is_not_trained(
    quick: QuickStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one, and one that is continued; the next start of the study trains it."""
    quick.write(seeds=[1])

    def stopped(function: Any, at_s: float) -> Any:
        def begin(*arguments: Any) -> Run:
            begun: Run = function(*arguments)
            begun.ledger.append(
                begun.name, [Closed(at_s=at_s, stage=RunStage.CANCELLED, because="stopped by a person")]
            )
            return begun

        return begin

    with monkeypatch.context() as patched:
        patched.setattr("holdfast.app.study.running.begin_run", stopped(begin_run, 1.0))
        patched.setattr("holdfast.app.study.running.continue_run", stopped(continue_run, 2.0))
        answers = [run(quick), run(quick)]

    assert [each["verdict"] for each in answers] == ["incomplete"] * 2
    assert not quick.trainings()
    assert run(quick)["verdict"] == "complete"
    assert quick.trainings().total() == 1
