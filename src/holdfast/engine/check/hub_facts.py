"""Facts about what a job names outside itself, each found on this machine or on the Hub.

What is not known stands last, with the reason: a rule reports on the others before it is skipped.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeVar

from holdfast.core.check.facts import HUB_FACTS, Dataset, ModelFacts, NamedFile
from holdfast.core.check.finding import Rule
from holdfast.core.check.hub import Account, Link, PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference, ReferenceRole
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document, Unknown
from holdfast.core.rows.columns import Type
from holdfast.engine.check.gather import run_concurrently
from holdfast.engine.references import references
from holdfast.engine.references.hidden import hidden_references
from holdfast.engine.references.made import CreatedPaths, read_made
from holdfast.engine.references.models import named_models
from holdfast.engine.references.resumed import resumed_from

if TYPE_CHECKING:
    from holdfast.ports import (  # for the types alone: its own take longer to import than a script to check
        Hub,
        LocalReferences,
    )
from holdfast.core.text.places import Place

Found = TypeVar("Found")
OF_THE_WHOLE: Final[Mapping[str, frozenset[ReferenceRole]]] = {
    "account": frozenset({"dataset", "model", "adapter", "tokenizer", "target", "file", "space"}),
    "dataset": frozenset({"dataset"}),
    "columns": frozenset({"dataset"}),
    "column_types": frozenset({"dataset"}),
    "model": frozenset({"model"}),
    "tensors": frozenset({"model"}),
    "absent_tokens": frozenset({"model"}),
}
"""Facts that are no list, each with the roles that it is about: of a job that names nothing of the kind nothing is to be said."""
ACCOUNT: Final = "account"
OUTPUT: Final = "train.output_dir"
TOKENS: Final = ("train.eos_token", "train.pad_token")
FOLDERS: Final = frozenset[ReferenceRole]({"dataset", "model", "adapter", "tokenizer"})
"""What may lie in a folder of this machine."""
NOTHING: Final = "the job names nothing of the Hub"


class ReferenceResolver:
    """Where what a job names is looked for: here first, then on the Hub, which is opened when it is first needed."""

    def __init__(self, here: "LocalReferences", open_hub: "Callable[[], Hub]", *, waits: bool) -> None:
        """Take what lies here, what gives the Hub, and whether its answers may have to be waited for."""
        self.here, self._open_hub, self.waits = here, open_hub, waits
        self._hub: Hub | None = None
        self._lock = Lock()

    @property
    def hub(self) -> "Hub":
        """The Hub."""
        with self._lock:
            if self._hub is None:
                self._hub = self._open_hub()
            return self._hub


class HubFacts:
    """The facts, by the names that rules give their parameters. Each property is one fact."""

    def __init__(self, document: Document, outside: ReferenceResolver | None) -> None:
        """Take what the job says, and where to look; without that, the job counts as one that names nothing."""
        self._document, self._outside = document, outside

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """What the job names; what may never be reached is left out."""
        return tuple(each for each in self._named_at_all if not each.hidden)

    @cached_property
    def hidden(self) -> tuple[Reference, ...]:
        """What the job names without showing it, and what is not here but may be when it is read."""
        if self._outside is None:
            return ()
        return (*hidden_references(self._document), *(each for each in self._named_at_all if each.hidden))

    @cached_property
    def _named_at_all(self) -> tuple[Reference, ...]:
        """Everything that the job names; of what it may make itself, with the reason why its state then is not known."""
        if self._outside is None:
            return ()
        named = [each for each in references(self._document) if not each.guard.because]
        if not any(each.local for each in named):
            return tuple(named)
        made, here = read_made(self._document), self._outside.here
        return tuple(_marked(each, made, here) for each in named)

    @property
    def awaited(self) -> frozenset[str]:
        """Names of the facts that may have to be waited for."""
        waits = self._outside is not None and self._outside.waits and self.references
        return HUB_FACTS if waits else frozenset()

    def concerns(self, rule: Rule) -> bool:
        """True if a rule applies to the job: one that needs the account does not if the job names nothing on the Hub."""
        return all(self.has(name) for name in rule.needs & OF_THE_WHOLE.keys())

    def has(self, name: str) -> bool:
        """True if the job names what a fact of the whole is about."""
        named = (each for each in (*self.references, *self.hidden) if each.role in OF_THE_WHOLE[name])
        return any(name != ACCOUNT or not self._is_here(each) for each in named)

    def _is_here(self, each: Reference) -> bool:
        """True if what is named lies on this machine, so that the Hub is not contacted for it."""
        found = self._outside is not None and each.role in FOLDERS and self._outside.here.holds(each.name)
        return each.local or found

    @property
    def absent_files(self) -> Mapping[str, Place]:
        """The files of settings that a command names and that do not exist; a job file names none."""
        return {}

    @property
    def accelerate_file(self) -> Mapping[str, object] | None:
        """The settings of the file that accelerate is given; a job file gives it none."""
        return None

    @property
    def script_arguments(self) -> Sequence[str | Unknown] | None:
        """The words that a script is started with; those of a job file's own script are not known."""
        return None

    @property
    def files(self) -> Mapping[str, NamedFile]:
        """The files that a job file names for its functions; a program holds its own."""
        return {}

    @property
    def datasets(self) -> Sequence[Lookup[Dataset]]:
        """What is known of each dataset by its name."""
        return [seen for seen in self._lookups("dataset", find=self._find_dataset) if not seen.reference.local]

    @property
    def local_data(self) -> Sequence[Lookup[Dataset]]:
        """What is known of the files and folders of this machine that data is read from."""
        return [seen for seen in self._lookups("dataset", find=self._find_dataset) if seen.reference.local]

    @property
    def models(self) -> Sequence[Lookup[ModelFacts]]:
        """What is known of each model, adapter and tokenizer."""
        return self._lookups("model", "adapter", "tokenizer", find=self._find_model)

    @property
    def repo_files(self) -> Sequence[Lookup[Repo]]:
        """Of each repository that files are taken from, what is in it."""
        return self._lookups("file", find=self._find_repo)

    @property
    def spaces(self) -> Sequence[Lookup[Repo]]:
        """Of each Space, whether it is there."""
        return self._lookups("space", find=self._find_repo)

    @property
    def targets(self) -> Sequence[Lookup[PushTarget]]:
        """Of each repository that is written to, whether it may be."""
        return self._lookups("target", find=self._find_target)

    @property
    def links(self) -> Sequence[Lookup[Link]]:
        """What stands at each address."""
        return self._lookups("link", find=self._find_link)

    @property
    def account(self) -> Account:
        """Whose token is at hand."""
        if not any(not each.local for each in self.references):
            raise self._nothing(NOTHING, self.hidden)
        return self._places.hub.account()

    @cached_property
    def dataset(self) -> Dataset:
        """What is known of the training data, if only one dataset is named."""
        return usable_dataset(self._find_dataset(self._only("dataset")), evaluated=False)

    @property
    def columns(self) -> tuple[str, ...] | Unknown:
        """Columns of the training data, or why they are not known: for rules that concern few of the jobs that have data."""
        try:
            return self.dataset.columns or Unknown("the training data cannot be read")
        except SourceError as error:
            return Unknown(error.what)

    @property
    def column_types(self) -> Mapping[str, Type] | Unknown:
        """Types of these columns, or why they are not known."""
        columns = self.columns
        return columns if isinstance(columns, Unknown) else self.dataset.types or Unknown("the types are not known")

    @cached_property
    def model(self) -> ModelFacts:
        """What is known of the base model, if only one is named."""
        return usable_model(self._find_model(self._only("model")))

    @property
    def trained_model(self) -> ModelFacts:
        """What is known of the model that is trained, also if the job names others beside it."""
        trained, _ = named_models(self._document)
        return self.model if trained is None else usable_model(self._find_model(trained))

    @property
    def tensors(self) -> frozenset[str]:
        """Names of the weights of the base model, if only one is named."""
        base = self._only("model")
        found = self._places.here.tensors(base)
        if found is None and base.local:
            raise _absent(base)
        return self._places.hub.tensors(base) if found is None else found

    @property
    def absent_tokens(self) -> frozenset[str]:
        """Tokens that the job names for the trainer, and that the vocabulary of the base model lacks, if only one is named."""
        named = {value for key in TOKENS if isinstance(value := self._document.get(key, None), str)}
        if not named:
            return frozenset()
        base = self._only("model")
        found = self._places.here.absent_tokens(base, named)
        if found is None and base.local:
            raise _absent(base)
        if found is None:
            raise SourceError("the vocabulary of a model on the Hub is not read", where=base.name, fix="nothing to do")
        return found

    @property
    def checkpoint(self) -> Lookup[bool]:
        """Whether a checkpoint lies in the job's output folder here."""
        folder = self._document.get(OUTPUT, None)
        if not isinstance(folder, str) or self._outside is None:
            return Lookup(
                Reference(role="file", name=OUTPUT, key=OUTPUT), None, "which folder it saves into is not known"
            )
        here = self._outside.here
        reference = Reference(role="file", name=f"{folder}/checkpoint-*/*", key=OUTPUT, local=True)
        because = here.elsewhere(reference)
        return Lookup(reference, None if because else here.has_all(reference), because)

    @property
    def checkpoints_within(self) -> Mapping[str, str]:
        """The folders named as a checkpoint that hold checkpoints instead, each with the newest of them."""
        here = self._outside.here if self._outside else None
        newest = {name: here.newest_checkpoint(name) for name in resumed_from(self._document)} if here else {}
        return {name: found for name, found in newest.items() if found}

    def _all_of(self, role: ReferenceRole) -> Iterator[Reference]:
        """Yield everything of a role that the job names, what it hides last."""
        return (each for each in (*self.references, *self.hidden) if each.role == role)

    def _only(self, role: ReferenceRole) -> Reference:
        """Return the one thing of a role that the job names."""
        of_role = [each for each in self.references if each.role == role]
        # Another split of the same data is no other dataset; the first is trained on.
        named = {(each.name, each.revision, each.config): each for each in reversed(of_role)}
        if len(named) != 1:
            hidden = [each for each in self.hidden if each.role == role and not named]
            raise self._nothing(f"the job names {len(named)} {role}s", hidden)
        return next(iter(named.values()))

    def _nothing(self, what: str, hidden: Sequence[Reference]) -> SourceError:
        """Return the error of a fact that there is none of: what the job names is hidden, or there is nothing."""
        because = next((each.hidden for each in hidden), what)
        return SourceError(because, where=self._document.path, fix="nothing to do")

    @property
    def _places(self) -> ReferenceResolver:
        if self._outside is None:
            raise SourceError(NOTHING, where=self._document.path, fix="nothing to do")
        return self._outside

    def _find_dataset(self, reference: Reference) -> Dataset:
        found = self._places.here.dataset(reference)
        if found is None and reference.local:
            raise _absent(reference)
        return self._places.hub.dataset(reference) if found is None else found

    def _find_model(self, reference: Reference) -> ModelFacts:
        found = self._places.here.model(reference)
        if found is None and reference.local:
            return ModelFacts(files=None)
        return self._places.hub.model(reference) if found is None else found

    def _find_repo(self, reference: Reference) -> Repo:
        return self._places.hub.repo(reference)

    def _find_target(self, reference: Reference) -> PushTarget:
        return self._places.hub.target(reference)

    def _find_link(self, reference: Reference) -> Link:
        return self._places.hub.link(reference.name)

    def _lookups(self, *roles: ReferenceRole, find: Callable[[Reference], Found]) -> Sequence[Lookup[Found]]:
        """Return the lookups of the references with some roles, the known ones first."""
        named = [each for each in self.references if each.role in roles]
        found = [self._placed(each) for each in run_concurrently([partial(_look, each, find) for each in named])]
        hidden: list[Lookup[Found]] = [Lookup(each, None, each.hidden) for each in self.hidden if each.role in roles]
        return sorted([*found, *hidden], key=lambda seen: seen.found is None)

    def _placed(self, lookup: Lookup[Found]) -> Lookup[Found]:
        """Return the lookup of a reference, with local names that are nearly the same, or the reason why it may exist later."""
        here, reference = self._places.here, lookup.reference
        if reference.local:
            return replace(lookup, doubt="" if here.has_all(reference) else here.doubt(reference))
        folder, _, rest = reference.name.partition("/")
        if reference.role not in FOLDERS or not rest or here.holds(reference.name) or not here.holds(folder):
            return lookup
        hint = f"; the folder `{folder}` here has no `{rest}`"
        return replace(lookup, hint=hint, because=f"{lookup.because}{hint}" if lookup.because else "")


