"""What a call is given, by keyword or by position."""

from dataclasses import dataclass
from typing import Any

from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.places import Place


@dataclass(frozen=True, slots=True)
class ArgumentLookup:
    """What a call is given, by name, wherever it stands.

    Attributes:
        document: What the call stands in.
        call: The call.
        positions: Names of what may be given by position.
    """

    document: Document
    call: Call
    positions: tuple[str, ...] = ()

    def value(self, name: str) -> Any:
        """Return an argument; None if it is not given, or `Unknown` where that cannot be seen."""
        if not name:
            return None
        if name in self.call.arguments:
            return self.call.arguments[name]
        at = self._position(name)
        if at is not None:
            return self.call.positional[at]
        return Unknown() if self.call.open and not self._is_recipe else None

    def key(self, name: str) -> str:
        """Return the key that an argument stands under: of one by position, its number."""
        at = None if name in self.call.arguments else self._position(name)
        return f"{self.call.key}.{name if at is None else at}"

    def place(self, name: str) -> Place | None:
        """Return where the call is named, if the argument has no place of its own."""
        key: tuple[str | int, ...] = tuple(int(part) if part.isdigit() else part for part in self.key(name).split("."))
        return None if key in self.document.places else self.call.name_place

    @property
    def _is_recipe(self) -> bool:
        """Whether it is a file of settings, all of which are written there, though a command line may add to them."""
        return self.call.via == "parser" and self.call.defaults == self.call.arguments.keys()

    def _position(self, name: str) -> int | None:
        found = self.positions.index(name) if name in self.positions else len(self.call.positional)
        return found if found < len(self.call.positional) else None
