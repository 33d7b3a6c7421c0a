"""Where the trials of a study push: what each writes on this machine is in its own run folder."""

from collections.abc import Iterator, Sequence

from holdfast.core.job_file.job import Job


def shared_repositories(jobs: Sequence[tuple[int, Job]]) -> Iterator[tuple[str, list[int]]]:
    """Yield each repository that several trials push to, with the numbers of these trials."""
    found: dict[str, list[int]] = {}
    for number, job in jobs:
        if job.output.push_to:
            found.setdefault(job.output.push_to, []).append(number)
    yield from ((name, numbers) for name, numbers in found.items() if numbers[1:])
