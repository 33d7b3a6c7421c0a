"""What was read, as Documents: one for each trainer that the program constructs, with the job as that trainer sees it."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from holdfast.adapters.readers.script.function_behaviour import describe_behaviour
from holdfast.adapters.readers.script.functions import parameters_of
from holdfast.adapters.readers.script.guards import BY_UNSLOTH, is_wrapped, stays_intact
from holdfast.adapters.readers.script.header import read_environment
from holdfast.adapters.readers.script.objects import DEEPEST
from holdfast.adapters.readers.script.overrides import overrides
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.reads import own_attributes
from holdfast.adapters.readers.script.roles import JobCalls, cast, trainers
from holdfast.adapters.readers.script.values import (
    CHANGED,
    ITEMS,
    BoundMethod,
    LibraryCall,
    Member,
    ObjectValue,
    Partial,
    PendingRead,
    ProgramClass,
    ProgramFunction,
    Ref,
    is_class,
)
from holdfast.adapters.readers.settings import plain
from holdfast.catalog.calls.constructions import CHANGED_BY_WRAPPER
from holdfast.core.calls import (
    AttributeRead,
    Call,
    CallResult,
    Guard,
    Import,
    LibraryName,
    LocalName,
    OverriddenMethod,
    OwnAttributes,
)
from holdfast.core.document import Document, DocumentKind, Key, Unknown
from holdfast.core.expressions import UNKNOWN
from holdfast.core.parameters import required_parameters
from holdfast.core.text import Place

OUTPUT: Final = "output_dir"
MOST_JOBS: Final = 12
"""Most trainers of one file that become jobs: a file with more is a test suite. Every call is recorded all the same."""
PLAIN: Final = (str, int, float, complex, bytes, set, frozenset, type(None), LibraryName, Unknown)
COLUMN_NAMES: Final = (").column_names", ")[].column_names")
"""Ends of the paths by which the names of all columns of a dataset are reached."""
HIDDEN: Final = Unknown("it may be given where the script does not show it")
REPLACED: Final = frozenset({"trl", "transformers", "peft"})
"""Packages whose classes a patcher may replace."""


class PartialSettings(dict[str, Any]):
    """Settings of which some may not be seen: any other name is there too, with a value that is not known.

    Attributes:
        hidden: The value of any other name.
    """

    hidden: Unknown = HIDDEN

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)

    def __missing__(self, key: str) -> Unknown:
        return self.hidden


@dataclass(slots=True, eq=False, repr=False)
class DocumentBuilder:
    """Makes one Document.

    Attributes:
        reading: What was read.
        keys: The key of each call, by its identity.
    """

    reading: ReadingState
    keys: Mapping[int, str]
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    places: dict[Key, Place] = field(default_factory=dict[Key, Place])
    key_places: dict[Key, Place] = field(default_factory=dict[Key, Place])

    def plain(self, value: Any, depth: int = 0) -> Any:
        """Return a value as a Document holds it."""
        if isinstance(value, PLAIN):
            return value
        if isinstance(value, list | tuple):
            return type(value)(self.plain(part, depth) for part in value)
        if isinstance(value, Ref):
            entries = self.reading.entries(value.address)
            if entries.open or depth > DEEPEST:  # a dict may hold itself
                return UNKNOWN
            return {name: self.plain(slot.value, depth + 1) for name, slot in entries.slots.items()}
        if isinstance(value, ObjectValue | Member):
            return self._made(value)
        return _own(value, self.reading.scope.places.path)

    def _made(self, value: ObjectValue | Member) -> CallResult | Unknown:
        """Return the result of a call, or an item of it; anything else that is reached from there is unknown."""
        thing = value.thing if isinstance(value, Member) else value
        known = thing.library_call is not None and id(thing.library_call) in self.keys
        item = value.item if isinstance(value, Member) and value.path == f"{thing.base}[]" else None
        columns = isinstance(value, Member) and value.path.endswith(COLUMN_NAMES)
        if not known or (item is None and value is not thing and not columns):
            return UNKNOWN
        if ITEMS in self.reading.entries(thing.address).slots:
            return CHANGED
        return CallResult(value.path, self.keys[id(thing.library_call)], item or "")

    def _receiver(self, library_call: LibraryCall) -> CallResult | None:
        """Return the object that a method is called on, if a call created it."""
        made = self._made(library_call.receiver) if library_call.receiver else None
        return made if isinstance(made, CallResult) else None

    def call(self, library_call: LibraryCall) -> Call:
        """Return a call as a Document holds it, and put its arguments under its key."""
        key = self.keys[id(library_call)]
        arguments = {name: self.plain(slot.value) for name, slot in library_call.arguments.items()}
        under: Key = tuple(int(part) if part.isdigit() else part for part in key.split("."))
        self._put(under, PartialSettings(arguments) if library_call.open else dict(arguments), library_call)
        return Call(
            path=library_call.path,
            label=library_call.label,
            key=key,
            arguments=arguments,
            positional=tuple(map(self.plain, library_call.positional)),
            open=library_call.open,
            own=library_call.own,
            flags=library_call.flags,
            place=library_call.place,
            name_place=library_call.name_place,
            guard=self._guard(library_call),
            via=library_call.via,
            same=library_call.same,
            fields=library_call.fields,
            parser=library_call.parser,
            options={name: slot.option for name, slot in library_call.arguments.items() if slot.option},
            unbound=library_call.unbound,
            defaults=self._defaults(library_call) if library_call.via == "parser" else frozenset(),
            receiver=self._receiver(library_call),
            changed=self._changed(library_call),
        )

    def _defaults(self, library_call: LibraryCall) -> frozenset[str]:
        """Return the arguments that a file of settings gives."""
        written = ((name, slot.key_place) for name, slot in library_call.arguments.items())
        return frozenset(name for name, place in written if place and place not in self.reading.argv_places)

    def _changed(self, library_call: LibraryCall) -> frozenset[str]:
        """Return the names of the attributes that are given to what a call made."""
        every = [self.reading.entries(address) for address in library_call.made]
        return frozenset(str(name) for entries in every for name in (*entries.slots, *("*",) * entries.open))

    def read(self, read: PendingRead, number: int) -> AttributeRead:
        """Return an attribute that is read as a Document holds it, and put its place under its key."""
        paths = {thing.path for thing in read.things}
        path = paths.pop() if len(paths) == 1 else ""
        self.key_places["reads", number, read.name] = read.place
        makers = dict.fromkeys(id(thing.library_call) for thing in read.things)
        because = read.guard.because or _patched(self.reading.patched, f"{path}.{read.name}")
        return AttributeRead(
            path=path,
            name=read.name,
            key=f"reads.{number}",
            calls=tuple(self.keys[maker] for maker in makers if maker in self.keys),
            place=read.place,
            guard=replace(read.guard, because=because),
            exposed=any(thing.address in self.reading.exposed for thing in read.things),
            own=self._own_attributes(read),
        )

    def _own_attributes(self, read: PendingRead) -> OwnAttributes | None:
        """Return the attributes that all things have together of which one is read; None where these cannot be seen."""
        found = [own_attributes(self.reading, thing) for thing in read.things]
        known = [each for each in found if each]
        if not known or len(known) < len(found) or read.name in self.reading.asked:
            return None
        return OwnAttributes(known[0].owner, frozenset().union(*(each.names for each in known)))

    def override(self, override: OverriddenMethod) -> OverriddenMethod:
        """Return a method that is defined anew, with what is known of the library's own."""
        because = override.guard.because or _patched(self.reading.patched, override.path)
        return replace(override, guard=replace(override.guard, because=because))

    def _put(self, under: Key, values: dict[str, Any], library_call: LibraryCall) -> None:
        if library_call.via == "parser":
            values = {name: plain(value) for name, value in values.items()}
        if len(under) == 1:
            self.values[str(under[0])] = values
        else:
            self.values.setdefault(str(under[0]), {})[str(under[1])] = values
        self.places[under] = library_call.place
        self.key_places[under] = library_call.name_place
        self.places |= {(*under, name): place for name, place in library_call.own_places.items()}
        self.places |= {(*under, index): place for index, place in enumerate(library_call.positional_places) if place}
        for name, slot in library_call.arguments.items():
            if slot.place:
                self.places[*under, name] = slot.place
            if slot.key_place:
                self.key_places[*under, name] = slot.key_place

    def _guard(self, library_call: LibraryCall) -> Guard:
        if library_call.guard.because:
            return library_call.guard
        because = _patched(self.reading.patched, library_call.path)
        return replace(library_call.guard, because=because, wraps=is_wrapped(library_call.path, because))


