"""Which of a program's imports fail with the versions at hand, and where the names went."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from itertools import chain
from typing import Final

from holdfast.catalog.api import Api, load_history, released
from holdfast.catalog.api.spans import span_after, span_before
from holdfast.catalog.calls.renames import Replaced, replaced
from holdfast.core.check.finding import Fix
from holdfast.core.job.api import Span
from holdfast.core.job.calls import Call, Guard, Import
from holdfast.core.job.document import Document, Edit, Remove, ReplaceCall, Set
from holdfast.core.last_call_cache import cache_last_call
from holdfast.core.text.nearest import nearest
from holdfast.core.text.places import Place

LIBRARIES: Final = ("trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub", "trackio")
NEAR: Final = 0.85
EXPERIMENTAL: Final = "trl.experimental"


class Absence(Enum):
    """Why a name or a module is not if the program looks for it: each is a fault of its own."""

    GONE = "a later release took it away"
    MODULE = "the module is gone, or never was"
    EXPERIMENTAL = "it is in trl.experimental"
    MOVING = "it is in trl.experimental, and still where it was"
    PROMOTED = "it is in trl itself, and still in trl.experimental"
    LATER = "a later release has it"
    NEVER = "it never was there"


LEFT: Final = frozenset({Absence.GONE, Absence.MODULE, Absence.NEVER})
"""What a program can only do without."""


@dataclass(frozen=True, slots=True)
class MissingImport:
    """A name or a module that is not if the program looks for it.

    Attributes:
        absence: Why.
        message: What is wrong, since when, and what to write instead.
        place: Where it is imported.
        fix: What imports it from where it is, if that can be known.
    """

    absence: Absence
    message: str
    place: Place
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class _Replacement:
    """What to write instead of a name.

    Attributes:
        words: The same for people; empty if it is not known.
        path: Where it is now, dotted; empty where what to do is not to import something else.
        safe: Whether that is the same thing.
    """

    words: str = ""
    path: str = ""
    safe: bool = False


@dataclass(frozen=True, slots=True)
class _Use:
    """A place where a program takes a name from a module: an import, or `module.name(…)`."""

    module: str
    name: str | None
    place: Place
    guard: Guard
    raises: str = "ImportError"


def absences(job: Document, api: Api, kind: Absence) -> Iterator[MissingImport]:
    """Yield the names and modules that are not if the program imports them from; a missing module once a statement."""
    reported = set[tuple[str, int | None, int | None]]()
    for use, found in _all_absences(job, api):
        if found.absence is not kind:
            continue
        settled = found.fix or kind not in LEFT or use.raises != "ImportError"
        absent = replace(found, fix=_with_arguments(job, use, found.fix) if settled else _without(job, use))
        statement = (use.module, use.place.line, use.place.cell)
        if kind is not Absence.MODULE or absent.fix or statement not in reported:
            yield absent
        reported.add(statement)


@cache_last_call
def _all_absences(job: Document, api: Api) -> Iterator[tuple[_Use, MissingImport]]:
    for use in _uses(job):
        if not use.guard.tolerates(use.raises) and (found := _judged(api, use)):
            yield use, found


def dead_fallbacks(job: Document, api: Api) -> Iterator[tuple[Place, str]]:
    """Yield where the last of several imports stands that stand in for one another and all fail, and which they are."""
    imports = {each.place: each for each in job.imports}
    for arms in job.fallbacks:
        lost = list(filter(None, (_first_failing(api, filter(None, map(imports.get, arm))) for arm in arms)))
        if len(lost) == len(arms):
            names = " and ".join(map(_spelled, lost))
            whose = ", ".join(dict.fromkeys(_whose(api, each.module) for each in lost))
            yield lost[-1].place, f"{whose} has none of these alternative imports: {names}"


def _spelled(each: Import) -> str:
    return f"`{each.name or each.module}` of `{each.module}`"


def _first_failing(api: Api, imports: Iterable[Import]) -> Import | None:
    return next((each for each in imports if _fails(api, each)), None)


def _fails(api: Api, each: Import) -> bool:
    """True if an import certainly fails."""
    there = api.has_module(each.module)
    return there is False or (bool(there) and each.name is not None and api.has_name(each.module, each.name) is False)


def instead_of(api: Api, module: str, name: str) -> str:
    """Return the replacement for a name that its module no longer has, as a phrase; empty if none is known.

    >>> from holdfast.catalog.api import newest
    >>> instead_of(Api(newest()), "peft", "prepare_model_for_int8_training")
    'use `peft.prepare_model_for_kbit_training`'
    """
    found = _module_replacement(api, f"{module}.{name}") or _module_replacement(api, module, name)
    if found is None:
        home = _experimental(api, module, name)
        found = _from(home, name) if home else _renamed(api, f"{module}.{name}") or _elsewhere(api, name)
    return found.words.removeprefix("; ") if found else ""


def _uses(job: Document) -> Iterator[_Use]:
    plain = {each.module for each in job.imports if each.name is None}
    for each in job.imports:
        if each.name != "*":
            yield _Use(each.module, each.name, each.place, each.guard)
    for call in job.calls:
        module, _, name = call.path.rpartition(".")
        if module in plain and call.via == "call" and call.label.count(".") >= 1:
            yield _Use(module, name, call.name_place, call.guard, "AttributeError")


def _judged(api: Api, use: _Use) -> MissingImport | None:
    module_there = api.has_module(use.module)
    if module_there is None:
        return None
    if not module_there:
        return _module_absent(api, use)
    if use.name is None:
        return None
    there = api.has_name(use.module, use.name)
    if there is None:
        return None
    return _moving(api, use, use.name) if there else _name_absent(api, use, use.name)


def _module_absent(api: Api, use: _Use) -> MissingImport | None:
    above, _, last = use.module.rpartition(".")
    if not above:
        return None
    spans = api.name_spans(above, last)
    whose = _whose(api, use.module)
    if later := span_after(api, spans):
        return _absent(Absence.LATER, f"{whose} has no module `{use.module}`: it comes with {later.first}", use)
    instead = (
        _module_replacement(api, use.module, use.name)
        or _renamed(api, f"{use.module}.{use.name}")
        or _elsewhere(api, use.name)
    )
    gone = span_before(api, spans)
    return _absent(Absence.MODULE, f"{whose} has no module `{use.module}`{_ended(gone)}", use, instead)


def _name_absent(api: Api, use: _Use, name: str) -> MissingImport:
    spans = api.name_spans(use.module, name)
    message = f"{_whose(api, use.module)} has no `{name}`" + ("" if "." not in use.module else f" in `{use.module}`")
    gone = span_before(api, spans)
    if home := _experimental(api, use.module, name):
        return _absent(Absence.EXPERIMENTAL, f"{message}{_ended(gone)}", use, _from(home, name))
    if gone is None and (later := span_after(api, spans)):
        return _absent(Absence.LATER, f"{message}: it comes with {later.package} {later.first}", use)
    return _gone_or_never(api, use, name, message, gone)


def _gone_or_never(api: Api, use: _Use, name: str, message: str, gone: Span | None) -> MissingImport:
    """Return the absence of a name that no later release has: once it was there, or it has another name, or never was."""
    instead = _renamed(api, f"{use.module}.{name}")
    if gone or instead:
        ended = _ended_in(api, use.module, name, gone)
        return _absent(Absence.GONE, f"{message}{ended}", use, instead or _elsewhere(api, name))
    return _absent(Absence.NEVER, message, use, _elsewhere(api, name) or _nearest(api, use.module, name))


def _moving(api: Api, use: _Use, name: str) -> MissingImport | None:
    """Return a warning for a class that says itself that it moved, as long as the old place works."""
    if use.module.startswith(f"{EXPERIMENTAL}."):
        return _promoted(api, use, name)
    home = _experimental(api, use.module, name) if _warns_of_move(api, use.module, name) else ""
    if not home:
        return None
    gone = next((span.after for span in api.name_spans(use.module, name) if span.after), None)
    until = f", and was removed from there in {gone}" if gone else ""
    message = f"`{name}` of {_whose(api, use.module)} warns in its old place{until}"
    return _absent(Absence.MOVING, message, use, _from(home, name))


def _warns_of_move(api: Api, module: str, name: str) -> bool:
    """True if a class of TRL says that it is an experiment now."""
    if module != "trl" and not module.startswith("trl.trainer"):
        return False
    signature = api.signature(f"{module}.{name}")
    return signature is not None and "experimental" in signature.deprecated


def _promoted(api: Api, use: _Use, name: str) -> MissingImport | None:
    here, there = api.signature(f"{use.module}.{name}"), api.signature(f"trl.{name}")
    if here is None or there is None or not here.deprecated or there.deprecated:
        return None
    message = f"`{name}` of {_whose(api, use.module)} warns in `{use.module}`"
    return _absent(Absence.PROMOTED, message, use, _from("trl", name))


def _experimental(api: Api, module: str, name: str) -> str:
    """Return the module of trl.experimental that a class of TRL can be imported from; empty if there is none."""
    if not module.startswith("trl") or not name[:1].isupper():
        return ""
    homes = (module for module in _experimental_modules() if api.has_module(module) and api.has_name(module, name))
    return next(homes, "")


@cache
def _experimental_modules() -> tuple[str, ...]:
    """Return all modules that trl.experimental ever had, in alphabetical order; what several share comes last."""
    history = load_history("trl")
    modules = re.findall(rf"\nm ({re.escape(EXPERIMENTAL)}\.\w+)\t", history.text) if history else []
    return tuple(sorted(modules, key=lambda module: (module.endswith(".utils"), module)))


def _from(module: str, name: str) -> _Replacement:
    return _Replacement(f"; write `from {module} import {name}`", f"{module}.{name}", safe=True)


def _module_replacement(api: Api, module: str, name: str | None = None) -> _Replacement | None:
    """Return where a whole module went, and one of its names with it; nothing if it is not known."""
    change = replaced("module", module)
    if change is None:
        return None
    known = bool(change.new and name and api.has_name(change.new, name))
    return _Replacement(f"; {change.instead}", f"{change.new}.{name}" if known else "", safe=True)


def _renamed(api: Api, old: str, further: int = 3) -> _Replacement | None:
    """Return the replacement for a name; None if none is known, or that is gone too."""
    change = replaced("name", old)
    if change is None or not further:
        return None
    module, _, name = change.new.rpartition(".")
    if change.new and api.has_name(module, name) is False:
        return _renamed(api, change.new, further - 1)
    return _Replacement(f"; {change.instead}", change.new if change.same is not None else "", safe=change.same or False)


def _elsewhere(api: Api, name: str | None) -> _Replacement | None:
    """Return which of the libraries has a name; nothing if none has. A class that only one has is the one that is meant."""
    homes = [library for library in LIBRARIES if name and library in api.versions and api.has_name(library, name)]
    if not homes or not name:
        return None
    return replace(_from(homes[0], name), safe=len(homes) == 1 and name[:1].isupper())


def _nearest(api: Api, module: str, name: str) -> _Replacement:
    meant = nearest(name, api.names(module), cutoff=NEAR)
    if meant is None:
        return _Replacement(", nor had any release")
    return _Replacement(f": did you mean `{meant}`?", f"{module}.{meant}")


def _ended(gone: Span | None) -> str:
    return f": removed in {gone.after} (last release with it: {gone.last})" if gone else ""


def _ended_in(api: Api, module: str, name: str, gone: Span | None) -> str:
    """Return until when a module had a name, in words, and until when trl.experimental kept one that trl lost."""
    if gone is None or not module.startswith("trl") or module.startswith(EXPERIMENTAL):
        return _ended(gone)
    spans = [(home, span) for home in _experimental_modules() if (span := span_before(api, api.name_spans(home, name)))]
    if not spans:
        return _ended(gone)
    order = released("trl")
    home, last = max(spans, key=lambda each: order.index(each[1].last or order[-1]))
    return f": removed in {gone.after}, and from `{home}` in {last.after} (last release with it: {last.last})"


def _whose(api: Api, module: str) -> str:
    package = module.partition(".")[0]
    return f"{package} {api.versions[package]}"


def _absent(absence: Absence, message: str, use: _Use, instead: _Replacement | None = None) -> MissingImport:
    if instead is None:
        return MissingImport(absence, message, use.place)
    return MissingImport(absence, message + instead.words, use.place, _fix(use, instead))


def _without(job: Document, use: _Use) -> Fix | None:
    """Return the edits by which a program does without a name: its calls are written otherwise, or nothing uses it."""
    path = f"{use.module}.{use.name}"
    if use.name is None or use.guard != Guard():
        return None
    if calls := _calls_of(job, path):
        return _writing_fix(calls, replaced("name", path))
    return Fix(f"import no `{use.name}`, which nothing uses", (Remove(f"imports.{path}"),))


def _calls_of(job: Document, path: str) -> list[Call]:
    return [each for each in job.calls if each.path == path]


def _writing_fix(calls: Iterable[Call], change: Replaced | None) -> Fix | None:
    """Return the edits that write all calls of a function otherwise; None if one of them cannot be."""
    if change is None or not change.write:
        return None
    edits = [_written(each, change) for each in calls]
    return Fix(f"write `{change.write}`", tuple(chain.from_iterable(edits)), safe=False) if all(edits) else None


def _written(call: Call, change: Replaced) -> tuple[Edit, ...]:
    """Return the edits that write a call otherwise; none if it is given more than can be kept."""
    if _gives_more(call, change):
        return ()
    gone = (Remove(f"{call.key}.{name}") for name in call.arguments if name not in change.keeps)
    given = (Set(f"{call.key}.{name}", value) for name, value in change.gives.items())
    return ReplaceCall(call.key, change.write, tuple(change.imports)), *gone, *given


def _gives_more(call: Call, change: Replaced) -> bool:
    """True if a call may be given more than the new function takes, where that cannot be read or has no name."""
    return call.open or len(call.positional) > len(change.keeps)


def _with_arguments(job: Document, use: _Use, fix: Fix | None) -> Fix | None:
    """Return a fix that takes out of a name's calls what the new one does not take; None if a call gives what cannot be read."""
    path = f"{use.module}.{use.name}"
    change = replaced("name", path)
    if fix is None or change is None or not change.keeps:
        return fix
    calls = _calls_of(job, path)
    if any(_gives_more(each, change) for each in calls):
        return None
    gone = list(_left_out(calls, change))
    return _also_removing(fix, gone) if gone else fix


def _left_out(calls: Iterable[Call], change: Replaced) -> Iterator[tuple[str, str]]:
    """Yield the arguments of calls that the new function does not take, each as the key of its call and its name."""
    yield from ((each.key, name) for each in calls for name in each.arguments if name not in change.keeps)


def _also_removing(fix: Fix, arguments: Sequence[tuple[str, str]]) -> Fix:
    """Return a fix that removes some arguments too."""
    named = " and ".join(f"`{name}`" for name in dict.fromkeys(name for _, name in arguments))
    edits = (*fix.edits, *(Remove(f"{key}.{name}") for key, name in arguments))
    return replace(fix, title=f"{fix.title}, without {named}, which it does not take", edits=edits, safe=False)


def _fix(use: _Use, instead: _Replacement) -> Fix | None:
    """Return the edit that imports what is meant; `module.name` in the middle of the program is left alone."""
    if use.name is None or not instead.path or use.raises != "ImportError":
        return None
    module, _, name = instead.path.rpartition(".")
    title = f"import `{name}` from `{module}`" if name == use.name else f"write `{name}` for `{use.name}`"
    return Fix(title, (Set(f"imports.{use.module}.{use.name}", instead.path),), safe=instead.safe)
