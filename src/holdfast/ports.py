"""Protocols of the adapters: what the engine may need from outside."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from holdfast.core.backends import BackendCapabilities
from holdfast.core.checkpoint import CheckpointIntegrity, any_step
from holdfast.core.columns import Type
from holdfast.core.event import Event, Liveness, Reported, ReportsLost
from holdfast.core.facts import Dataset, Machine, ModelFacts, Positions
from holdfast.core.hardware import PriceList
from holdfast.core.hub import Account, Link, PushTarget, Repo, RepoTree
from holdfast.core.methods import Method
from holdfast.core.plan import Attempt
from holdfast.core.reference import Reference
from holdfast.core.run_state import AttemptState
from holdfast.core.scan import UnreadablePart

if TYPE_CHECKING:  # for the types alone: pydantic takes longer to import than a script to check
    from holdfast.core.job import Model as BaseModel
    from holdfast.core.job_data import Data


@dataclass(frozen=True, slots=True, kw_only=True)
class PollResult:
    """The result of polling an attempt once.

    Attributes:
        answer: Alive, ended or unknown.
        exit_code: The exit code of an ended attempt; negative for a signal, None if it is unknown.
        because: Why the answer is unknown, or why the attempt could not start.
        phase: What the backend does with a living attempt, in words: `queued for hardware`; empty if it runs.
        waiting: Whether the attempt has not started yet, so that its timeout does not count.
        ended_s: Unix time at which an ended attempt gave its last sign of life; None if the backend does not know it.
    """

    answer: Liveness
    exit_code: int | None = None
    because: str = ""
    phase: str = ""
    waiting: bool = False
    ended_s: float | None = None


@dataclass(frozen=True, slots=True)
class LogPart:
    """Part of an attempt's log: both streams together, in bytes.

    Attributes:
        offset: Where the part begins in the whole log.
        data: Its bytes. Some may be missing or damaged: connections break, and services lose lines.
    """

    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a run on another machine.

    Attributes:
        size: Its bytes.
        version: Another text once the file was written again: an etag, a digest, the time of the change.
    """

    size: int
    version: str


class Retrieval(Protocol):
    """Brings what an attempt wrote to this machine. Every method raises UnreachableError if the backend cannot be reached."""

    def read_log(self, attempt_id: str, offset: int) -> LogPart:
        """Return a part of the log that begins at `offset` or before it. It may end before the log does; an empty one does not mean that the log has ended.

        Raises:
            LogGoneError: The service says that it does not have the log any more.
        """
        ...

    def list_files(self, attempt_id: str) -> Mapping[str, RemoteFile]:
        """Return each file in the folder of the attempt's run there, by its path in that folder."""
        ...

    def fetch_file(self, attempt_id: str, path: str, to: str) -> None:
        """Copy one of these files to a path on this machine, where it appears whole or not at all."""
        ...


