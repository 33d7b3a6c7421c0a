"""Which arguments of a program's calls its versions refuse, and what became of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

from holdfast.catalog.api import Api, released
from holdfast.catalog.api.commands import HANDED_ON
from holdfast.catalog.api.since import since
from holdfast.catalog.api.spans import comes_with, gone_since
from holdfast.catalog.calls.commands import ambiguous_flags, calls_of, is_command, parsed_flags
from holdfast.catalog.calls.familiar_names import NAMES, familiar
from holdfast.catalog.calls.moving import config_of, moving_fix, trainer_of
from holdfast.catalog.calls.renames import Renamed, former_names, job_key, job_note, open_arguments, renamed
from holdfast.catalog.calls.renaming import (
    note_for,
    noted,
    reads_of,
    renamed_reads,
    renaming_fix,
    spelled_renaming,
    spelled_since,
)
from holdfast.core.check.finding import Fix
from holdfast.core.job.api import CallSignature, Span
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Remove, Rename, Set, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.last_call_cache import cache_last_call
from holdfast.core.text.nearest import nearest_of_role

NEAR: Final = 0.7
"""How alike two names are, from 0 to 1, of which one may be meant for the other."""
LISTED: Final = 6
"""How many flags a message lists."""
LOADING: Final = frozenset({"torch_dtype", "dtype", "attn_implementation", "device_map"})
"""What a model is loaded with, and no config takes."""
LOADED_WITH: Final = "model_init_kwargs"
QUANTIZES: Final = "BitsAndBytesConfig"
READ_BACK: Final = frozenset({"quant_method", "_load_in_4bit", "_load_in_8bit"})
"""What a quantization config that was written to a file holds beside its settings."""


class ArgumentChange(Enum):
    """What became of an argument: each of these is a fault of its own, with a rule of its own."""

    RENAMED = "has another name now"
    MOVED = "is another call's"
    REMOVED = "is gone"
    LATER = "comes with a later release"
    ADAPTER = "is not an argument of an adapter or a quantization"
    UNKNOWN = "was never there"


@dataclass(frozen=True, slots=True)
class Refused:
    """An argument that a call's versions refuse.

    Attributes:
        call: The call.
        name: The argument.
        became: What became of it.
        message: What is wrong and what to write instead.
        fix: What fixes it, if that can be known.
        silent: Whether nothing raises: it is taken without an effect.
    """

    call: Call
    name: str
    became: ArgumentChange
    message: str
    fix: Fix | None = None
    silent: bool = False

    @property
    def key(self) -> str:
        """Key of the argument in the document."""
        return f"{self.call.key}.{self.name}"


def refused_arguments(job: Document, api: Api, became: ArgumentChange) -> Iterator[Refused]:
    """Yield the arguments of one fate that a program's versions refuse."""
    yield from (each for each in _all_refused(job, api) if each.became is became)
    if became in (ArgumentChange.RENAMED, ArgumentChange.REMOVED):
        yield from _refused_inside(job, api, became)


@cache_last_call
def _all_refused(job: Document, api: Api) -> Iterator[Refused]:
    for call, signature in signatures(job, api):
        for name in call.arguments:
            if name not in NAMES and (could := ambiguous_flags(job, call, name, api)):
                yield _ambiguous(job, call, name, could)
            elif not _takes(call, signature, name) and (found := _Argument(job, api, call, signature, name).judged()):
                yield found


def _ambiguous(job: Document, call: Call, name: str, could: tuple[str, ...]) -> Refused:
    """Return the refusal by argparse of a flag that abbreviates several."""
    command = next((each for each in job.calls if " " in each.path and each.key == call.key), None)
    whose = f"`{command.path}`" if command else "the parser"
    listed = ", ".join(f"`--{flag}`" for flag in could[:LISTED])
    more = f" and {len(could) - LISTED} more" if len(could) > LISTED else ""
    message = f"`--{name}` is ambiguous: {whose} could match {listed}{more}; write the flag in full"
    return Refused(call, name, ArgumentChange.UNKNOWN, message)


def _refused_inside(job: Document, api: Api, became: ArgumentChange) -> Iterator[Refused]:
    """Yield the arguments that a function accepts as any keyword, and that a function it calls refuses."""
    for call in job.calls:
        for change in open_arguments((callee_name(call), call.path)):
            fate = ArgumentChange.RENAMED if change.new else ArgumentChange.REMOVED
            if fate is became and _is_refused_inside(api, call, change):
                yield _inner_refusal(job, api, call, change, fate)


