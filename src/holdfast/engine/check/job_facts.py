"""What is known of the world outside a job, by the names that rules give their parameters."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain
from typing import TYPE_CHECKING

from holdfast.catalog.api import Api, made
from holdfast.catalog.builtin import BUILTIN
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.catalog.data.mixing import most_rows
from holdfast.catalog.hub.flavors import load_flavors, table_prices
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.core.check.facts import Dataset, Machine, ModelFacts, NamedFile
from holdfast.core.check.finding import MissingFactError
from holdfast.core.check.reference import Reference, ReferenceRole
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.evaluation import is_task_path
from holdfast.core.job.document import Document, Set
from holdfast.core.job_file.data import Data, MixedData
from holdfast.core.job_file.job import Job
from holdfast.core.plan.estimate import JobEstimate
from holdfast.core.plan.hardware import Hardware, PriceList
from holdfast.core.rehearse.rehearsed_training import RehearsedTraining
from holdfast.core.rows.row_lengths import RowLengths
from holdfast.core.rows.scan import Scan
from holdfast.core.run.backends import BACKEND_KEY, LOCAL, capabilities_of
from holdfast.core.text.places import Place
from holdfast.engine.check.hub_facts import HubFacts, ReferenceResolver, usable_dataset, usable_model
from holdfast.engine.resolve import Resolution
from holdfast.engine.script.named_files import describe_file, named_files
from holdfast.ports import Datasets, Machines, Models

if TYPE_CHECKING:  # of a table of models, which few jobs need
    from holdfast.engine.plan.processors import ProcessorPlan
    from holdfast.engine.plan.question import PlanQuestion


@contextmanager
def _missing_as_source() -> Iterator[None]:
    """Raise what a plan lacks as a fact that is not known."""
    try:
        yield
    except MissingFactError as error:
        fix = "`holdfast plan` says what it needs to know"
        raise SourceError(f"{error.name}: {error.because}", where=error.name, fix=fix) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSources:
    """The adapters that find facts.

    Attributes:
        datasets: Where the training data is looked for.
        machines: What knows the machine.
        models: Where the base model is looked for.
        outside: Where else things are looked up; without it, the job counts as one that names nothing there.
        read_rows: Reads the training data's rows; None if they are not at hand.
        backends: Names of the backends that a job can run on.
        row_lengths: Measures the rows of the training data; None if that would take too long.
        read_file: Reads a file that the job names; raises UsageError where it is not there.
        rehearsed: Finds its training as a rehearsal saw it; None if that is not looked for.
        own_hardware: Finds the machines of the user's own price file; raises SourceError where it cannot be read.
    """

    datasets: Datasets
    machines: Machines
    models: Models
    outside: ReferenceResolver | None = None
    read_rows: Callable[[], Scan] | None = None
    backends: frozenset[str] = frozenset({LOCAL.name})
    row_lengths: Callable[[], RowLengths] | None = None
    read_file: Callable[[str], str] | None = None
    rehearsed: Callable[[], RehearsedTraining | None] | None = None
    own_hardware: Callable[[], tuple[Hardware, ...]] = tuple


def process_count(machine: Machine, job: Job) -> int:
    """Return the number of training processes of the job on one machine: the number it states, else one per GPU.

    The GPUs are those of the flavor, where the backend has flavors; otherwise those of this machine.

    >>> process_count(Machine(cpus=2), Job(method="sft", model="m", dataset="d"))
    1
    """
    processes = job.where.processes
    if processes != "auto":
        return processes
    flavor = load_flavors().get(job.where.hardware or "") if capabilities_of(job.where.backend).has_flavors else None
    return max(1, len(flavor.gpus if flavor else machine.gpus))


class JobFacts(HubFacts):
    """The facts of a job file, by the names that rules give their parameters. Each property is one fact."""

    def __init__(self, job: Job, sources: FactSources, document: Document) -> None:
        super().__init__(document, sources.outside)
        self._job, self._sources = job, sources

    @property
    def api(self) -> Api:
        """What the libraries take at the versions that a job file gets."""
        return stack_api()

    @property
    def resolution(self) -> Resolution:
        """The versions that a job file gets."""
        return Resolution(newest=stack_api().versions, date=made())

    @property
    def backends(self) -> frozenset[str]:
        """Names of the backends that a job can run on."""
        return self._sources.backends

    @property
    def files(self) -> Mapping[str, NamedFile]:
        """The files that the job names for its functions and its chat template, by the names that it gives them."""
        return {name: self._file(name) for name in named_files(self._job)}

    @property
    def absent_data(self) -> Mapping[str, str]:
        """The files to evaluate on, and those of benchmark tasks, that are not there, by the names that the job gives them, each with the nearest name."""
        absent = [name for name in self._evaluated_files() if not self._places.here.holds(name)]
        for name in absent:
            self._require_decided(Reference(role="dataset", name=name, key="evaluate", local=True), "evaluate")
        return {name: self._places.here.nearest(name) for name in absent}

    def _evaluated_files(self) -> Iterator[str]:
        """Yield the files that the job names to evaluate on, and then those of benchmark tasks."""
        for name in chain.from_iterable(each.dataset for each in self._job.evaluate):
            if not name.startswith(BUILTIN) and not may_be_repository(name):
                yield name
        yield from filter(is_task_path, chain.from_iterable(each.task for each in self._job.evaluate))

    def _file(self, name: str) -> NamedFile:
        if self._sources.read_file is None:
            raise SourceError("it was not looked for", where=name, fix="check the job file")
        try:
            return describe_file(name, self._sources.read_file(name))
        except UsageError as error:
            return NamedFile(problem=f"{error.what}; {error.fix}")

    @cached_property
    def machine(self) -> Machine:
        """The machine that the job will run on."""
        backend = capabilities_of(self._job.where.backend)
        if not backend.is_here:
            raise SourceError(f"the job runs on {backend.name}, not here", where=BACKEND_KEY, fix="check it there")
        return self._here

    @cached_property
    def processes(self) -> int:
        """Training processes on all machines together: the world size."""
        processes = self._job.where.processes
        here = process_count(self.machine, self._job) if processes == "auto" else processes
        return here * self._job.where.nodes

    @property
    def hub_token(self) -> bool:
        """Whether a Hub token is at hand where holdfast runs."""
        return self._here.hub_token

    @property
    def variables(self) -> frozenset[str]:
        """Names of the environment variables that are set where holdfast runs."""
        return self._here.variables

    def has(self, name: str) -> bool:
        """True if the job names what a fact is about: each has data and a model."""
        return name != "account" or super().has(name)

    @cached_property
    def dataset(self) -> Dataset:
        """What is known of the training data."""
        self._require_visible("dataset")
        data = self._job.dataset
        first = self._find_data("dataset", data)
        return (
            _mixture_facts(data, first, lambda at, each: self._find_data(f"dataset.mix.{at}", each))
            if data.mix
            else first
        )

    def _find_data(self, key: str, data: Data) -> Dataset:
        reference = self._named(key)
        if reference is None or self._places.here.holds(reference.name):
            return self._sources.datasets.fetch(data, self._job.method)
        return usable_dataset(self._places.hub.dataset(reference), evaluated=data.eval_split is not None)

    @cached_property
    def model(self) -> ModelFacts:
        """What is known of the base model."""
        self._require_visible("model")
        reference = self._named("model")
        if reference is None or self._places.here.holds(reference.name):
            return self._sources.models.fetch(self._job.model)
        return usable_model(self._places.hub.model(reference))

    @cached_property
    def scan(self) -> Scan:
        """What reading the rows of the training data showed."""
        if self._sources.read_rows is None:
            raise SourceError("its rows are not at hand", where="dataset", fix="`holdfast inspect` reads them")
        return self._sources.read_rows()

    @cached_property
    def estimate(self) -> JobEstimate | None:
        """What it needs on the GPUs that it names; None if it names none.

        Raises:
            SourceError: Something that this depends on is not known.
        """
        from holdfast.engine.plan import asking, hardware, planning  # of a table of models, which few jobs need

        backend, own = self._job.where.backend, cache(self._sources.own_hardware)
        if not asking.names_gpus(self._backed, self._here, own):
            return None
        is_priced = capabilities_of(backend).has_flavors
        prices = hardware.prices_of(self._places.hub.job_prices) if is_priced else table_prices()
        with _missing_as_source():
            question = self._question(replace(prices, own=own()))
            return asking.estimate_of(planning.plan_job(question), question.model)

    def plan_here(self) -> "ProcessorPlan":
        """Return the plan of the job on the processors of this machine.

        Raises:
            SourceError: Something that this depends on is not known.
        """
        from holdfast.engine.plan import processors  # of a table of models, which few jobs need

        with _missing_as_source():
            return processors.plan_here(self._question(table_prices()))

    @property
    def _backed(self) -> Document:
        """The job, with the backend that it runs on if it does not say so."""
        if self._document.get(BACKEND_KEY, None) is not None:
            return self._document
        return self._document.with_values([Set(BACKEND_KEY, self._job.where.backend)], Place(self._document.path))

    def _question(self, prices: PriceList) -> "PlanQuestion":
        """Return the question of the job's plan.

        Raises:
            MissingFactError: Something that memory depends on is not known.
        """
        from holdfast.engine.plan import asking  # of a table of models, which few jobs need

        return asking.ask_plan(
            self._backed,
            self.api,
            self._here,
            prices=prices,
            model=lambda: self.model,
            dataset=lambda: self.dataset,
            lengths=self._sources.row_lengths,
            rehearsed=self._sources.rehearsed() if self._sources.rehearsed else None,
        )

    def _only(self, role: ReferenceRole) -> Reference:
        """Return the job's data or its model; a path is looked for here alone, for no repository is called so."""
        name = self._job.model.path if role == "model" else self._job.dataset.path
        return self._named(role) or Reference(role=role, name=name, key=role, local=True)

    def _named(self, key: str) -> Reference | None:
        """Return the reference under a job key, where that may be on the Hub."""
        return next((each for each in self.references if each.key in (key, f"{key}.path")), None)

    def _require_visible(self, role: ReferenceRole) -> None:
        """Check that data or a model that is not here cannot be where the job is started.

        Raises:
            SourceError: It is not known whether it is there.
        """
        reference = self._only(role)
        if self._outside and not may_be_repository(reference.name):
            self._require_decided(reference, role)

    def _require_decided(self, reference: Reference, where: str) -> None:
        if because := self._places.here.elsewhere(reference):
            raise SourceError(because, where=where, fix="check the job file from the folder that it is started in")

    @cached_property
    def _here(self) -> Machine:
        return self._sources.machines.fetch()


def _mixture_facts(data: Data, first: Dataset, find: Callable[[int, Data], Dataset]) -> Dataset:
    """Return the facts about the rows of a mixture.

    Args:
        data: The mixture.
        first: What is known of its first dataset.
        find: Returns what is known of another one, given its position in `mix`; raises SourceError if nothing is.
    """
    parts = (first, *_others(data, find))
    counts = [part.rows if part else None for part in parts]
    known = [count for count in counts if count is not None]
    weights = [data.weight or 1.0, *(each.weight for each in data.mix)]
    whole = most_rows(known, weights) if len(known) == len(counts) else None
    return replace(first, rows=whole, parts=parts)


def _others(data: Data, find: Callable[[int, Data], Dataset]) -> Iterator[Dataset | None]:
    for at, each in enumerate(data.mix):
        try:
            yield find(at, _alone(each))
        except SourceError:
            yield None


def _alone(each: MixedData) -> Data:
    return Data(path=each.path, config=each.config, split=each.split)