def _marked(reference: Reference, made: CreatedPaths, here: "LocalReferences") -> Reference:
    """Return a reference; one to something on this machine with the reason why it may be another when it is read."""
    if not reference.local:
        return reference
    is_here = here.has_all(reference)
    if reference.read is None and is_here:
        return reference
    return replace(reference, hidden=made.why(reference.name, here=is_here) or here.elsewhere(reference))


def _absent(reference: Reference) -> SourceError:
    return SourceError(f"`{reference.name}` is not here", where=reference.name, fix="see what is found of its name")


def _look(reference: Reference, find: Callable[[Reference], Found]) -> Lookup[Found]:
    try:
        return Lookup(reference, find(reference))
    except SourceError as error:
        return Lookup(reference, None, error.what)


def usable_dataset(dataset: Dataset, *, evaluated: bool) -> Dataset:
    """Return the facts of a job's training data on the Hub as the rules about its columns read them.

    Args:
        dataset: What is known of it.
        evaluated: Whether the job names a split of it to evaluate on, which has the same columns.

    Raises:
        SourceError: It cannot be read, which rules about the Hub report, or its columns are not known.
    """
    _require_readable(dataset.repo)
    if not dataset.columns and not dataset.problem:
        raise SourceError(
            "its columns are not known", where=dataset.repo.name if dataset.repo else "", fix="name one file"
        )
    return replace(dataset, eval_columns=dataset.columns) if evaluated else dataset


def usable_model(model: ModelFacts) -> ModelFacts:
    """Return the facts of a job's base model on the Hub as the rules about its files read them.

    Raises:
        SourceError: It cannot be read, which rules about the Hub tell.
    """
    _require_readable(model.repo)
    if model.files is None and model.repo is None:
        raise SourceError("the folder of its model is not here", where="model", fix="see what is found of its name")
    return model


def _require_readable(repo: Repo | None) -> None:
    if repo and not (repo.exists and repo.readable and repo.commit):
        raise SourceError(
            f"{repo.name} cannot be read from the Hub", where=repo.name, fix="see what is found of its name"
        )


def applicable_rules(rules: Sequence[Rule], document: Document, facts: HubFacts) -> Iterator[Rule]:
    """Yield the rules that apply to a document."""
    return (rule for rule in rules if document.kind in rule.kinds and facts.concerns(rule))
