"""What the libraries take at exactly given versions, put together across packages."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from holdfast.catalog.api.build import FORWARDS, EntryKind, merge_fields, merge_forwarded, own_signature
from holdfast.catalog.api.commands import PREFIX, command_classes, command_signature
from holdfast.catalog.api.folders import FOLDER
from holdfast.catalog.api.history import History, Releases, at, is_in, load_history, run_of
from holdfast.core.job.api import CallSignature, Span
from holdfast.core.job.constructor_checks import MethodChecks

HARMLESS: Final = frozenset(
    {"object", "abc.ABC", "ABC", "typing.Generic", "Generic", "typing.Protocol", "typing_extensions.Protocol"}
)
"""Bases that add neither parameters nor methods that a script would call."""
NOT_LISTED: Final = re.compile(r"\.(\w*tests?\w*|__\w+__)(\.|$)|^transformers\.models\.")
"""Modules of which no history tells: those for tests, and the parts of each model."""
INHERITS: Final = frozenset({"dataclass", "inherits"})
MANY: Final = 20
"""Nobody gives so many arguments by position."""
FURTHEST: Final = 8
"""How often a name may be handed on from module to module."""


class _Found(NamedTuple):
    """A thing in a history, at the release in use."""

    history: History
    release: int
    entry: Mapping[str, Any]
    home: str


class Api:
    """What the libraries take at exactly these versions.

    Packages whose version is not in the history are left out: nothing is claimed of them. So is everything where an
    answer is None.
    """

    def __init__(self, versions: Mapping[str, str], *, folder: Path = FOLDER) -> None:
        """Take the versions in use.

        Args:
            versions: By importable name or by the name to install: `{"trl": "1.16.0", "huggingface-hub": "2.4.0"}`.
            folder: Where the histories lie.
        """
        self._folder = folder
        self._at: dict[str, tuple[History, int]] = {}
        self._signatures: dict[str, CallSignature | None] = {}
        self._homes: dict[str, str | None] = {}
        self._lines: dict[str, tuple[str, ...]] = {}
        self._checks: dict[str, tuple[MethodChecks, ...]] = {}
        for name, version in versions.items():
            package = name.replace("-", "_").lower()
            history = load_history(package, folder)
            index = history.index(version) if history else None
            if history is not None and index is not None:
                self._at[package] = (history, index)
        self.versions: Mapping[str, str] = {name: each.versions[index] for name, (each, index) in self._at.items()}

    def signature(self, path: str) -> CallSignature | None:
        """Return the signature of a class, function or method by any public import path; None if unknown: make no claim."""
        if path not in self._signatures:
            self._signatures[path] = None  # a class that derives from itself ends here
            found = self._signature(path)
            self._signatures[path] = replace(found, path=path) if found else None
        return self._signatures[path]

    def has_module(self, module: str) -> bool | None:
        """True if a module can be imported."""
        found = self._module(module)
        if found is None:
            return False if self._is_missing(module) else None
        return is_in(found.history.releases(found.entry.get("r", "")), found.release)

    def has_name(self, module: str, name: str) -> bool | None:
        """True if a name can be imported from a module."""
        found, exists = self._module(module), self.has_module(module)
        if found is None or not exists:
            return exists
        if self._exported(module, name) or self.has_module(f"{module}.{name}"):
            return True
        unlisted = is_in(found.history.releases(found.entry.get("star") or ""), found.release)
        return None if unlisted or self._is_entry(f"{module}.{name}") else False

    def names(self, module: str) -> frozenset[str]:
        """Return all names known in a module."""
        found = self._module(module)
        exports = found.history.exports(module).items() if found else ()
        index = found.release if found else 0
        return frozenset(name for name, homes in exports if any(is_in(releases, index) for releases, _ in homes))

    def home(self, path: str) -> str | None:
        """Return where a class, function or method is defined."""
        if path not in self._homes:
            self._homes[path] = self._home(path, FURTHEST)
        return self._homes[path]

    def ancestors(self, path: str) -> tuple[str, ...]:
        """Return the homes of a class and of its bases across packages, nearest first.

        A base that is not known appears by its dotted name.
        """
        if path not in self._lines:
            self._lines[path] = tuple(dict.fromkeys(self._ancestors(path, FURTHEST)))
        return self._lines[path]

    def name_spans(self, module: str, name: str) -> tuple[Span, ...]:
        """Return in which releases a name can be imported from a module."""
        history = self._history(module)
        if history is None:
            return ()
        releases = 0
        for each, _ in history.exports(module).get(name, ()):
            releases |= each
        submodule = history.entry(f"m {module}.{name}")
        return tuple(history.spans(releases | history.releases(submodule["r"] if submodule else "")))

    def parameter_spans(self, path: str, name: str) -> tuple[Span, ...]:
        """Return in which releases a class or function takes a parameter, over every home that its path ever had.

        Those of a base in another package come after the class's own.
        """
        return tuple(dict.fromkeys(self._parameter_spans(path, name, FURTHEST)))

    def checks(self, path: str) -> tuple[MethodChecks, ...]:
        """Return the checks that a class makes when it is constructed, the nearest class's first."""
        if path not in self._checks:
            homes = map(self._class, self.ancestors(path))
            self._checks[path] = tuple(program for home in homes for program in self._programs(home))
        return self._checks[path]

    def _programs(self, record: "_Found | None") -> Iterator[MethodChecks]:
        """Yield a class's own programs: each of the pieces that its release has."""
        pieces: dict[str, list[str]] = {}
        for ranges, method, text in record.entry.get("x", ()) if record else ():
            if record and is_in(record.history.releases(ranges), record.release):
                pieces.setdefault(method, []).append(text)
        for method, texts in pieces.items():
            yield MethodChecks(record.home if record else "", method, "\n".join(texts))

    # Where things stand

    def _history(self, path: str) -> History | None:
        return load_history(path.partition(".")[0], self._folder)

    def _find(self, head: str, path: str) -> _Found | None:
        """Return the entry under a head if its package's version is known, whatever releases have it."""
        known = self._at.get(path.partition(".")[0])
        entry = known[0].entry(f"{head} {path}") if known else None
        return _Found(known[0], known[1], entry, path) if known and entry is not None else None

    def _module(self, module: str) -> _Found | None:
        return self._find("m", module)

    def _is_missing(self, module: str) -> bool:
        """True if no release ever had a module, going by what the module around it is known to hold."""
        parent = self._module(module.rpartition(".")[0])
        if parent is None or NOT_LISTED.search(module) or f"\nm {module}." in parent.history.text:
            return False
        return not is_in(parent.history.releases(parent.entry.get("star") or ""), parent.release)

    def _present(self, head: str, path: str) -> _Found | None:
        """Return the entry under a head if the release in use has it."""
        found = self._find(head, path)
        return found if found and is_in(found.history.releases(found.entry["r"]), found.release) else None

    def _class(self, home: str) -> _Found | None:
        return self._present("c", home)

    def _is_entry(self, path: str) -> bool:
        return any(self._present(head, path) for head in ("c", "f"))

    def _exported(self, module: str, name: str) -> str | None:
        known = self._at.get(module.partition(".")[0])
        homes = known[0].exports(module).get(name, ()) if known else ()
        return next((home for releases, home in homes if known and is_in(releases, known[1])), None)

    def _home(self, path: str, further: int) -> str | None:
        module, _, name = path.rpartition(".")
        target = self._exported(module, name)
        if target is not None and target != path and further:
            return self._home(target, further - 1) or target
        if target is not None or self._is_entry(path):
            return path
        method = self._method(path) if further == FURTHEST else None
        return method.home if method else None

    # Signatures

    def _signature(self, path: str) -> CallSignature | None:
        if path.startswith(PREFIX):
            known = self._at.get(PREFIX.strip())
            return command_signature(path, *known, self.signature) if known else None
        home = self._home(path, FURTHEST - 1)
        if home is None:
            method = self._method(path)
            return _declared(method, "method") if method else None
        found = self._class(home)
        if found:
            return self._class_signature(found)
        function = self._present("f", home)
        return _declared(function, "function") if function else None

    def _class_signature(self, record: _Found) -> CallSignature:
        own = _declared(record, "class")
        forwards = at(record.entry.get("kw"), record.release) == FORWARDS
        if at(record.entry.get("k"), record.release) not in INHERITS and not forwards:
            return own
        bases = [self.signature(base) for base in self._bases(record)]
        if forwards:
            return merge_forwarded(bases, own)
        merged = merge_fields(bases, own)
        return merged if _is_ordered(record.entry) else replace(merged, positional=_sure_positions(bases))

    def _bases(self, record: _Found) -> list[str]:
        bases = at(record.entry.get("b"), record.release) or []
        return [base for base in bases if base.removeprefix("?") not in HARMLESS]

    def _method(self, path: str) -> _Found | None:
        """Return the method that a path such as `trl.SFTTrainer.train` names, from the nearest class that has it."""
        owner, _, name = path.rpartition(".")
        for home in self.ancestors(owner) if owner else ():
            found = self._class(home)
            if found is None:
                return None  # any class might have it: nothing is known
            method = found.entry.get("m", {}).get(name)
            if method is not None and is_in(found.history.releases(method["r"]), found.release):
                return _Found(found.history, found.release, method, f"{home}.{name}")
        return None

    def _ancestors(self, path: str, further: int) -> Iterator[str]:
        home = self._home(path, FURTHEST - 1)
        found = self._class(home) if home else None
        if found is None or not further:
            yield (home or path).removeprefix("?")
            return
        yield found.home
        yield from at(found.entry.get("a"), found.release) or ()
        for base in self._bases(found):
            yield from self._ancestors(base, further - 1)

    # Over all releases

    def _parameter_spans(self, path: str, name: str, further: int) -> Iterator[Span]:
        history = self._history(path.partition(" ")[0])
        if history is None or not further:
            return
        if path.startswith(PREFIX):
            for home in dict.fromkeys(command_classes(path, history)):
                yield from self._parameter_spans(home, name, further - 1)
            return
        releases: Releases = 0
        bases: dict[str, None] = {}
        for when, entry in self._entries(history, path):
            releases |= when & _takes(history, entry, name)
            bases |= dict.fromkeys(_forwarding_bases(history, entry, when))
        yield from history.spans(releases)
        for base in bases:
            yield from self._parameter_spans(base, name, further - 1)

    def _entries(self, history: History, path: str) -> Iterable[tuple[Releases, Mapping[str, Any]]]:
        """Yield everything that a path ever named, with the releases in which it did."""
        module, _, name = path.rpartition(".")
        homes = history.exports(module).get(name) or ((run_of(0, len(history.versions)), path),)
        for when, home in homes:
            entry = history.entry(f"c {home}") or history.entry(f"f {home}")
            if entry is not None:
                yield when & history.releases(entry["r"]), entry