def _own(value: Any, path: str) -> Any:
    """Return a function or a class of the program as a Document holds it; of anything else nothing is known.

    Args:
        value: The value.
        path: The program's own file; places are given for it alone.
    """
    if isinstance(value, Partial):
        target = _own(value.target, path)
        return replace(target, reads=(), element_reads=()) if isinstance(target, LocalName) else target
    if isinstance(value, ProgramClass):
        return LocalName(value.name, "class")
    function = value.function if isinstance(value, BoundMethod) else value
    if not isinstance(function, ProgramFunction):
        return value if isinstance(value, LibraryName) else UNKNOWN
    names, more = parameters_of(function)
    place = _definition(function, path)
    if function.decorated:
        return LocalName(function.name, "function", tuple(names), more, place=place)
    seen = describe_behaviour(function.node)
    required = required_parameters(function.node.args)
    needed = tuple(name for name in names if name in required)
    return LocalName(
        function.name,
        "function",
        tuple(names),
        more,
        seen.returns,
        seen.keys,
        seen.types,
        needed,
        () if isinstance(value, BoundMethod) else seen.reads,
        () if isinstance(value, BoundMethod) else seen.element_reads,
        seen.completions,
        place,
    )


def _definition(function: ProgramFunction, path: str) -> Place | None:
    """Return where a function is defined in a file; None for a lambda, and for one of another file."""
    if isinstance(function.node, ast.Lambda) or function.scope.places.path != path:
        return None
    place: Place = function.scope.places.definition(function.node)
    return place


