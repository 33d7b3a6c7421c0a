"""A run that is not in the runs folder at hand is found by its path, and named by the folder above that has it."""

import shutil
from functools import partial
from pathlib import Path

import pytest

import holdfast
from holdfast.adapters.storage.ledger import Ledger
from holdfast.core.errors import HoldfastError
from holdfast.core.run.event import RunRequested
from holdfast.core.run.requested_job import RequestedJob

NAME = "quickstart-20261127-090000-x7"


@pytest.fixture(autouse=True)
def below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder below the one with the runs, as `examples/mistakes` is below a clone."""
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    about = RequestedJob(job="quickstart", method="sft", model="m", dataset="d.jsonl")
    folder = tmp_path / "runs" / NAME
    folder.mkdir(parents=True)
    Ledger(tmp_path / "runs").append(NAME, [RunRequested(at_s=1.0, folder=str(folder), about=about)])
    (tmp_path / "examples" / "mistakes").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "examples" / "mistakes")


@pytest.mark.parametrize("name", [NAME, "quickstart"])
def test_the_folder_above_that_has_the_run_is_named(name: str) -> None:
    """Verbs that take runs and verbs that take models say the same."""
    for verb in (holdfast.show, holdfast.logs, partial(holdfast.evaluate, on=["d.jsonl"]), holdfast.export):
        with pytest.raises(HoldfastError) as error:
            verb(name)
        assert error.value.fix == f"`--runs ../../runs` has {NAME}"


def test_a_copy_of_a_run_is_found_by_its_path(tmp_path: Path) -> None:
    """It brings its journal along; the index beside it is made."""
    copied = shutil.copytree(tmp_path / "runs" / NAME, tmp_path / "elsewhere" / NAME)

    assert holdfast.show(str(copied))["run"] == NAME


def test_a_run_that_is_nowhere_is_looked_for_in_vain() -> None:
    with pytest.raises(HoldfastError) as error:
        holdfast.show("nobody")
    assert "`holdfast runs` lists them" in error.value.fix


def test_the_path_of_a_run_is_as_good_as_its_name() -> None:
    assert holdfast.show(f"../../runs/{NAME}")["run"] == NAME
    assert holdfast.show(NAME, runs="../../runs")["run"] == NAME
