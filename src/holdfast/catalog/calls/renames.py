"""What became of arguments, values and names that libraries took away, where the history of releases cannot tell it.

Source: `renames.toml`, each entry with where it was read or tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

from holdfast.catalog.tables import load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """What became of one argument.

    Attributes:
        of: Names of the classes whose it is, or `Class.method`; `*` stands for anything.
        old: Its name.
        new: The argument that took its place; empty if none did.
        same: Whether every value means the same there.
        none: What None meant, where it means something else under the new name; empty if it does not.
        below: Only numbers from 0 up to this one mean the same; None if there is no such bound.
        switch: What `new` gets where `old` was true; None where `old` is no switch.
        harmless: Whether taking it out changes nothing: always, or with these values.
        dispensable: Whether taking it out changes what the note says, and nothing else.
        note: What to do instead.
        ignored: Package and version since which it is taken without an effect.
        refused: Package and version since which it raises TypeError, though the signature takes any keyword.
        warns: Package and version since which it is taken with a warning that the history does not have.
        source: Where that was read or tried.
    """

    of: tuple[str, ...]
    old: str
    new: str = ""
    same: bool = False
    none: str = ""
    below: float | None = None
    switch: Any = None
    harmless: bool | tuple[Any, ...] = False
    dispensable: bool = False
    note: str = ""
    ignored: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    source: str

    def concerns(self, names: Iterable[str]) -> bool:
        """True if it is an argument of something with one of these names."""
        return any(fnmatchcase(name, pattern) for name in names for pattern in self.of)

    def keeps(self, value: Any) -> bool:
        """True if a value means the same under the new name.

        >>> Renamed(of=("A",), old="warmup_ratio", new="warmup_steps", below=1, source="").keeps(0.1)
        True
        """
        if value is None and self.none:
            return False
        if self.below is not None:
            return isinstance(value, int | float) and 0 <= value < self.below
        return self.same

    def may_go(self, value: Any) -> bool:
        """True if taking the argument out, with that value, changes nothing."""
        if isinstance(self.harmless, bool):
            return self.harmless
        return value is None or any(value == harmless for harmless in self.harmless)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """What became of a value, a name or a module.

    Attributes:
        old: The value, or the dotted path.
        new: What took its place; empty if nothing did.
        note: What to do instead.
        argument: Of a value, whose it is.
        same: Of a name, whether the new one is the same thing; None if it is used differently.
        write: Of a function that is used differently, how a call of it is written now, `(…)` standing for its arguments.
        imports: Dotted paths of the names in that.
        keeps: Arguments that a call of it keeps, in their order; all where none is named.
        gives: Arguments that it has besides.
        source: Where that was read or tried.
    """

    old: str
    new: str = ""
    note: str = ""
    argument: str = ""
    same: bool | None = None
    write: str = ""
    imports: Sequence[str] = ()
    keeps: Sequence[str] = ()
    gives: Mapping[str, Any] = field(default_factory=dict[str, Any])
    source: str

    @property
    def instead(self) -> str:
        """What to do instead, in words."""
        return f"use `{self.new}`" if self.new else self.note


def renamed(names: Iterable[str], old: str) -> Renamed | None:
    """Return the renaming of an argument of something with one of these names.

    >>> renamed(["SFTConfig", "TrainingArguments"], "max_seq_length").new
    'max_length'
    """
    found = (each for each in _arguments().get(old, ()) if each.concerns(names))
    return next(found, None)


def renamed_anywhere(old: str) -> Renamed | None:
    """Return the renaming of an argument, whatever it belongs to; None if that decides.

    >>> renamed_anywhere("evaluation_strategy").new
    'eval_strategy'
    """
    found = _arguments().get(old, ())
    return found[0] if len({(each.new, each.same) for each in found}) == 1 else None


def former_names(names: Iterable[str], new: str) -> Iterator[Renamed]:
    """Yield the arguments whose place another took: what it was called before."""
    for entries in _arguments().values():
        yield from (each for each in entries if each.new == new and each.switch is None and each.concerns(names))


def open_arguments(names: Iterable[str]) -> Iterator[Renamed]:
    """Yield the arguments that something with one of these names ignores, refuses or warns of, beyond the recorded history."""
    yield from _open_arguments(tuple(names))


@cache
def _open_arguments(names: tuple[str, ...]) -> tuple[Renamed, ...]:
    every = (each for entries in _arguments().values() for each in entries)
    return tuple(each for each in every if (each.ignored or each.refused or each.warns) and each.concerns(names))


def replaced(kind: str, old: str) -> Replaced | None:
    """Return the replacement for a `name`, a `module`, a `method` or a `value` (as `argument=value`).

    >>> replaced("name", "transformers.AdamW").new
    'torch.optim.AdamW'
    """
    return _replacements(kind).get(old)


def job_key(name: str) -> str:
    """Return the key of a job file that stands for an argument of something else; empty if there is none.

    >>> job_key("lora_r")
    'peft.r'
    """
    key: str = load_table("renames")["job_key"].get(name, "")
    return key


def job_note(name: str) -> str:
    """Return a job file's equivalent of an argument, as a phrase; empty if it has none."""
    note: str = load_table("renames")["job_note"].get(name, "")
    return note


@cache
def _arguments() -> Mapping[str, tuple[Renamed, ...]]:
    found: dict[str, tuple[Renamed, ...]] = {}
    for row in load_table("renames")["argument"]:
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
        }
        each = Renamed(**fields)
        found[each.old] = (*found.get(each.old, ()), each)
    return found


@cache
def _replacements(kind: str) -> Mapping[str, Replaced]:
    rows = (Replaced(**row) for row in load_table("renames")[kind])
    return {f"{each.argument}={each.old}" if each.argument else each.old: each for each in rows}
