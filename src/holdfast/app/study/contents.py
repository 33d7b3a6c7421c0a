"""The content of a trial: its job, the files that it names, and the versions that it gets."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.storage.file_digests import digest_path
from holdfast.adapters.storage.resolved import with_absolute_paths
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.job.document import leaves
from holdfast.core.job_file.job import Job
from holdfast.core.study.study import StudyMetric
from holdfast.core.study.trial import Trial
from holdfast.engine.study.content import content_of, rows_of, shape_of

FUNCTION: Final = re.compile(r"(?P<file>.+\.py):(?P<name>\w+)")


def trial_hashes(job: Job, trial: Trial, job_path: str, metric: StudyMetric) -> tuple[str, str, str]:
    """Return the hash of a trial's content, that of its shape, and that of the rows that it is measured on.

    Args:
        job: The job of the trial.
        trial: The trial.
        job_path: The file that holds the job.
        metric: What trials are compared by.
    """
    absolute = with_absolute_paths(job, job_path)
    digests = dict(_digests(absolute.model_dump(by_alias=True)))
    versions = {name: str(version) for name, version in stack_api().versions.items()}
    return (
        content_of(absolute, trial.values, digests, versions),
        shape_of(absolute, digests),
        rows_of(absolute, metric, trial, digests),
    )


def _digests(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each value that names a file, with a digest of what the file holds."""
    for _, value in leaves(values):
        if isinstance(value, str) and value.startswith("/"):
            function = FUNCTION.fullmatch(value)
            path, rest = (function["file"], f":{function['name']}") if function else (value, "")
            with suppress(OSError, ValueError):  # what cannot be read here is known by its name
                yield value, f"{digest_path(Path(path))}{rest}"
