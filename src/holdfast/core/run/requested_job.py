"""The job that a run was requested for, as lists of runs, reports and advice name it."""

import msgspec

from holdfast.core.job.scenario import ScenarioChoices


class RequestedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The request that a run was started with.

    Attributes:
        job: The job's name.
        target: The job file or script.
        backend: The backend to run on.
        method: The job's method; absent, like the fields below, for a script.
        model: The job's model.
        dataset: The job's dataset.
        pushed: The repository that the job pushes to.
        scenario: What the scenario of the job changed in it; absent if it names none.
    """

    job: str = ""
    target: str = ""
    backend: str = ""
    method: str | None = None
    model: str | None = None
    dataset: str | None = None
    pushed: str | None = None
    scenario: ScenarioChoices | None = None


class RequestedJob(RequestedRun, frozen=True, kw_only=True, omit_defaults=True):
    """The request as the journal holds it: also what is needed to start the job again.

    Attributes:
        sets: Overrides of the job's keys, as `KEY=VALUE`.
        arguments: The script's own arguments.
        runs: The runs folder, if commands have to name it.
        study: The study that the run is a trial of; empty if it is none.
        trial: The hash of the trial's content; empty if it is none.
    """

    sets: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    runs: str | None = None
    study: str = ""
    trial: str = ""
