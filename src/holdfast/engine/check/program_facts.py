"""The facts about a program itself: the versions that it gets, what launches it, the data that it trains on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from holdfast.catalog.api import Api
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import MissingFactError
from holdfast.core.check.reference import Reference
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.errors import SourceError
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.text.numbers import is_count
from holdfast.core.text.places import Place
from holdfast.engine.check.hub_facts import HubFacts, ReferenceResolver, usable_dataset
from holdfast.engine.resolve import Resolution
from holdfast.engine.script.training_data import (
    MAP,
    ROWS,
    SPLIT_BY_NAME,
    DataFlow,
    after,
    mapped_rows,
    trace,
    trainer_given,
    written_rows,
)

TRAIN_DATA, EVAL_DATA = "train_dataset", "eval_dataset"
OF_DATA = ("dataset", "columns", "column_types")
"""Facts about the data that a trainer is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionContext:
    """What a program is checked against.

    Attributes:
        resolution: The versions of the libraries that it will get, or may get.
        declared: What says so.
        assumed: The versions of the libraries that it uses and nothing pins: the newest that fit.
        unknown: Why the version of another library that it uses is not known.
        outside: Where what it names is looked for; None if it is not looked for.
    """

    resolution: Resolution
    declared: ProjectRequirements
    assumed: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    outside: ReferenceResolver | None = None

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions that the program is checked for first."""
        return {**self.resolution.newest, **self.assumed}

    @property
    def firm(self) -> bool:
        """Whether anything says which versions there will be."""
        return self.declared.kind != "nothing" and not self.declared.unsure

    @property
    def because(self) -> str:
        """Where the versions come from, for people."""
        guess = f"{self.declared.unsure or 'nothing declares them'}: the newest"
        origin = f"by {self.declared.origin}" if self.firm else guess
        guessed = f"; nothing pins {' or '.join(self.assumed)}: the newest" if self.firm and self.assumed else ""
        return f"{origin}{guessed}; catalog of {self.resolution.date}"


@lru_cache(maxsize=256)
def _api(versions: tuple[tuple[str, str], ...]) -> Api:
    return Api(dict(versions))


def api_at(versions: Mapping[str, str]) -> Api:
    """Return the API of the libraries at some versions; scripts with the same versions share one."""
    return _api(tuple(versions.items()))


class ProgramFacts(HubFacts):
    """What is known beside a program itself, by the names that rules give their parameters."""

    def __init__(self, context: VersionContext, document: Document) -> None:
        super().__init__(document, context.outside)
        self._version_context = context

    @property
    def api(self) -> Api:
        """What the libraries take at the versions that the program is checked for first."""
        return api_at(self._version_context.versions)

    @property
    def resolution(self) -> Resolution:
        """Which versions the program gets."""
        return self._version_context.resolution

    @property
    def declared(self) -> ProjectRequirements:
        """What it or its project declares."""
        return self._version_context.declared

    @property
    def absent_files(self) -> Mapping[str, Place]:
        """The files of settings that are not there, of those that the command names by which it is started, with their places."""
        listed = self._document.get("launch.absent", ())
        return {name: self._document.place(f"launch.absent.{index}") for index, name in enumerate(listed)}

    @property
    def accelerate_file(self) -> Mapping[str, object] | None:
        """The settings of the file that accelerate is given; None if it is given none, or that cannot be read."""
        settings = self._document.get("launch.accelerate", None)
        return settings if isinstance(settings, Mapping) else None

    @property
    def script_arguments(self) -> Sequence[str | Unknown] | None:
        """The words that the script is started with; None if any may be given."""
        words: Sequence[str | Unknown] | None = self._document.get("launch.arguments", None)
        return words

    def has(self, name: str) -> bool:
        """True if the program names what a fact is about: data that it hands its trainer counts, wherever that is from."""
        return super().has(name) or (name in OF_DATA and self._outside is not None and self._is_given(TRAIN_DATA))

    @cached_property
    def dataset(self) -> Dataset:
        """What is known of the data that its trainer is given: its columns as they are then."""
        if not self._is_given(TRAIN_DATA):
            return super().dataset
        found = self._flowing(TRAIN_DATA)
        try:
            evaluated = self._flowing(EVAL_DATA).columns if self._is_given(EVAL_DATA) else None
        except SourceError:  # its columns are not known, and those of the other are
            evaluated = None
        return replace(found, eval_columns=evaluated)

    def _is_given(self, argument: str) -> bool:
        return trainer_given(self._document, argument) is not None

    def _flowing(self, argument: str) -> Dataset:
        """Return the known facts about the data that the trainer gets as an argument."""
        flow = trace(self._document, argument)
        if flow.source.name == MAP:
            return after(mapped_rows(flow.source), flow.steps)
        return after(written_rows(flow.source) if flow.source.path in ROWS else self._loaded(flow), flow.steps)

    def _loaded(self, flow: DataFlow) -> Dataset:
        """Return the known facts about data as it is loaded."""
        reference = self._reference_of(flow.source)
        if bool(flow.split) == bool(reference.split) and flow.source.path in SPLIT_BY_NAME:
            raise SourceError("it is not one split of what is loaded", where=reference.key, fix="name one split")
        found = self._find_dataset(replace(reference, split=flow.split or reference.split))
        if found.problem:
            raise SourceError("the data cannot be read", where=reference.key, fix="see what is found of its files")
        return usable_dataset(found, evaluated=False)

    def _reference_of(self, source: Call) -> Reference:
        """Return the data that a call loads."""
        under = f"{source.key}."
        reference = next((each for each in self._all_of("dataset") if each.key.startswith(under)), None)
        if reference is None or reference.hidden:
            because = reference.hidden if reference else "the source of the training data is not known"
            raise SourceError(because, where=source.key, fix="nothing to do")
        return reference

    @property
    def processes(self) -> int:
        """Training processes on all machines together, as far as what launches it says."""
        return count_processes(self._document)


def count_processes(document: Document) -> int:
    """Return the number of processes that a program's launchers start on all machines together.

    A training on the processor is a single process, unless a launcher says otherwise.

    Raises:
        SourceError: They do not say.
    """
    world, here, nodes = (document.get(f"where.{key}") for key in ("world_size", "processes", "nodes"))
    if not is_launched(document) and trains_on_cpu(document):
        return 1
    count = world if world is not ABSENT else _times(here, 1 if nodes is ABSENT else nodes)
    if not is_count(count):
        raise SourceError("nothing says how many processes it will run in", where=document.path, fix="name a launcher")
    return count


def is_launched(document: Document) -> bool:
    """True if a launcher starts a program, and may start several processes of it."""
    return any(document.get(key) is not ABSENT for key in ("where.world_size", "where.processes"))


def trains_on_cpu(document: Document) -> bool:
    """True if a program is seen to train on the processor: without a launcher, that is one process."""
    try:
        return document.get("train.use_cpu", None) is True
    except MissingFactError:
        return False


def _times(here: object, nodes: object) -> int | None:
    return here * nodes if is_count(here) and is_count(nodes) else None