def _is_ordered(entry: Mapping[str, Any]) -> bool:
    """True if a class's own parameters stand in their order: not those of a dataclass with bases in other packages."""
    kinds, bases = entry.get("k"), entry.get("b") or [[0, []]]
    return "o" in entry or kinds != "dataclass" or not all(each for _, each in bases)


def _sure_positions(bases: Iterable[CallSignature | None]) -> int | None:
    """Return the number of parameters with a certain position, those of the bases included; None if that may be too few for a call."""
    known = [each.positional or 0 for each in bases if each]
    return sum(known) if sum(known) >= MANY else None


def _declared(record: _Found, kind: EntryKind) -> CallSignature:
    return own_signature(record.history, record.entry, record.release, record.home, kind)


def _takes(history: History, entry: Mapping[str, Any], name: str) -> Releases:
    """Return the releases in which a class or function takes a parameter itself, or by a decorator."""
    own = entry["p"].get(name)
    shims = history.stretches(entry.get("shims"))
    by_shim = sum(releases for releases, names in shims if name in (names or ()))
    return by_shim | (history.releases(own["r"]) if own else 0)


def _forwarding_bases(history: History, entry: Mapping[str, Any], when: Releases) -> Iterator[str]:
    """Yield the bases to which a class hands what it does not take itself, in some of these releases."""
    hands_on = history.when(entry.get("k"), INHERITS) | history.when(entry.get("kw"), {FORWARDS})
    for releases, bases in history.stretches(entry.get("b")):
        if hands_on & when & releases:
            yield from (base for base in bases or () if not base.startswith("?"))
