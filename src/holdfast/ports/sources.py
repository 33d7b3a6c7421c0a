"""Where facts about data, models and machines come from: this machine, the Hub, the rows and the tokenizer themselves."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.core.check.facts import Dataset, Machine, ModelFacts, Positions
from holdfast.core.check.hub import Account, Link, PushTarget, Repo, RepoTree
from holdfast.core.check.reference import Reference
from holdfast.core.job.methods import Method
from holdfast.core.plan.hardware import PriceList
from holdfast.core.rows.columns import Type
from holdfast.core.rows.scan import UnreadablePart

if TYPE_CHECKING:  # for the types alone: pydantic takes longer to import than a script to check
    from holdfast.core.job_file.data import Data
    from holdfast.core.job_file.job import Model as BaseModel


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
