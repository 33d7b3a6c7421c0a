"""What a run is repeated from: the resolved job file."""

from pathlib import Path

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage.resolved import note_versions, resolved_yaml, with_absolute_paths, with_versions
from holdfast.core.job_file.job import Job, parse_job
from holdfast.core.run.event import Reported
from holdfast.engine.script.outline import choose_schedule, with_schedule
from holdfast.rules.job103_idle_key import check as idle_keys
from tests.helpers.generated_jobs import generate_job

JOB = Job.model_validate(
    {
        "method": "grpo",
        "model": "tiny",
        "dataset": {"path": "rows.jsonl", "rows": 10},
        "rewards": ["accuracy_reward"],
        "train": {"learning_rate": 2e-5, "model_init_kwargs": {"use_cache": False}},
        "environment": {"variables": {"NOTE": "two\nlines: # and more"}},
        "track": {"with": "none"},
        "seed": 7,
    }
)


def test_resolved_job_is_the_same_job() -> None:
    """Read again, the resolved file is the job it was written from, with the seed that was drawn with."""
    again = parse_job(JobFileReader().read(resolved_yaml(JOB), "job.resolved.yaml"))

    assert again.dataset.seed == 7
    assert again.model_copy(update={"dataset": JOB.dataset}) == JOB


def test_nothing_is_left_to_defaults() -> None:
    """Every key that a job can have stands in the file, so that a later default changes nothing."""
    document = JobFileReader().read(resolved_yaml(JOB), "job.resolved.yaml")

    assert document.values == JOB.model_dump(by_alias=True, mode="json") | {
        "dataset": JOB.dataset.model_dump() | {"seed": 7}
    }


def test_paths_lead_to_the_files_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that there are, from the job's folder or from here; what names none is left as it is."""
    monkeypatch.chdir(tmp_path)
    for name in ("tiny", "jobs", "steps"):
        Path(name).mkdir()
    for name in ("jobs/rewards.py", "chat.jinja", "ds.json", "one.jsonl", "jobs/test.jsonl"):
        Path(name).touch()
    given = {
        "method": "grpo",
        "model": {"path": "tiny", "chat_template": "chat.jinja"},
        "dataset": {"path": "*.jsonl", "map": "package.rows:clean"},
        "rewards": ["rewards.py:exact", "accuracy_reward", "jobs.rewards:exact"],
        "evaluate": [
            {"dataset": ["test.jsonl", "owner/name"], "metric": ["loss", "rewards.py:exact"], "not_worse_than": "tiny"}
        ],
        "train": {"deepspeed": "ds.json", "save_strategy": "steps", "learning_rate": 2e-5},
    }

    kept = with_absolute_paths(Job.model_validate(given), "jobs/job.yaml")

    assert (kept.model.path, kept.model.chat_template) == (f"{tmp_path}/tiny", f"{tmp_path}/chat.jinja")
    assert (kept.dataset.path, kept.dataset.map) == (f"{tmp_path}/*.jsonl", "package.rows:clean")
    assert kept.rewards == [f"{tmp_path}/jobs/rewards.py:exact", "accuracy_reward", "jobs.rewards:exact"]
    (evaluation,) = kept.evaluate
    assert evaluation.dataset == [f"{tmp_path}/jobs/test.jsonl", "owner/name"]
    assert evaluation.metric == ["loss", f"{tmp_path}/jobs/rewards.py:exact"]
    assert evaluation.not_worse_than == f"{tmp_path}/tiny"
    assert kept.train == {"deepspeed": f"{tmp_path}/ds.json", "save_strategy": "steps", "learning_rate": 2e-5}


def test_a_folder_of_tasks_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on the command line: a folder with task files is meant; an empty one of the name of a task is not."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "arc_easy"):
        Path("jobs", name).mkdir(parents=True)
    Path("jobs/mine/sums.yaml").touch()
    given = {"method": "sft", "model": "tiny", "dataset": "rows.jsonl", "evaluate": [{"task": ["mine", "arc_easy"]}]}

    (evaluation,) = with_absolute_paths(Job.model_validate(given), "jobs/job.yaml").evaluate

    assert evaluation.task == [f"{tmp_path}/jobs/mine", "arc_easy"]


def test_versions_stand_in_comments() -> None:
    """They are told beside the job, those of the newest attempt alone, and no value of theirs can become a key."""
    first = with_versions(resolved_yaml(JOB), {"trl": "1.15.0", "note": "one\nname: other"})
    text = with_versions(first, {"trl": "1.16.0"})

    assert "#   trl: 1.15.0\n" in first
    assert [line for line in text.splitlines() if "trl" in line] == ["#   trl: 1.16.0"]
    for written in (first, text):
        assert parse_job(JobFileReader().read(written, "job.resolved.yaml")) == parse_job(
            JobFileReader().read(resolved_yaml(JOB), "job.resolved.yaml")
        )


def test_defaults_that_are_written_out_are_no_idle_keys() -> None:
    """Checked again, the resolved file has no key that nothing acts on: nobody asked for the defaults."""
    document = JobFileReader().read(resolved_yaml(JOB), "job.resolved.yaml")

    assert list(idle_keys(document)) == []


@pytest.mark.parametrize("number", range(12))
def test_the_schedule_that_a_script_chooses_stands_in_the_job(number: int) -> None:
    """Repeated from it, a job evaluates and saves as before, and nothing is left to choose."""
    job = parse_job(JobFileReader().read(generate_job(number).text, "job.yaml"))
    again = parse_job(JobFileReader().read(resolved_yaml(with_schedule(job)), "job.resolved.yaml"))

    assert again.train == choose_schedule(job) | job.train
    assert choose_schedule(again) == {}


def test_versions_are_noted_when_training_begins(tmp_path: Path) -> None:
    """A run that is killed later has them too; a script of the user's own has no job file."""
    started = Reported(at_s=1.0, attempt=1, said={"event": "start", "versions": {"trl": "1.16.0"}})
    stepped = Reported(at_s=2.0, attempt=1, said={"event": "step", "step": 1})
    note_versions(tmp_path, [started])
    assert list(tmp_path.iterdir()) == []

    path = tmp_path / "job.resolved.yaml"
    path.write_text(resolved_yaml(JOB))
    note_versions(tmp_path, [stepped])
    assert path.read_text() == resolved_yaml(JOB)
    odd = Reported(at_s=1.0, attempt=1, said={"event": "start", "versions": None})
    note_versions(tmp_path, [started, stepped, odd])
    assert path.read_text() == with_versions(resolved_yaml(JOB), {"trl": "1.16.0"})