def _is_refused_inside(api: Api, call: Call, change: Renamed) -> bool:
    if not change.refused or change.old not in call.arguments or call.guard.tolerates("TypeError"):
        return False
    return bool(since(api, *change.refused))


def _inner_refusal(job: Document, api: Api, call: Call, change: Renamed, fate: ArgumentChange) -> Refused:
    package = change.refused[0]
    what = spelled_renaming(change) if change.new else change.note
    message = f"`{callee_name(call)}` of {package} {api.versions[package]} takes no `{change.old}`: {what}"
    fix = renaming_fix(job, call, change) if has_edits(job, call) else None
    return Refused(call, change.old, fate, message, fix)


def signatures(job: Document, api: Api) -> Iterator[tuple[Call, CallSignature]]:
    """Yield a program's calls whose signature is known and whose refusal would end the program."""
    for call in calls_of(job, api):
        signature = None if _gives_itself(call) else api.signature(call.path)
        if signature is not None and not call.guard.tolerates("ValueError" if call.via == "parser" else "TypeError"):
            yield call, signature


def _gives_itself(call: Call) -> bool:
    """True if a method is called on its class: what it is called for is one more argument."""
    return call.unbound and bool(call.positional) and not call.name.startswith("from_")


def names_of(api: Api, path: str) -> tuple[str, ...]:
    """Return the bare names of a class and of its bases, nearest first; of a method, `Class.method` for each of them."""
    homes = api.ancestors(path) if api.signature(path) else ()
    if homes and not _is_method(api, path):
        return tuple(dict.fromkeys((path.rpartition(".")[2], *(home.rpartition(".")[2] for home in homes))))
    owner, _, name = path.rpartition(".")
    owners = (owner, *api.ancestors(owner)) if owner.rpartition(".")[2][:1].isupper() else ()
    return (name, *dict.fromkeys(f"{each.rpartition('.')[2]}.{name}" for each in owners))


def versioned_callee(api: Api, call: Call, *packages: str) -> str:
    """Return a call's name with the versions it is judged by: `SFTConfig of trl 1.16.0`."""
    concerned = dict.fromkeys((call.package, *packages))
    versions = ", ".join(f"{package} {api.versions[package]}" for package in concerned if package in api.versions)
    return f"`{callee_name(call)}` of {versions}" if versions else f"`{callee_name(call)}`"


def callee_name(call: Call) -> str:
    """Return the display name of a callee: `SFTConfig`, `SFTTrainer.train`, `load_dataset`."""
    owner, _, name = call.path.rpartition(".")
    owner = owner.rpartition(".")[2]
    return f"{owner}.{name}" if owner[:1].isupper() else name


def has_edits(job: Document, call: Call) -> bool:
    """True if a call's arguments stand in the source, so that they can be changed there."""
    return call.via != "parser" or job.kind == "command"


def _takes(call: Call, signature: CallSignature, name: str) -> bool:
    if name in call.own or name in signature.parameters or name in signature.shims or signature.open:
        return True
    if signature.swallows:
        return signature.home.rpartition(".")[2] != QUANTIZES or name in READ_BACK
    if call.via == "parser" and name in ("help", "h"):
        return True
    return call.via == "parser" and name not in call.defaults and _is_short_for_a_flag(signature, name)


def _is_short_for_a_flag(signature: CallSignature, name: str) -> bool:
    """True if a command line takes it: the beginning of one flag, or `no_` before a switch that is on by itself."""
    positive = name.removeprefix("no_")
    if positive != name:
        defaults = (each.default for whole, each in signature.parameters.items() if whole.startswith(positive))
        return any(default is True or isinstance(default, Unknown) for default in defaults)
    return sum(each.startswith(name) for each in signature.parameters) == 1


def _meant(name: str, taken: tuple[str, ...]) -> str | None:
    """Return the argument that was meant by a name that there is not; None if none is plausible."""
    if name in NAMES:
        return familiar(name, taken)
    return nearest_of_role(name, taken, cutoff=NEAR)


