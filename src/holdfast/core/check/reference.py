"""Mentions: what a job names outside itself, on the Hub or in a folder, and what was found there."""

from dataclasses import dataclass, field
from typing import Generic, Literal, TypeVar

from holdfast.core.check.finding import MissingFactError
from holdfast.core.check.hub import RepoKind
from holdfast.core.job.calls import Guard
from holdfast.core.text.places import Place

ReferenceRole = Literal["dataset", "model", "adapter", "tokenizer", "target", "file", "link", "space"]
"""What a thing is to the job. `target` is pushed to, `file` is one file of a repository, `link` an address of a script."""

Found_co = TypeVar("Found_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFiles:
    """The files of a machine that data is read from.

    Attributes:
        reader: What reads them: a builder of datasets such as `json`, `saved` of `load_from_disk`, `folder` of a folder by its name.
        splits: Names or patterns of the files of each split, in order.
        options: Arguments that change what is read of them, by name.
    """

    reader: str
    splits: tuple[tuple[str, tuple[str, ...]], ...]
    options: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names or patterns of all files, in order."""
        return tuple(name for _, names in self.splits for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One thing that a job names.

    Attributes:
        role: What it is to the job.
        name: As the job writes it: `trl-lib/Capybara`, a folder, an address.
        key: Dotted key of the value in the Document, the primary location of a finding about it.
        place: Where it is written, where the key does not tell.
        repo_kind: On the Hub, what it would be there.
        revision: Branch, tag or commit that is requested; None for the default.
        config: Of a dataset, the configuration that is requested.
        split: Of a dataset, the splits or slices that are requested: `train[:90%]+test`.
        files: Names or patterns of the files that are requested; of all where there are none.
        label: The part of the job in its own words, for messages: `eval_dataset`, `ref_model`, `SFTConfig.hub_model_id`.
        guard: What stands around it.
        own_token: Whether the job asks with a token of its own, so that it may see and do what the one at hand may not.
        local: Whether the name can only be that of a folder, and nothing of the Hub.
        read: Of data on this machine, how its files are read.
        hidden: Why the source does not show what is requested; the name is the key then. Empty if it does.
    """

    role: ReferenceRole
    name: str
    key: str
    place: Place | None = None
    repo_kind: RepoKind = "model"
    revision: str | None = None
    config: str | None = None
    split: str | None = None
    files: tuple[str, ...] = ()
    label: str = ""
    guard: Guard = field(default_factory=Guard)
    own_token: bool = False
    hidden: str = ""
    local: bool = False
    read: DataFiles | None = None

    @property
    def certain(self) -> bool:
        """Whether nothing around it may prevent the request, or handle that it does not exist."""
        return not (self.guard.because or self.guard.catches)


@dataclass(frozen=True, slots=True)
class Lookup(Generic[Found_co]):
    """What was found of a mention.

    Attributes:
        reference: What the job names.
        found: What is there, or None if it is not known.
        because: Why it is not known.
        doubt: Of what is not here: why it may be there all the same when the job runs. Empty if it surely is not.
        hint: Of what may be on the Hub: what lies here and may have been meant.
    """

    reference: Reference
    found: Found_co | None
    because: str = ""
    doubt: str = ""
    hint: str = ""

    @property
    def fact(self) -> Found_co:
        """What is there.

        Raises:
            MissingFactError: It is not known; rules let it through, and the engine makes a skip of it. Of several references,
                those of which nothing is known come last, so that a rule reports the others first.
        """
        if self.found is None:
            raise MissingFactError(self.reference.name, self.because)
        return self.found