def _patched(patched: Mapping[str, str], path: str) -> str:
    """Return the condition around a call of something that the program replaces."""
    if not patched:
        return ""
    package, *names = path.split(".")
    replaces = "*" in patched and package in REPLACED and any(is_class(name) for name in names)
    if replaces and not stays_intact(path, patched["*"]):
        return patched["*"]
    parts = path.split(".")
    prefixes = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
    return next((patched[prefix] for prefix in prefixes if prefix in patched), "")


def documents(reading: ReadingState, text: str, path: str, kind: DocumentKind = "script") -> tuple[Document, ...]:
    """Return one Document for each trainer, up to twelve; one in all if there is none."""
    ordered = sorted(
        reading.library_calls.values(), key=lambda library_call: (not library_call.main, library_call.order)
    )
    environment = read_environment(text, path, reading.variables)
    jobs = [cast(reading, trainer) for trainer in islice(trainers(reading), MOST_JOBS)] or [JobCalls({}, {})]
    return tuple(_document(reading, (text, path, kind), ordered, job, environment) for job in jobs)


def _document(
    reading: ReadingState,
    source: tuple[str, str, DocumentKind],
    ordered: Sequence[LibraryCall],
    job: JobCalls,
    environment: Any,
) -> Document:
    text, path, kind = source
    roles = {id(library_call): part for part, library_call in job.parts.items()}
    shown = [library_call for library_call in ordered if library_call.main or id(library_call) in roles]
    keys = {id(library_call): roles.get(id(library_call), f"calls.{index}") for index, library_call in enumerate(shown)}
    page = DocumentBuilder(reading, keys)
    calls = tuple(page.call(library_call) for library_call in shown)
    reads = tuple(page.read(read, number) for number, read in enumerate(_shown_reads(reading, keys)))
    said, places, key_places = environment
    if said:
        page.values["environment"] = said
    _add_job(page, job, {call.key: call for call in calls})
    return Document(
        path=path,
        kind=kind,
        text=text,
        values=page.values,
        places={**page.places, **places},
        key_places={**page.key_places, **key_places},
        imports=tuple(sorted(reading.imports.values(), key=_written)),
        calls=calls,
        reads=reads,
        overrides=tuple(map(page.override, overrides(reading))),
        fallbacks=tuple(reading.fallbacks),
        asked=frozenset(reading.asked),
        assumed=tuple(reading.assumed),
        has_defaults=reading.has_defaults,
    )


def _shown_reads(reading: ReadingState, keys: Mapping[int, str]) -> Iterator[PendingRead]:
    """Yield the reads of settings: those in the script itself, and what is read elsewhere of what it made.

    An attribute that the program sets, on whatever, may be one of its own.
    """
    for read in reading.reads.values() if "*" not in reading.written else ():
        ours = read.place.path == reading.path or any(id(thing.library_call) in keys for thing in read.things)
        if ours and read.name not in reading.written:
            yield read


def _written(entry: Import) -> tuple[int, int, int]:
    """Return where an import stands, to order by."""
    return entry.place.cell or 0, entry.place.line or 0, entry.place.column or 0


