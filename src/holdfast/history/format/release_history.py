"""All releases of one package, as lines of text: grown one release at a time, in any order."""

import json

from packaging.version import Version

from holdfast.history.entries import Release
from holdfast.history.format.nodes import Node, put_callee, put_class, put_module
from holdfast.history.format.parsing import read_about, read_node, share_inherited
from holdfast.history.format.writing import write_node


class ReleaseHistory:
    """The releases of one package, oldest first."""

    def __init__(self, package: str, made: str = "") -> None:
        self.package, self.made = package, made
        self.versions: list[str] = []
        self.dates: list[str] = []
        self.about = Node()
        self.heads: dict[str, Node] = {}

    def add(self, release: Release) -> None:
        """Add a release that is not yet there, at its place among the versions."""
        index = sum(Version(each) < Version(release.version) for each in self.versions)
        if index < len(self.versions):
            for node in (self.about, *self.heads.values()):
                for column in node.columns():
                    column.make_room(index)
        self.versions.insert(index, release.version)
        self.dates.insert(index, release.date)
        self.about.put(index, python=release.python, requires=release.requires, extras=release.extras)
        self._add_things(index, release)

    def _add_things(self, index: int, release: Release) -> None:
        for module, entry in release.modules.items():
            put_module(self._head(f"m {module}"), index, entry)
        for path, cls in release.classes.items():
            put_class(self._head(f"c {path}"), index, cls)
        for path, function in release.functions.items():
            put_callee(self._head(f"f {path}"), index, function)
        for path, values in release.enums.items():
            node = self._head(f"e {path}")
            node.put(index)
            for value in values:
                node.part("values", value).put(index)
        for command, classes in release.commands.items():
            self._head(f"x {release.package} {command}").put(index, d=classes)

    def _head(self, head: str) -> Node:
        return self.heads.setdefault(head, Node())

    def text(self) -> str:
        """Return everything as text; the same releases give the same text."""
        newest = len(self.versions) - 1
        about = {
            "package": self.package,
            "made": self.made,
            "versions": self.versions,
            "dates": self.dates,
            **{key: column.changes() for key, column in self.about.values.items()},
        }
        lines = {head: write_node(head, node, newest, self.heads) for head, node in self.heads.items()}
        return "".join(f"{head}\t{_json(data)}\n" for head, data in sorted({"@": about, **lines}.items()))


def parse_history(text: str) -> ReleaseHistory:
    """Return the history that a text tells of.

    Raises:
        ValueError: The text is none.
    """
    lines = {head: json.loads(data) for head, data in (line.split("\t", 1) for line in text.splitlines())}
    about = lines.pop("@")
    history = ReleaseHistory(about["package"], about["made"])
    history.versions, history.dates = about["versions"], about["dates"]
    newest = len(history.versions) - 1
    history.about = read_about(about, newest)
    history.heads = {head: read_node(head, data, newest) for head, data in lines.items()}
    share_inherited(history.heads)
    return history


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
