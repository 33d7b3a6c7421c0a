"""Paths in a job file start from its own folder, or else from the current one; those that are typed, from the current one."""

from pathlib import Path

import pytest

from holdfast.adapters.targets import read_referred, read_target

JOB = "method: sft\nmodel: {path: tiny}\ndataset: rows.jsonl\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder, with a job in another one below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "job.yaml").write_text(JOB)
    return tmp_path


def named(*sets: str) -> tuple[str, str]:
    job = read_target("jobs/job.yaml", sets).job
    assert job
    return job.dataset.path, job.model.path


def test_what_stands_beside_the_job_file_is_found_from_here(here: Path) -> None:
    """Data and model alike, even where the current folder has others of that name."""
    (here / "jobs" / "tiny").mkdir()
    for folder in (here, here / "jobs"):
        (folder / "rows.jsonl").write_text("{}\n")

    assert named() == (str(Path("jobs", "rows.jsonl")), str(Path("jobs", "tiny")))


def test_so_are_the_data_and_the_models_of_evaluations(here: Path) -> None:
    """Of names that lead nowhere, and of the Hub, nothing changes."""
    with (here / "jobs" / "job.yaml").open("a") as file:
        file.write("evaluate:\n- {dataset: [a.jsonl, b.jsonl, owner/c], not_worse_than: old}\n- {dataset: a.jsonl}\n")
    (here / "jobs" / "a.jsonl").write_text("{}\n")
    (here / "jobs" / "old").mkdir()

    job = read_target("jobs/job.yaml", ()).job

    assert job
    assert [each.dataset for each in job.evaluate] == [["jobs/a.jsonl", "b.jsonl", "owner/c"], ["jobs/a.jsonl"]]
    assert job.evaluate[0].not_worse_than == "jobs/old"


def test_what_does_not_stand_beside_the_job_file_is_left_as_it_is(here: Path) -> None:
    """It is in the current folder, or of the Hub, or nowhere."""
    (here / "rows.jsonl").write_text("{}\n")

    assert named() == ("rows.jsonl", "tiny")


def test_a_path_that_is_typed_starts_from_the_current_folder(here: Path) -> None:
    """An override is typed there."""
    (here / "jobs" / "rows.jsonl").write_text("{}\n")

    assert named("dataset=other.jsonl", "dataset.path=rows.jsonl") == ("rows.jsonl", "tiny")


def test_a_job_beside_which_holdfast_is_started_keeps_its_spelling(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the job file is named by its whole path."""
    monkeypatch.chdir(here / "jobs")
    Path("rows.jsonl").write_text("{}\n")

    assert read_target(str(here / "jobs" / "job.yaml")).document.get("dataset") == "rows.jsonl"


def test_a_function_s_file_is_found_as_data_is(here: Path) -> None:
    """The one beside the job file first."""
    for folder in (here, here / "jobs"):
        (folder / "own.py").write_text(f"# {folder.name}")

    assert read_referred(["own.py"], "jobs/job.yaml") == {"own.py": "# jobs"}