def _add_job(page: DocumentBuilder, job: JobCalls, calls: Mapping[str, Call]) -> None:
    """Add what the parts say together: method, model, dataset; and hide what cannot be relied on."""
    trainer = calls.get("trainer")
    if trainer is None:
        return
    page.values["method"] = trainer.name.removesuffix("Trainer").lower()
    page.values["trainer"]["class"] = trainer.path
    page.places["method",] = page.places["trainer", "class"] = trainer.name_place
    for part, thing in job.things.items():
        _apply_changes(page, part, thing)
    for part in job.hidden:
        page.values[part] = HIDDEN
    _add_output(page, calls)
    _add_model(page, calls)
    _add_dataset(page, calls)
    for part in ("train", "trainer", "peft", "quantization", "model", "dataset"):
        guard = trainer.guard if part != "dataset" or trainer.guard.because != BY_UNSLOTH else Guard()
        because = guard.because or (calls[part].guard.because if part in calls else "")
        if because and part in page.values:
            given = _given_settings(page.values[part], trainer, calls.get(part)) if part == "train" else None
            page.values[part] = given or Unknown(because)


def _given_settings(settings: Any, trainer: Call, config: Call | None) -> Mapping[str, Any] | None:
    """Return the settings that a wrapped config is given, which its wrapper hands on; None where these are not all that is known."""
    if config is None or not config.guard.wraps or trainer.guard.because != config.guard.because:
        return None
    if not isinstance(settings, dict):
        return None
    given = PartialSettings({name: value for name, value in settings.items() if name not in CHANGED_BY_WRAPPER})
    given.hidden = Unknown(config.guard.because)
    return given


def _apply_changes(page: DocumentBuilder, part: str, thing: ObjectValue) -> None:
    """Hide the settings that are changed after the config was made."""
    entries = page.reading.entries(thing.address)
    settings = page.values[part]
    for name in entries.slots:
        settings[name] = CHANGED
    if entries.open:
        page.values[part] = Unknown(CHANGED.because)


def _add_output(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    """Add the folder that a config is given by position, as the first argument of all of them."""
    call, settings = calls.get("train"), page.values.get("train", {})
    if call is None or not call.positional or isinstance(settings, Unknown) or OUTPUT in settings.keys():  # noqa: SIM118 - PartialSettings holds any
        return
    settings[OUTPUT] = call.positional[0]
    page.places["train", OUTPUT] = call.place


def _add_model(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    """Add what is said of the model: by the call that loads it, or by the trainer's config, which then has it loaded."""
    trainer, call = calls["trainer"], calls.get("model")
    given = trainer.arguments.get("model", next(iter(trainer.positional), None))
    settings = _model_settings(page, trainer)
    hidden = not isinstance(settings, Mapping) if isinstance(given, str | None) else call is None or call.open
    model = page.values["model"] = (PartialSettings if hidden else dict)(call.arguments if call else {})
    if call is not None and call.positional:
        model["path"] = call.positional[0]
        page.places["model", "path"] = call.place
    elif call is not None:
        _alias(page, "model", "pretrained_model_name_or_path", "path")
    else:
        model["path"] = given if isinstance(given, str) else UNKNOWN
        page.places["model", "path"] = page.places.get(("trainer", "model"), trainer.place)
    if isinstance(settings, Mapping):
        for name, value in settings.items():
            model.setdefault(name, value)
    _alias(page, "model", "torch_dtype", "dtype")


def _model_settings(page: DocumentBuilder, trainer: Call) -> Any:
    """Return the arguments with which a trainer loads its model itself; `Unknown` where they cannot be seen."""
    if "model_init_kwargs" in trainer.arguments:  # up to TRL 0.12
        return trainer.arguments["model_init_kwargs"] or {}
    train = page.values.get("train", {})
    if isinstance(train, Unknown):
        return train
    return (train["model_init_kwargs"] if "model_init_kwargs" in train else None) or {}  # noqa: SIM401 - PartialSettings holds any


def _alias(page: DocumentBuilder, part: str, name: str, other: str) -> None:
    """Give a setting its usual name too."""
    if other in page.values[part].keys() or name not in page.values[part].keys():  # noqa: SIM118 - PartialSettings holds any
        return
    page.values[part][other] = page.values[part][name]
    if (part, name) in page.places:
        page.places[part, other] = page.places[part, name]


def _add_dataset(page: DocumentBuilder, calls: Mapping[str, Call]) -> None:
    call = calls.get("dataset")
    if call is None:
        return
    settings = page.values["dataset"]
    for name, value in zip(("path", "name"), call.positional, strict=False):
        settings.setdefault(name, value)
        page.places.setdefault(("dataset", name), call.place)
    _alias(page, "dataset", "name", "config")
