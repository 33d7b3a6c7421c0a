"""What a run is repeated from: the resolved job file."""

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage.resolved import resolved_yaml
from holdfast.core.job import Job, parse_job
from holdfast.rules.job103_idle_key import check as idle_keys

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


def test_what_was_found_out_stands_in_comments() -> None:
    """Versions are told beside the job: the same each time, and no value of theirs can become a key."""
    extra = {"versions": {"trl": "1.16.0"}, "note": "one\nname: other"}
    text = resolved_yaml(JOB, extra)

    assert "#   trl: 1.16.0\n" in text
    assert text == resolved_yaml(JOB, extra)
    assert parse_job(JobFileReader().read(text, "job.resolved.yaml")).name is None


def test_defaults_that_are_written_out_are_no_idle_keys() -> None:
    """Checked again, the resolved file has no key that nothing acts on: nobody asked for the defaults."""
    document = JobFileReader().read(resolved_yaml(JOB), "job.resolved.yaml")

    assert list(idle_keys(document)) == []
