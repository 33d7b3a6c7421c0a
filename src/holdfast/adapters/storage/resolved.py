"""The job as it runs: every key said, so that the same file gives the same run again."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.local.file_patterns import entries_in
from holdfast.adapters.local.task_folders import is_task_folder
from holdfast.adapters.storage.run_folder import write_redacted
from holdfast.adapters.yaml.render import render_lines
from holdfast.core.errors import LedgerError
from holdfast.core.evaluation import is_task_path
from holdfast.core.job_file.job import Evaluation, Job
from holdfast.core.run.event import Event, training_events
from holdfast.core.run.training_event import TrainingStarted

RESOLVED_JOB_FILE: Final = "job.resolved.yaml"

HEAD: Final = """\
# The job as it ran: what its file said, what overrode that, and every default of a job file.
# Arguments that `train`, `peft` and `quantization` leave out have the defaults of the libraries.
# `holdfast run` takes this file like any other, from any folder.
"""


def resolved_yaml(job: Job) -> str:
    """Return a job file that leaves nothing to defaults; the same job gives the same text.

    >>> job = Job(method="sft", model="tiny", dataset="rows.jsonl", seed=7)
    >>> print(resolved_yaml(job).partition("model:")[0])
    # The job as it ran: what its file said, what overrode that, and every default of a job file.
    # Arguments that `train`, `peft` and `quantization` leave out have the defaults of the libraries.
    # `holdfast run` takes this file like any other, from any folder.
    name: null
    method: sft
    <BLANKLINE>
    """
    seed = job.seed if job.dataset.seed is None else job.dataset.seed
    data = job.dataset.model_copy(update={"seed": seed})
    values = job.model_copy(update={"dataset": data}).model_dump(by_alias=True) | {"method": job.method.value}
    return HEAD + "".join(f"{line}\n" for line in render_lines(values))


def with_absolute_paths(job: Job, job_path: str) -> Job:
    """Return a job whose files are found from any folder.

    Args:
        job: The job, whose paths lead to its files from here, or from the folder of its file.
        job_path: The job's file.
    """
    here, anywhere = PathResolver((Path(),)), PathResolver((Path(job_path).parent, Path()))
    model = {"path": here.path(job.model.path), "chat_template": anywhere.optional_path(job.model.chat_template)}
    mix = [each.model_copy(update={"path": here.path(each.path)}) for each in job.dataset.mix]
    dataset = {"path": here.path(job.dataset.path), "mix": mix, "map": anywhere.function(job.dataset.map)}
    changed = {
        "model": job.model.model_copy(update=model),
        "dataset": job.dataset.model_copy(update=dataset),
        "rewards": [*map(anywhere.function, job.rewards)],
        "samples": job.samples.model_copy(update={"metric": [*map(anywhere.function, job.samples.metric)]}),
        "evaluate": [*map(anywhere.evaluation, job.evaluate)],
        "train": {key: anywhere.setting(value) for key, value in job.train.items()},
    }
    return job.model_copy(update=changed)


@dataclass(frozen=True, slots=True)
class PathResolver:
    """Makes the paths of a job absolute. A name that leads to nothing in the folders stays as it is."""

    folders: Sequence[Path]

    def path(self, name: str) -> str:
        """Return the absolute path of a file, a folder, or a pattern of files."""
        for folder in self.folders:
            if entries_in(folder, name):
                return str((folder / name).absolute())
        return name

    def optional_path(self, name: str | None) -> str | None:
        """Return the absolute path of a file that need not be named."""
        return self.path(name) if name else name

    def function(self, name: str | None) -> str | None:
        """Return the name of a function with the absolute path of its file: `rewards.py:score`."""
        file, colon, rest = (name or "").partition(".py:")
        return f"{self.path(f'{file}.py')}:{rest}" if colon else name

    def setting(self, value: object) -> object:
        """Return the value of a training argument; a text with a suffix may be a path."""
        return self.path(value) if isinstance(value, str) and Path(value).suffix else value

    def task(self, name: str) -> str:
        """Return the name of a benchmark, or the absolute path of a folder or a file that defines it."""
        is_path = is_task_path(name) or any(is_task_folder(folder / name) for folder in self.folders)
        return self.path(name) if name and is_path else name

    def evaluation(self, each: Evaluation) -> Evaluation:
        """Return an evaluation with absolute paths."""
        changed = {
            "metric": [*map(self.function, each.metric)],
            "rewards": [*map(self.function, each.rewards)],
            "dataset": [*map(self.optional_path, each.dataset)],
            "task": [*map(self.task, each.task)],
            "not_worse_than": self.optional_path(each.not_worse_than),
        }
        return each.model_copy(update=changed)


def with_versions(text: str, versions: Mapping[str, str]) -> str:
    r"""Return a resolved job file that tells the versions it ran with, in comments, so that it stays a job file.

    Args:
        text: The file, with versions or without.
        versions: Releases by package.

    >>> print(with_versions("# the head\nmethod: sft\n", {"trl": "1.16.0"}))
    # The job as it ran: what its file said, what overrode that, and every default of a job file.
    # Arguments that `train`, `peft` and `quantization` leave out have the defaults of the libraries.
    # `holdfast run` takes this file like any other, from any folder.
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
    path = folder / RESOLVED_JOB_FILE
    begun = [*training_events(events, TrainingStarted)]
    if begun and path.is_file():
        with suppress(OSError, LedgerError):  # a full disk is reported by what cannot do without it
            write_redacted(path, with_versions(read_foreign_text(path), begun[-1].versions))
