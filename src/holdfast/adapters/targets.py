"""What a user names on the command line: a job file, a script, or a script on standard input."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from holdfast.adapters.overrides import apply_overrides, environment_edits, parse_set
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.document import Document
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job import Job, parse_job


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What was named, read.

    Attributes:
        document: What it says, with overrides in it.
        job: The job, of a job file; None of a script.
    """

    document: Document
    job: Job | None


def read_target(path: str, sets: Iterable[str] = ()) -> Target:
    """Read a job file with its overrides, or a script.

    Raises:
        UsageError: There is no such file, or it is neither.
        ExceptionGroup: Of a JobError for every problem of a job file.
    """
    text = read_text(path)
    if path == "-" or path.endswith(".py"):
        return Target(document=Document(path=path, kind="script", text=text, values={}), job=None)
    overrides = (*environment_edits(os.environ), *map(parse_set, sets))
    document = apply_overrides(JobFileReader().read(text, path), overrides)
    return Target(document=document, job=parse_job(document))


def read_text(path: str) -> str:
    """Return a file's text, or standard input's for `-`.

    Raises:
        UsageError: It cannot be read.
    """
    fix = "name a job file (.yaml) or a script (.py)"
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_bytes().decode()
    except FileNotFoundError:
        raise UsageError(f"no such file: {path}", where=str(Path.cwd()), fix=fix) from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text: {error.reason}", where=path, fix=fix) from error
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", where=path, fix=fix) from error


def read_referred(names: Iterable[str], job_path: str) -> dict[str, str]:
    """Return the text of each Python file that a job names, found from here or from the job file's folder.

    Raises:
        SourceError: One is not there.
    """
    return {name: _read_referred(name, Path(job_path).parent) for name in names}


def _read_referred(name: str, beside: Path) -> str:
    for path in (Path(name), beside / name):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise SourceError(f"no such file: {name}", where=str(Path.cwd()), fix="correct the name, or write the file")