class Backend(Protocol):
    """A place that runs attempts.

    Each method may be called again, by another process too: what was done is not done twice. A method that does something
    raises UnreachableError if it is not known whether that was done.
    """

    capabilities: BackendCapabilities
    """What it can do, and its name in job files."""

    @property
    def retrieval(self) -> Retrieval | None:
        """What brings logs, events and files here. None if the run's folder is shared: then the attempt writes them there."""
        ...

    def submit(self, attempt: Attempt) -> str:
        """Start the attempt and return the backend's id of it; if one with the same `attempt.id` was started, start nothing.

        Raises:
            BackendError: The backend refuses it.
            UnreachableError: It may have been started.
        """
        ...

    def poll(self, attempt_id: str) -> PollResult:
        """Return the state of the attempt. Never raises: whatever is not known is *unknown*."""
        ...

    def stop(self, attempt_id: str) -> None:
        """Ask the attempt to save and end (SIGTERM). Does nothing if it has ended."""
        ...

    def kill(self, attempt_id: str) -> None:
        """End the attempt at once. Does nothing if it has ended."""
        ...

    def request_stacks(self, attempt_id: str) -> None:
        """Have every training process write its stacks to the attempt's `stacks.txt`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputNews:
    """What an attempt's output had that was not read before.

    Attributes:
        events: The reports of the training process, in order, and those that are lost for good.
        complete: Whether nothing can follow from an attempt that has ended.
        because: Why the output could not be read.
    """

    events: Sequence[Reported | ReportsLost] = ()
    complete: bool = True
    because: str = ""


class AttemptOutput(Protocol):
    """What the attempts of a run write, as it arrives on this machine."""

    def read(self, attempt: AttemptState, at_s: float, *, ended: bool) -> OutputNews:
        """Return the reports that the attempt's state does not have yet. What else it wrote goes to the run's folder."""
        ...

    def newest_checkpoint(
        self, attempt: AttemptState, saved: Collection[str], usable: Callable[[int], bool] = any_step
    ) -> tuple[str | None, Sequence[CheckpointIntegrity]]:
        """Return the newest checkpoint that the run can resume from, and the newer ones that are not whole.

        Args:
            attempt: The newest attempt.
            saved: Folders in which attempts said that they save checkpoints.
            usable: Whether the checkpoint of a step may be continued from.
        """
        ...

    def fetch(self, attempt: AttemptState) -> None:
        """Bring the files of an attempt that has ended to the run's folder. Raises UnreachableError."""
        ...


class Datasets(Protocol):
    """A place that knows datasets."""

    def fetch(self, data: "Data", method: Method) -> Dataset:
        """Return the known facts about a dataset. Raises SourceError if they are not available."""
        ...


class Models(Protocol):
    """A place that knows base models."""

    def fetch(self, model: "BaseModel") -> ModelFacts:
        """Return the known facts about a base model. Raises SourceError if they are not available."""
        ...


class LocalReferences(Protocol):
    """Data and models on this machine, by the names that jobs use. Given such a name, a library looks here first."""

    def holds(self, name: str) -> bool:
        """True if something on this machine has that name."""
        ...

    def nearest(self, name: str) -> str:
        """Return the name of a file or folder here that is most like another; empty if none is."""
        ...

    def path(self, name: str) -> Path | None:
        """Return the path of what has that name on this machine; None if nothing has."""
        ...

    def has_all(self, reference: Reference) -> bool:
        """True if everything that is mentioned is on this machine: for data that is read from files, every file."""
        ...

    def elsewhere(self, reference: Reference) -> str:
        """Return why it cannot be known whether something exists that is not found here; empty if it can."""
        ...

    def doubt(self, reference: Reference) -> str:
        """Return why something that is not here may exist when the job runs; empty if the job runs here, in the same folder."""
        ...

    def newest_checkpoint(self, name: str) -> str:
        """Return the newest checkpoint in a folder of checkpoints that is not itself one; empty for any other folder."""
        ...

    def dataset(self, reference: Reference) -> Dataset | None:
        """Return the facts about local data; None if it is not local. Raises SourceError if this cannot be decided."""
        ...

    def model(self, reference: Reference) -> ModelFacts | None:
        """Return the facts about a local model, adapter or tokenizer; None if it is not local. Raises SourceError."""
        ...

    def tensors(self, reference: Reference) -> frozenset[str] | None:
        """Return the names of the weights of a local model; None if it is not local. Raises SourceError."""
        ...

    def absent_tokens(self, reference: Reference, tokens: Collection[str]) -> frozenset[str] | None:
        """Return those of some tokens that the vocabulary of a local model certainly lacks; None if it is not local. Raises SourceError."""
        ...