def _key_of_job(name: str) -> str:
    """Return the dotted key of a job file that an argument of other libraries spells with underscores; empty if there is none.

    >>> _key_of_job("early_stopping_patience"), _key_of_job("patience")
    ('early_stopping.patience', '')
    """
    from holdfast.core.job_file.job import all_keys  # few jobs name such an argument

    return next((key for key in all_keys() if "." in key and key.replace(".", "_") == name), "")


def _is_method(api: Api, path: str) -> bool:
    signature = api.signature(path)
    return signature is not None and signature.kind == "method"


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument that its call does not take."""

    job: Document
    api: Api
    call: Call
    signature: CallSignature
    name: str

    def judged(self) -> Refused | None:
        """Return the refusal, from the first source that knows the argument; None if the history contradicts itself."""
        if is_command(self.job, self.call) and self.name in HANDED_ON:
            return None
        moved = None if is_command(self.job, self.call) else self._moved()
        found = self._renamed() or moved or self._from_other_releases() or self._unknown()
        if found and self._is_adapter() and found.became in (ArgumentChange.RENAMED, ArgumentChange.UNKNOWN):
            return Refused(
                self.call, self.name, ArgumentChange.ADAPTER, found.message, found.fix, self.signature.swallows
            )
        return found

    def _refused(self, became: ArgumentChange, what: str, fix: Fix | None = None, *packages: str) -> Refused:
        whose = versioned_callee(self.api, self.call, *packages)
        editable = fix if has_edits(self.job, self.call) else None
        return Refused(self.call, self.name, became, f"{whose} takes no `{self.name}`: {what}", editable)

    def _renamed(self) -> Refused | None:
        change = renamed(names_of(self.api, self.call.path), self.name)
        if change is None or not change.new or change.new not in self.signature.parameters:
            return None
        gone = gone_since(self.api, self.call.path, self.name)
        packages = (gone.package,) if gone else ()
        what = f"{spelled_renaming(change)}{spelled_since(self.api, self.call.path, change, gone)}{noted(note_for(change, self.call.arguments[self.name]))}"
        return self._refused(ArgumentChange.RENAMED, what, renaming_fix(self.job, self.call, change), *packages)

    def _moved(self) -> Refused | None:
        if self.call.via == "file":
            return self._moved_in_job_file()
        change = renamed(names_of(self.api, self.call.path), self.name)
        if change and change.note and not change.new and not gone_since(self.api, self.call.path, self.name):
            return self._refused(ArgumentChange.MOVED, change.note)
        config, trainer = config_of(self.call.path), trainer_of(self.call.path)
        for other in filter(None, (config, trainer)):
            new = self._name_in(other)
            if new:
                where = other.rpartition(".")[2]
                gone = gone_since(self.api, self.call.path, self.name)
                since = f" (removed here in {gone.package} {gone.after})" if gone else ""
                fix = moving_fix(self.job, self.api, self.call, self.name, new) if other == config else None
                return self._refused(ArgumentChange.MOVED, f"write `{new}` in `{where}`{since}", fix)
        return None

    def _name_in(self, other: str) -> str:
        """Return the argument's name in another class; empty if it has none."""
        signature = self.api.signature(other)
        if signature is None or self.name in ("args", "model"):
            return ""
        change = renamed(names_of(self.api, other), self.name)
        for name in (self.name, change.new if change else ""):
            if name in signature.parameters:
                return name
        return ""

    def _moved_in_job_file(self) -> Refused | None:
        target, note = job_key(self.name), job_note(self.name)
        if not target:
            never = note and not self.api.parameter_spans(self.call.path, self.name)
            return self._refused(ArgumentChange.MOVED, note) if never else None
        key = f"{self.call.key}.{self.name}"
        fix = Fix(f"move it to `{target}`", (Remove(key), Set(target, self.call.arguments[self.name])))
        free = self.job.get(target) is ABSENT
        return self._refused(ArgumentChange.MOVED, f"write `{target}`", fix if free else None)

    def _from_other_releases(self) -> Refused | None:
        note = self._note()
        gone = gone_since(self.api, self.call.path, self.name)
        if gone is None and (comes := comes_with(self.api, self.call.path, self.name)):
            return self._later(comes)
        if gone is None and not note:
            return None
        since = self._since(gone) if gone else "it is not one of its arguments"
        what = f"{since}; {note}" if note else since
        return self._refused(ArgumentChange.REMOVED, what, self._removing_fix(), *((gone.package,) if gone else ()))

    def _since(self, gone: Span) -> str:
        """Return the release that removed the argument; of a trainer's that went on in its config, both releases."""
        config = config_of(self.call.path)
        later = gone_since(self.api, config, self.name) if config else None
        order = released(gone.package)
        if gone.after and later and later.after and order.index(gone.after) < order.index(later.after):
            kind = config.rpartition(".")[2]
            return f"moved to `{kind}` in {gone.package} {gone.after}, removed there in {later.after}"
        return f"removed in {gone.package} {gone.after}"

    def _note(self) -> str:
        change = renamed(names_of(self.api, self.call.path), self.name)
        in_job_file = job_note(self.name) if self.call.via == "file" else ""
        if in_job_file or change is None:
            return in_job_file
        return change.note or (f"it became `{change.new}`, which is not there either" if change.new else "")

    def _removing_fix(self) -> Fix | None:
        change = renamed(names_of(self.api, self.call.path), self.name)
        key, value = f"{self.call.key}.{self.name}", self.call.arguments[self.name]
        in_job_file = self.call.via == "file" and self.name in ("logging_dir", "generate_during_eval")
        idle = in_job_file or (change is not None and change.may_go(value))
        may_go = idle or (change is not None and change.dispensable)
        safe = idle and not any(reads_of(self.job, self.call, self.name))
        return Fix(f"remove `{self.name}`", (Remove(key),), safe=safe) if may_go else None

    def _later(self, comes: Span) -> Refused:
        what = f"it comes with {comes.package} {comes.first}"
        for change in former_names(names_of(self.api, self.call.path), self.name):
            if change.old in self.signature.parameters:
                fix = None
                if change.old not in self.call.arguments:
                    edits = (
                        Rename(f"{self.call.key}.{self.name}", change.old),
                        *renamed_reads(self.job, self.call, self.name, change.old),
                    )
                    fix = Fix(f"rename `{self.name}` to `{change.old}`", edits, safe=change.same)
                return self._refused(
                    ArgumentChange.LATER, f"{what}; until then it is called `{change.old}`", fix, comes.package
                )
        return self._refused(ArgumentChange.LATER, what, None, comes.package)

    def _unknown(self) -> Refused | None:
        if is_command(self.job, self.call) and self.call.open and self.name in self.call.defaults:
            return None  # a recipe may be for a script with settings of its own
        if owners := ", ".join(map("`{}`".format, self._others())):
            return self._refused(ArgumentChange.UNKNOWN, f"it belongs to {owners}")
        if self.call.via == "call" and self.name in LOADING and LOADED_WITH in self.signature.parameters:
            what = f'it is an argument of `from_pretrained`: write `{LOADED_WITH}={{"{self.name}": …}}`'
            return self._refused(ArgumentChange.UNKNOWN, what)
        return self._misspelt()

    def _misspelt(self) -> Refused:
        """Return the refusal of a name that no release has, with the one that is meant."""
        flags = parsed_flags(self.job, self.call, self.api) if self.call.via == "parser" else ()
        meant = _meant(self.name, (*self.signature.parameters, *flags))
        if meant is None:
            key = _key_of_job(self.name) if self.job.kind == "job" else ""
            hint = f"a job file has the key `{key}`" if key else "no similar name exists there"
            return self._refused(ArgumentChange.UNKNOWN, hint)
        edits = (Rename(f"{self.call.key}.{self.name}", meant), *renamed_reads(self.job, self.call, self.name, meant))
        fix = None if meant in self.call.arguments else Fix(f"write `{meant}`", edits, safe=False)
        return self._refused(ArgumentChange.UNKNOWN, f"did you mean `{meant}`?", fix)

    def _others(self) -> list[str]:
        """Return the config classes of other methods that have it."""
        if self.call.path not in {method.config for method in Method}:
            return []
        paths = [method.config for method in Method if method.config != self.call.path]
        signatures = ((path, self.api.signature(path)) for path in paths)
        return [path.rpartition(".")[2] for path, each in signatures if each and self.name in each.parameters]

    def _is_adapter(self) -> bool:
        quantizes = self.signature.home.rpartition(".")[2] == QUANTIZES
        return quantizes or (self.call.package == "peft" and self.signature.kind == "class")
