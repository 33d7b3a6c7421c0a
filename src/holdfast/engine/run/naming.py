"""The names of jobs and runs, and which runs a person means by one."""

import re
from collections.abc import Sequence

from holdfast.core.job_file.job import Job

UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
"""Characters that the folder of a run may not have; each run of them in a name becomes a hyphen."""
PARTS = 3
"""Parts of a run's name that follow that of its job: the date, the time, and two letters."""


def name_job(job: Job | None, path: str) -> str:
    """Return the job's name: its own, else its file's.

    >>> name_job(None, "jobs/my sft.yaml")
    'my-sft'
    >>> name_job(None, "_sft.yaml")
    'sft'
    """
    if job and job.name:
        return job.name
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return UNFIT.sub("-", stem).strip("-.").lstrip("_-.") or "job"


def matching_runs(name: str, runs: Sequence[str]) -> Sequence[str]:
    """Return the runs that a name means: the one that is called so, else those of the job, else those that begin so.

    >>> runs = ["sft-20261127-170844-oh", "sft-short-20261127-170811-x2"]
    >>> matching_runs("sft", runs), matching_runs("sft-s", runs)
    (['sft-20261127-170844-oh'], ['sft-short-20261127-170811-x2'])
    """
    exact = [run for run in runs if run == name] or [run for run in runs if job_of_run(run) == name]
    return exact or [run for run in runs if run.startswith(name)]


def job_of_run(run: str) -> str:
    """Return the name of the job of a run.

    >>> job_of_run("sft-short-20261127-170811-x2")
    'sft-short'
    """
    return run.rsplit("-", PARTS)[0]


def is_one_job(name: str, runs: Sequence[str]) -> bool:
    """True if runs are those of the job of that name.

    >>> is_one_job("sft", ["sft-20261127-170844-oh"]), is_one_job("sft-", ["sft-20261127-170844-oh"])
    (True, False)
    """
    return bool(runs) and all(job_of_run(run) == name for run in runs)


def describe_several(name: str, runs: Sequence[str]) -> str:
    """Return that a name means several runs."""
    return f"{len(runs)} runs {'are called' if is_one_job(name, runs) else 'begin with'} {name!r}"