class Hub(Protocol):
    """The Hub, as one token sees it. Every method raises SourceError if the Hub does not answer in time, or may not be contacted."""

    def account(self) -> Account:
        """Return the account whose token is used."""
        ...

    def repo(self, reference: Reference, /) -> Repo:
        """Return the named repository; if there is none, the result lists those with the most similar names."""
        ...

    def dataset(self, reference: Reference, /) -> Dataset:
        """Return the known facts about a dataset, without reading its rows."""
        ...

    def model(self, reference: Reference, /) -> ModelFacts:
        """Return the known facts about a model, an adapter or a tokenizer, without its weights."""
        ...

    def tensors(self, reference: Reference, /) -> frozenset[str]:
        """Return the names of a model's weights: `model.layers.0.self_attn.q_proj.weight`."""
        ...

    def target(self, reference: Reference, /) -> PushTarget:
        """Return what this token may do to a repository that a job pushes to."""
        ...

    def link(self, address: str, /) -> Link:
        """Return the target of an address."""
        ...

    def job_prices(self) -> PriceList:
        """Return what an hour of each flavor of Hugging Face Jobs costs today."""
        ...

    def repo_tree(self, reference: Reference, /) -> RepoTree:
        """Return the current files of a repository with their digests; never from the cache."""
        ...


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive rows.

    Attributes:
        start: Number of the first, counted from 0 over the whole split.
        frame: The rows, a `polars.DataFrame`; the same columns with the same types in every batch of a split.
    """

    start: int
    frame: Any


class Rows(Protocol):
    """The rows of one split, read once from front to back, in bounded memory."""

    @property
    def columns(self) -> Mapping[str, Type]:
        """Type of each column."""
        ...

    @property
    def broken(self) -> Sequence[UnreadablePart]:
        """The parts that could not be read, as far as the files were read; reading continues after such a part, if possible."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Yield the rows. Raises SourceError only if none of them can be read."""
        ...


class Tokenizer(Protocol):
    """A model's tokenizer with its chat template, as the trainer gets them."""

    @property
    def eos(self) -> str | None:
        """The token that the trainer appends to a text."""
        ...

    @property
    def bos_id(self) -> int | None:
        """Id of the token that begins a text."""
        ...

    @property
    def stops(self) -> Mapping[int, str]:
        """Tokens at which the model stops writing, by id."""
        ...

    @property
    def special(self) -> Mapping[int, str]:
        """Tokens that stand for more than their letters, by id."""
        ...

    @property
    def embedding(self) -> int | None:
        """How many ids the model has an embedding for; None if unknown."""
        ...

    @property
    def positions(self) -> Positions | None:
        """How many positions the model has; None if unknown."""
        ...

    @property
    def marks(self) -> bool:
        """Whether the chat template marks the tokens of the assistant."""
        ...

    def render(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[str]:
        """Return each conversation as the chat template writes it. Raises whatever the template does."""
        ...

    def encode(self, texts: Sequence[str], *, special: bool) -> list[list[int]]:
        """Return the ids of each text, with the tokens that begin and end one if `special`."""
        ...

    def mark(self, conversations: Sequence[Any], options: Mapping[str, Any]) -> list[tuple[list[int], list[int]]]:
        """Return the ids of each conversation, and 1 for each that the template marks as the assistant's, else 0."""
        ...

    def pieces(self, ids: Sequence[int]) -> list[tuple[str, int]]:
        """Return the text of each token, with the number of tokens that are one character only together."""
        ...


class Machines(Protocol):
    """The machine a job will run on."""

    def fetch(self) -> Machine:
        """Return the known facts about the machine."""
        ...


class Store(Protocol):
    """The ledger: every event of every run, in order."""

    def append(self, run: str, events: Iterable[Event]) -> None:
        """Write events durably, all or none. Raises LedgerError."""
        ...

    def read(self, run: str, *, after: int = 0) -> list[tuple[int, Event]]:
        """Return a run's events in order, each with its number, from the first after number `after`."""
        ...

    def outline(self, run: str) -> list[Event]:
        """Return the events that a list of runs needs: as `read`, of the many reported steps only the last of each attempt."""
        ...

    def runs(self) -> list[str]:
        """Return the names of all runs, oldest first."""
        ...


Order = Literal["stop", "kill", "detach"]


class Orders(Protocol):
    """The orders of the person at the terminal to the supervisor."""

    def take(self) -> Order | None:
        """Return the order given since the last call; each order is returned once."""
        ...


class Clock(Protocol):
    """The time, and waiting."""

    def now_s(self) -> float:
        """Unix time."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...
