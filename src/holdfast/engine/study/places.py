"""Where the trials of a study write beside their run folders, which are their own."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holdfast.core.job_file.job import Job


class WrittenPlace(NamedTuple):
    """A folder or a repository that a job writes to.

    Attributes:
        key: The key of the job that names it.
        value: Its name.
    """

    key: str
    value: str


def written_places(job: Job) -> Iterator[WrittenPlace]:
    """Yield the folders and repositories that a job names to write to."""
    if job.output.push_to:
        yield WrittenPlace("output.push_to", job.output.push_to)
    for name in ("output_dir", "hub_model_id", "logging_dir"):
        if isinstance(value := job.train.get(name), str):
            yield WrittenPlace(f"train.{name}", value)


def shared_places(jobs: Sequence[tuple[int, Job]]) -> Iterator[tuple[WrittenPlace, list[int]]]:
    """Yield each place that several trials write to, with the numbers of these trials."""
    found: dict[WrittenPlace, list[int]] = {}
    for number, job in jobs:
        for place in written_places(job):
            found.setdefault(place, []).append(number)
    yield from ((place, numbers) for place, numbers in found.items() if numbers[1:])
