"""The job of an attempt as remedies left it, as a file."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage.resolved import RESOLVED_JOB_FILE, resolved_yaml
from holdfast.adapters.storage.run_folder import write_redacted
from holdfast.core.errors import LedgerError
from holdfast.core.job import parse_job
from holdfast.core.remedy import AppliedRemedy
from holdfast.engine.recover.replanning import with_changes


def write_remedied_job(run: Path, attempt: Path, remedies: Sequence[AppliedRemedy]) -> None:
    """Write `job.yaml` into an attempt's folder where remedies changed the job; `holdfast run` takes it like any other."""
    changes = [change for remedy in remedies for change in remedy.changes]
    if not changes:
        return
    with suppress(OSError, LedgerError, ExceptionGroup):  # the attempt does not read it
        job = parse_job(JobFileReader().read(read_foreign_text(run / RESOLVED_JOB_FILE), RESOLVED_JOB_FILE))
        write_redacted(attempt / "job.yaml", resolved_yaml(with_changes(job, changes)))
