"""Which run a person means who gives the name of its job."""

from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.opening import open_newest_run, open_resumable_run, open_run, open_running_run
from holdfast.app.run.runs import Run
from holdfast.core.errors import UsageError
from holdfast.core.run.event import Closed, RunRequested, RunStage
from holdfast.core.run.requested_job import RequestedJob

NAMES = ("sft-20261127-170844-oh", "sft-20261128-091500-kw", "sft-20261128-113000-zz", "sft-short-20261128-120000-x2")


def runs_of(base: Path, *, ended: set[str]) -> None:
    """Make the runs, some of which have ended."""
    for name in NAMES:
        run = Run(name=name, folder=base / name, ledger=Ledger(base))
        run.folder.mkdir()
        about = RequestedJob(job=name, target="job.yaml", backend="local")
        run.ledger.append(name, [RunRequested(at_s=1.0, folder=str(run.folder), about=about)])
        if name in ended:
            run.ledger.append(name, [Closed(at_s=2.0, stage=RunStage.SUCCEEDED)])


@pytest.mark.parametrize("running", NAMES[:3])
def test_a_job_means_its_newest_run_or_the_one_that_is_running(tmp_path: Path, running: str) -> None:
    """The first to somebody who looks, the second to somebody who stops it; a run of another job is not meant."""
    runs_of(tmp_path, ended=set(NAMES[:3]) - {running})
    assert open_newest_run("sft", tmp_path)[0].name == NAMES[2]
    assert open_running_run("sft", tmp_path).name == running
    assert open_running_run(NAMES[0], tmp_path).name == NAMES[0]
    assert open_running_run("sft-short", tmp_path).name == NAMES[3]


@pytest.mark.parametrize("ended", [set(NAMES), {NAMES[0]}])
def test_it_is_not_guessed_which_of_several_is_to_stop(tmp_path: Path, ended: set[str]) -> None:
    """None runs, or two do."""
    runs_of(tmp_path, ended=ended)
    for open_one in (open_run, open_running_run):
        with pytest.raises(UsageError, match="3 runs are called 'sft'") as caught:
            open_one("sft", tmp_path)
        assert f"{NAMES[2]} is the newest" in caught.value.fix


@pytest.mark.parametrize("name", ["sft", "sft.yaml", "jobs/sft.yml"])
def test_a_job_or_its_file_means_its_newest_run_that_can_be_continued(tmp_path: Path, name: str) -> None:
    """What has succeeded is not continued; where nothing can be, the newest says why."""
    runs_of(tmp_path, ended={NAMES[2]})
    assert open_resumable_run(name, tmp_path).name == NAMES[1]
    assert open_newest_run(name, tmp_path)[0].name == NAMES[2]

    with pytest.raises(UsageError, match=r"no run is called 'sf\.yaml'"):
        open_resumable_run("sf.yaml", tmp_path)


def test_where_nothing_can_be_continued_the_newest_run_is_named(tmp_path: Path) -> None:
    runs_of(tmp_path, ended=set(NAMES))
    assert open_resumable_run("sft", tmp_path).name == NAMES[2]
