"""What is known of the world outside a job, by the names that rules give their parameters."""

from dataclasses import dataclass
from functools import cached_property

from holdfast.catalog.api import Api, made
from holdfast.catalog.train_arguments import stack_api
from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset, Machine, Model
from holdfast.core.job import Job
from holdfast.engine.resolve import Resolution
from holdfast.ports import Datasets, Machines, Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The doors behind which facts are found."""

    datasets: Datasets
    machines: Machines
    models: Models


def process_count(machine: Machine, job: Job) -> int:
    """Return how many training processes the job starts on this machine: as many as it says, else one a GPU.

    >>> process_count(Machine(cpus=2), Job(method="sft", model="m", dataset="d"))
    1
    """
    asked = job.where.processes
    return max(1, len(machine.gpus)) if asked == "auto" else asked


class JobFacts:
    """The facts of a job file, by the names that rules give their parameters. Each property is one fact."""

    def __init__(self, job: Job, sources: Sources) -> None:
        self._job, self._sources = job, sources

    @property
    def api(self) -> Api:
        """What the libraries take at the versions that a job file gets."""
        return stack_api()

    @property
    def resolution(self) -> Resolution:
        """The versions that a job file gets."""
        return Resolution(newest=stack_api().versions, date=made())

    @cached_property
    def machine(self) -> Machine:
        """The machine that the job will run on."""
        backend = self._job.where.backend
        if backend != "local":
            raise SourceError(f"the job runs on {backend}, not here", where="where.backend", fix="check it there")
        return self._here

    @cached_property
    def processes(self) -> int:
        """Training processes on all machines together: the world size."""
        asked = self._job.where.processes
        here = process_count(self.machine, self._job) if asked == "auto" else asked
        return here * self._job.where.nodes

    @property
    def hub_token(self) -> bool:
        """Whether a Hub token is at hand where holdfast runs."""
        return self._here.hub_token

    @property
    def variables(self) -> frozenset[str]:
        """Names of the environment variables that are set where holdfast runs."""
        return self._here.variables

    @cached_property
    def dataset(self) -> Dataset:
        """What is known of the training data."""
        return self._sources.datasets.fetch(self._job.dataset, self._job.method)

    @cached_property
    def model(self) -> Model:
        """What is known of the base model."""
        return self._sources.models.fetch(self._job.model)

    @cached_property
    def _here(self) -> Machine:
        return self._sources.machines.fetch()
