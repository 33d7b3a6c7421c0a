"""What the libraries say when they refuse or warn: by which a message in a log is known again, and dated.

Source: `ast` over released wheels, `history/messages`, which describes the format of the files; see each file's first line for
its releases. Nothing is imported.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from holdfast.catalog.api.folders import FOLDER as HISTORIES
from holdfast.catalog.api.history import History, Releases
from holdfast.catalog.messages.templates import HOLE, fits, keys_in, literal_words

__all__ = ["BUILTIN", "FOLDER", "KnownMessage", "PackageMessages", "load_messages", "messages_folder", "packages"]

BUILTIN: Final = Path(__file__).parent
SUFFIX: Final = ".messages"


def messages_folder(histories: Path) -> Path:
    """Return the folder of messages that belongs to a folder of API histories."""
    return histories.parent / BUILTIN.name


FOLDER: Final = next((folder for folder in (messages_folder(HISTORIES),) if any(folder.glob(f"*{SUFFIX}"))), BUILTIN)
"""The messages that are read where no other folder is named."""


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where in a package something is said.

    Attributes:
        module: Its full path, `trl.trainer.sft_trainer`.
        function: With its class, `SFTTrainer.__init__`; empty in the module itself.
        releases: Those in which it is said there.
    """

    module: str
    function: str
    releases: Releases

    def is_at(self, file: str, function: str) -> bool:
        """True if a frame of a traceback is there.

        >>> MessagePlace("trl.trainer.sft_trainer", "SFTTrainer.__init__", 1).is_at("/x/trl/trainer/sft_trainer.py", "__init__")
        True
        """
        path = self.module.replace(".", "/")
        there = file.replace("\\", "/").removesuffix(".py").removesuffix("/__init__")
        name = self.function.rpartition(".")[2] or "<module>"
        return function.rpartition(".")[2] == name and (f"/{there}").endswith(f"/{path}")


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """What a package says in some of its releases.

    Attributes:
        package: Its import name.
        kind: The exception's name, or `warning` or `error` of a logger.
        template: The message, `¤` for what is computed.
        places: Where.
    """

    package: str
    kind: str
    template: str
    places: tuple[MessagePlace, ...]

    @property
    def weight(self) -> int:
        """Literal characters: of several templates that fit, the one with the most is the right one."""
        return len(self.template) - self.template.count(HOLE)

    @property
    def words(self) -> int:
        """How many literal words it has: with few, others may say the same."""
        return len(literal_words(self.template))


@dataclass(frozen=True)
class PackageMessages:
    """The messages of one package."""

    history: History

    @property
    def versions(self) -> tuple[str, ...]:
        """The releases that were read, oldest first."""
        return self.history.versions

    @cached_property
    def _lines(self) -> list[str]:
        return self.history.text.strip("\n").split("\n")[1:]

    def find(self, text: str, kind: str = "") -> list[KnownMessage]:
        """Return the messages that a text may be, the most specific first.

        Args:
            text: The message of an exception, or a line in which a warning stands.
            kind: The exception's name; empty of a line.
        """
        plain = " ".join(text.split())
        found = [
            self._known_message(line) for key in keys_in(plain) for line in self._with(key) if _fits(line, plain, kind)
        ]
        return sorted(found, key=lambda message: -message.weight)

    def all(self) -> Iterator[KnownMessage]:
        """Yield every message."""
        return map(self._known_message, self._lines)

    def _with(self, key: str) -> Iterator[str]:
        at = bisect_left(self._lines, f"{key}\t")
        while at < len(self._lines) and self._lines[at].startswith(f"{key}\t"):
            yield self._lines[at]
            at += 1

    def _known_message(self, line: str) -> KnownMessage:
        _, kind, template, places = line.split("\t")
        return KnownMessage(
            self.history.package, kind, template, tuple(self._place(each) for each in places.split(" "))
        )

    def _place(self, text: str) -> MessagePlace:
        where, _, ranges = text.partition("=")
        module, _, function = where.partition(":")
        path = f"{self.history.package}.{module}" if module else self.history.package
        return MessagePlace(path, function, self.history.releases(ranges))


def _fits(line: str, text: str, kind: str) -> bool:
    _, its_kind, template, _ = line.split("\t")
    if not kind:
        return fits(template, text, anywhere=True)
    return its_kind == kind and fits(template, text)


def packages(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the packages whose messages are known, in alphabetical order."""
    return tuple(sorted(path.stem for path in folder.glob(f"*{SUFFIX}")))


@cache
def load_messages(package: str, folder: Path = FOLDER) -> PackageMessages:
    """Return the messages of a package.

    Args:
        package: One of `packages`.
        folder: Where the files `<package>.messages` lie.
    """
    text = (folder / f"{package}{SUFFIX}").read_text(encoding="utf-8")
    return PackageMessages(History(package, "\n" + text))
