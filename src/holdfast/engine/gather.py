"""Gathering the facts that rules ask for, each at most once, from the doors that know them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from holdfast.core.errors import SourceError
from holdfast.core.facts import Dataset, Machine, Model
from holdfast.core.job import Job
from holdfast.engine.check import Missing
from holdfast.ports import Datasets, Machines, Models


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The doors behind which facts are found."""

    datasets: Datasets
    machines: Machines
    models: Models


def gather(names: Iterable[str], job: Job, sources: Sources) -> dict[str, object | Missing]:
    """Return each named fact, or why there is none.

    Raises:
        AttributeError: A rule names a fact that nobody can find.
    """
    facts = Facts(job, sources)
    return {name: _fetched(facts, name) for name in names}


def process_count(machine: Machine, job: Job) -> int:
    """Return how many training processes the job starts on this machine: as many as it says, else one a GPU.

    >>> process_count(Machine(cpus=2), Job(method="sft", model="m", dataset="d"))
    1
    """
    asked = job.where.processes
    return max(1, len(machine.gpus)) if asked == "auto" else asked


class Facts:
    """The facts, by the names that rules give their parameters. Each property is one fact."""

    def __init__(self, job: Job, sources: Sources) -> None:
        self._job, self._sources = job, sources

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


def _fetched(facts: Facts, name: str) -> object | Missing:
    try:
        fact: object = getattr(facts, name)
    except SourceError as error:
        return Missing(error.what)
    return fact
