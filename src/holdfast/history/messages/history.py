"""The messages of all releases of one package, as lines of text: grown one release at a time, in any order."""

import json
from collections.abc import Iterable
from typing import Final

from packaging.version import Version

from holdfast.catalog.messages.templates import MessageTemplate, key_of
from holdfast.history.format.ranges import Column, read_ranges, write_ranges

ABOUT: Final = "@"


class MessageHistory:
    """What the releases of one package say, oldest first."""

    def __init__(self, package: str, made: str = "") -> None:
        self.package, self.made = package, made
        self.versions: list[str] = []
        self.columns: dict[MessageTemplate, Column] = {}

    def add(self, version: str, messages: Iterable[MessageTemplate]) -> None:
        """Add a release that is not yet there, at its place among the versions."""
        index = sum(Version(each) < Version(version) for each in self.versions)
        if index < len(self.versions):
            for column in self.columns.values():
                column.make_room(index)
        self.versions.insert(index, version)
        for message in messages:
            self.columns.setdefault(message, Column()).put(index, value=True)

    def text(self) -> str:
        """Return everything as text; the same releases give the same text."""
        about = {"package": self.package, "made": self.made, "versions": self.versions}
        newest = len(self.versions) - 1
        lines: dict[tuple[str, str, str], list[str]] = {}
        for message in sorted(self.columns):
            head = (key_of(message.template), message.kind, message.template)
            ranges = write_ranges(self.columns[message].spans(), newest)
            lines.setdefault(head, []).append(f"{message.place}={ranges}")
        written = sorted("\t".join((*head, " ".join(places))) for head, places in lines.items())
        return "".join(f"{line}\n" for line in (f"{ABOUT}\t{json.dumps(about, separators=(',', ':'))}", *written))


def parse_messages(text: str) -> MessageHistory:
    """Return the history that a text tells of.

    Raises:
        ValueError: The text is none.
    """
    first, *lines = text.splitlines()
    about = json.loads(first.removeprefix(f"{ABOUT}\t"))
    history = MessageHistory(about["package"], about["made"])
    history.versions = about["versions"]
    newest = len(history.versions) - 1
    for line in lines:
        _, kind, template, places = line.split("\t")
        for each in places.split(" "):
            place, _, ranges = each.partition("=")
            runs = [(low, high, True) for low, high in read_ranges(ranges, newest)]
            history.columns[MessageTemplate(kind, template, place)] = Column(runs)
    return history
