"""Arguments of calls as rules are given them: reading one that the source hides is noted.

A rule passes over an `Unknown` argument, for it may not guess. It has decided nothing then, and that is no pass: what it read is
noted, so that the engine can count it as skipped.
"""

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from dataclasses import dataclass, replace
from typing import Any, Self, SupportsIndex

from holdfast.core.job.calls import Call
from holdfast.core.job.document import Unknown


@dataclass(frozen=True, slots=True)
class HiddenArguments:
    """What is hidden of some arguments.

    Attributes:
        key: Key of the call.
        hidden: The hidden arguments, by name or position.
        note: Called with the key of each one that was read, and its value.
    """

    key: str
    hidden: Mapping[str | int, Unknown]
    note: Callable[[str, Unknown], object]

    def read(self, *names: str | int) -> None:
        """Note those of some arguments that are hidden."""
        for name in names:
            if name in self.hidden:
                self.note(f"{self.key}.{name}", self.hidden[name])


def hidden_in(value: Any) -> Unknown | None:
    """Return the hidden part of a value, however deep; None if all of it is known."""
    if isinstance(value, Unknown):
        return value
    parts: Any = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return next((found for part in parts if (found := hidden_in(part))), None)


def track_reads(call: Call, note: Callable[[str, Unknown], object]) -> Call:
    """Return a call that notes which of its hidden arguments are read; the call itself where it hides none."""
    hidden: dict[str | int, Unknown] = {
        name: found for name, value in call.arguments.items() if (found := hidden_in(value))
    }
    hidden |= {at: found for at, value in enumerate(call.positional) if (found := hidden_in(value))}
    if not hidden:
        return call
    watch = HiddenArguments(call.key, hidden, note)
    return replace(
        call,
        arguments=TrackedArguments(call.arguments, watch),
        positional=TrackedPositions(call.positional, watch),
    )


def track_settings(key: str, settings: Mapping[str, Any], note: Callable[[str, Unknown], object]) -> Mapping[str, Any]:
    """Return settings under a key that note which of the hidden ones are read; the settings themselves where none is hidden."""
    hidden: dict[str | int, Unknown] = {name: found for name, value in settings.items() if (found := hidden_in(value))}
    return TrackedArguments(settings, HiddenArguments(key, hidden, note)) if hidden else settings


def plain(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return settings that note nothing."""
    return settings.plain if isinstance(settings, TrackedArguments) else settings


def untracked(call: Call) -> Call:
    """Return a call that notes nothing, for what tells by itself which hidden values decide something."""
    if not isinstance(call.positional, TrackedPositions):
        return call
    return replace(call, arguments=plain(call.arguments), positional=call.positional.plain)


class TrackedArguments(dict[str, Any]):
    """Arguments by name. The names are known: asking for those alone notes nothing."""

    def __init__(self, plain: Mapping[str, Any], watch: HiddenArguments) -> None:
        """Take the arguments, and what is hidden of them."""
        super().__init__(plain)
        self.plain, self._watch = plain, watch

    def __iter__(self) -> Iterator[str]:
        # One of its own, so that `dict(…)` asks for each argument instead of copying all unseen.
        return iter(self.plain)

    def __getitem__(self, name: str) -> Any:
        self._watch.read(name)
        return self.plain[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument, or the default."""
        self._watch.read(name)
        return self.plain.get(name, default)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override] # the view of a mapping, which reads each when it comes
        """Return the arguments with their names, each read when it comes."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override] # likewise
        """Return the arguments, each read when it comes."""
        return ValuesView(self)


class TrackedPositions(tuple[Any, ...]):  # noqa: SLOT001 - slots of a tuple can hold nothing
    """Arguments by position."""

    plain: tuple[Any, ...]
    _watch: HiddenArguments

    def __new__(cls, plain: tuple[Any, ...], watch: HiddenArguments) -> Self:
        """Take the arguments, and what is hidden of them."""
        made = super().__new__(cls, plain)
        made.plain, made._watch = plain, watch
        return made

    def __getitem__(self, at: SupportsIndex | slice) -> Any:
        every = range(len(self.plain))
        self._watch.read(*(every[at] if isinstance(at, slice) else [every[at]]))
        return self.plain[at]

    def __iter__(self) -> Iterator[Any]:
        for at, value in enumerate(self.plain):
            self._watch.read(at)
            yield value
