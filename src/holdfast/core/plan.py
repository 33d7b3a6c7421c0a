"""The plan: a job resolved down to what one attempt needs to start anywhere."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from holdfast.core.backends import DEFAULT_BACKEND


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What `holdfast run` was asked, so that a run that was killed before it had a plan goes on from there.

    Attributes:
        target: The job file or script, absolute.
        cwd: The folder it was asked in, absolute.
        sets: Overrides of the job's keys, as `KEY=VALUE`.
        arguments: Words of the script's own command line.
        despite: Codes of the findings to go on in spite of.
        offline: Whether the Hub is left alone when the job is checked and rehearsed.
        rehearse: Whether it is rehearsed first.
    """

    target: str
    cwd: str
    sets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    despite: tuple[str, ...] = ()
    offline: bool = False
    rehearse: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every attempt of a run starts from.

    Attributes:
        name: The job's name.
        script: Source of the training script, rendered from a job file or the user's own; references stand for its secrets.
        script_name: The name its tracebacks show.
        cwd: Folder the script runs in, absolute: relative paths of the job mean this one.
        backend: The place it runs.
        arguments: Words of the script's own command line.
        processes: Processes a machine; above 1 the attempt starts itself under torchrun.
        variables: Environment variables of the training process; never a secret's value.
        secrets: Names of the variables whose values come from where holdfast runs, or from the job's own file.
        timeout_s: Seconds the run may take, or None.
        options: The backend's own options.
    """

    name: str
    script: str
    script_name: str
    cwd: str
    backend: str = DEFAULT_BACKEND.name
    arguments: tuple[str, ...] = ()
    processes: int = 1
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: tuple[str, ...] = ()
    timeout_s: float | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    def as_json(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Plan":
        """Make a plan again from what `as_json` gave."""
        return cls(**{**fields, "arguments": tuple(fields["arguments"]), "secrets": tuple(fields["secrets"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The nth try of a run, ready for a backend.

    Attributes:
        run: Name of the run.
        number: Counts from 1.
        folder: The attempt's own folder, absolute; its `attempt.py` is there.
        plan: What to start.
        resume_from: Checkpoint folder to continue from, or None to start anew.
        passed_over: Newer checkpoints that cannot be continued from, each with what is wrong.
    """

    run: str
    number: int
    folder: str
    plan: Plan
    resume_from: str | None = None
    passed_over: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The key under which a backend starts the attempt at most once."""
        return f"{self.run}/{self.number}"
