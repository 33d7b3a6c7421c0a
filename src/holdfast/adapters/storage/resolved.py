"""The job as it runs: every key said, so that the same file gives the same run again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import dropwhile
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.storage.run_folder import write_redacted
from holdfast.adapters.yaml.render import render_lines
from holdfast.core.errors import LedgerError
from holdfast.core.event import Event, Reported
from holdfast.core.job import Job

FILE: Final = "job.resolved.yaml"

HEAD: Final = """\
# The job as it ran: what its file said, what overrode that, and every default.
# `holdfast run` takes this file like any other.
"""


def resolved_yaml(job: Job) -> str:
    """Return a job file that leaves nothing to defaults; the same job gives the same text.

    >>> job = Job(method="sft", model="tiny", dataset="rows.jsonl", seed=7)
    >>> print(resolved_yaml(job).partition("model:")[0])
    # The job as it ran: what its file said, what overrode that, and every default.
    # `holdfast run` takes this file like any other.
    name: null
    method: sft
    <BLANKLINE>
    """
    seed = job.seed if job.dataset.seed is None else job.dataset.seed
    data = job.dataset.model_copy(update={"seed": seed})
    said = job.model_copy(update={"dataset": data}).model_dump(by_alias=True) | {"method": job.method.value}
    return HEAD + "".join(f"{line}\n" for line in render_lines(said))


def with_versions(text: str, versions: Mapping[str, str]) -> str:
    r"""Return a resolved job file that tells the versions it ran with, in comments, so that it stays a job file.

    Args:
        text: The file, with versions or without.
        versions: Releases by package.

    >>> print(with_versions("# the head\nmethod: sft\n", {"trl": "1.16.0"}))
    # The job as it ran: what its file said, what overrode that, and every default.
    # `holdfast run` takes this file like any other.
    # versions:
    #   trl: 1.16.0
    method: sft
    <BLANKLINE>
    """
    notes = "".join(f"# {line}\n" for line in render_lines({"versions": dict(versions)}))
    keys = dropwhile(lambda line: line.startswith("#"), text.splitlines(keepends=True))
    return HEAD + notes + "".join(keys)


def note_versions(folder: Path, events: Sequence[Event]) -> None:
    """Tell the versions of an attempt that has begun to train in the run's resolved job file, if the run has one."""
    path = folder / FILE
    begun = [each.said for each in events if isinstance(each, Reported) and each.said.get("event") == "start"]
    if begun and path.is_file():
        with suppress(OSError, LedgerError):  # a full disk is told by what cannot do without it
            write_redacted(path, with_versions(read_foreign_text(path), begun[-1].get("versions", {})))
