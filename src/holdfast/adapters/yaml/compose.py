"""YAML text, read into a tree by ruamel.yaml, or every objection to it.

Left out on purpose, each with a message: anchors and aliases (a value stands in one place, so an
edit changes what it names and nothing else), tags, keys that are not text, second documents.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from holdfast.adapters.yaml.tree import Branch, Child, Leaf, YamlNode, after_colon, parse_plain
from holdfast.core.errors import GroupedError, JobError, Spot, shorten
from holdfast.core.text.places import LineIndex

LONGEST = 200_000
"""Characters; ruamel.yaml reads some 400,000 a second, and a job has a few thousand."""
DEEPEST = 50
"""Levels of mappings and lists; a job has four."""
TOO_DEEP = f"more than {DEEPEST} levels"
SURROGATE = re.compile(r"[\ud800-\udfff]")


class Mistake(NamedTuple):
    """A mistake in the syntax, in ruamel's words and in a person's.

    Attributes:
        said: Part of what ruamel.yaml says.
        what: What a person says.
        fix: How to fix it.
        begins_early: Whether it stands where ruamel.yaml began to read the thing, not if it gave up.
    """

    said: str
    what: str
    fix: str
    begins_early: bool = False


LINE_UP = "line up the keys of a mapping"
MISTAKES = (
    Mistake("mapping values are not allowed", "`:` where no key can stand", f"quote text with `: ` in it; {LINE_UP}"),
    Mistake("'\\t'", "a tab where YAML has spaces", "indent with spaces"),
    Mistake("cannot start any token", "text that begins with a sign of YAML's own", "put the text in quotes"),
    Mistake("unexpected end of stream", "a quote that is never closed", "close it", begins_early=True),
    Mistake("expected the node content", "a value is missing", "write it, or close the bracket"),
    Mistake("expected ',' or", "a bracket that is never closed", "close it, or put commas in it", begins_early=True),
    Mistake("could not find expected ':'", "a line without a `:`", "write `key: value`", begins_early=True),
    Mistake("<block end>", "a line that fits no mapping or list above it", LINE_UP),
    Mistake("escape", "an escape that YAML does not know", "use single quotes, or write the backslash twice"),
    Mistake(TOO_DEEP, f"{TOO_DEEP} of mappings and lists", "write it flatter"),
)


class UnsupportedYamlError(JobError):
    """A job file has YAML that other programs read, but that job files may not have: an anchor, an alias or a tag."""


def compose(text: str, path: str) -> YamlNode | None:
    """Return the tree of a YAML document, or None for an empty one.

    Raises:
        GroupedError: Of JobErrors: everything that is left out on purpose, and the first mistake in the syntax.
    """
    composer = _Composer(text, path)
    root = None
    try:
        root = composer.document()
    except MarkedYAMLError as error:
        composer.object_to(*_explained(error))
    except ReaderError as error:
        composer.object_to(error.position, f"character U+{error.character:04X}, which YAML does not allow", "delete it")
    except (AssertionError, OverflowError, ValueError):  # ruamel.yaml: `%YAML 1.9`, an escape past the last character
        composer.object_to(composer.reached, "invalid YAML", "look at the escape or the `%` line after it")
    if composer.problems:
        raise GroupedError(f"{path} cannot be read", shorten(composer.problems))
    return root


def _explained(error: MarkedYAMLError) -> tuple[int, str, str]:
    """Return where a mistake in the syntax stands, what it is and how to fix it."""
    mark = error.problem_mark or error.context_mark
    for mistake in MISTAKES:
        if mistake.said in error.problem:
            start = error.context_mark if mistake.begins_early and error.context_mark else mark
            return start.index, mistake.what, mistake.fix
    return mark.index, f"invalid YAML: {error.problem}", "look at the quotes, brackets and indentation before it"


class _Composer:
    """Makes a tree of ruamel's events, and collects what it objects to."""

    def __init__(self, text: str, path: str) -> None:
        self.path, self.text, self.lines = path, text, LineIndex(text)
        self.problems: list[JobError] = []
        self.reached = 0
        self.events = self.read()

    def read(self) -> Iterator[Event]:
        """Yield ruamel's events, and keep in mind how far they go."""
        if len(self.text) > LONGEST:
            self.object_to(0, f"{len(self.text):,} characters; a job file has at most {LONGEST:,}", "name a job file")
            return
        for event in YAML(typ="safe", pure=True).parse(self.text):
            self.reached = event.end_mark.index
            yield event

    def object_to(self, offset: int, what: str, fix: str, kind: type[JobError] = JobError) -> None:
        """Note a problem at an offset."""
        self.problems.append(kind(what, where=Spot(self.path, *self.lines.position(offset)), fix=fix))

    def document(self) -> YamlNode | None:
        """Return the first document's root; read to the end, so that no mistake is missed."""
        roots: list[YamlNode] = []
        for event in self.events:
            if isinstance(event, DocumentStartEvent) and roots:
                self.object_to(
                    event.start_mark.index, "a second document in one file", "write one job per file: remove the `---`"
                )
            elif isinstance(event, NodeEvent):
                roots.append(self.node(event, depth=0))
        return roots[0] if roots else None

    def node(self, event: Event, depth: int) -> YamlNode:
        """Return the node that begins with an event."""
        self.check_properties(event)
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, CollectionStartEvent):
            return self.branch(event, depth)
        if not isinstance(event, ScalarEvent):
            return Leaf(start, end, None)
        if SURROGATE.search(event.value):
            self.object_to(start, "an escape for half a character", "write the character itself")
        if not event.style:
            return Leaf(start, end, parse_plain(event.value))
        return Leaf(start, start + len(self.text[start:end].rstrip()), event.value, event.style)

    def check_properties(self, event: Event) -> None:
        """Note a problem if a node is an alias, or has an anchor or a tag."""
        start = event.start_mark.index
        if isinstance(event, AliasEvent) or (isinstance(event, NodeEvent) and event.anchor):
            what = "anchors and aliases are not allowed in a job file"
            self.object_to(start, what, "write the value itself in each place", UnsupportedYamlError)
        elif isinstance(event, (ScalarEvent, CollectionStartEvent)) and event.tag:
            what = f"tag `{event.tag}` is not allowed in a job file"
            self.object_to(start, what, "remove the tag; put text in quotes", UnsupportedYamlError)

    def branch(self, event: CollectionStartEvent, depth: int) -> Branch:
        """Return the mapping or list that begins with an event."""
        if depth == DEEPEST:
            raise MarkedYAMLError(problem=TOO_DEEP, problem_mark=event.start_mark)
        is_list = isinstance(event, SequenceStartEvent)
        children: dict[str | int, Child] = {}
        while not isinstance(first := next(self.events), CollectionEndEvent):
            if is_list:
                children[len(children)] = Child(None, self.node(first, depth + 1))
            else:
                key = self.key(first, children, depth)
                children[str(key.value)] = Child(key, self.under(key, self.node(next(self.events), depth + 1)))
        flow = bool(event.flow_style)
        end = first.end_mark.index if flow else list(children.values())[-1].node.end
        return Branch(event.start_mark.index, end, children, is_list, flow, event.start_mark.column)

    def key(self, event: Event, others: dict[str | int, Child], depth: int) -> Leaf:
        """Return a key, which must be text, and must not be there yet."""
        key = self.node(event, depth + 1)
        if not isinstance(key, Leaf) or not isinstance(key.value, str):
            self.object_to(key.start, "a key that is not text", "put it in quotes")
            return Leaf(key.start, key.end, self.text[key.start : key.end])
        if key.value in others:
            self.object_to(key.start, f"key `{key.value}` is given twice", "keep one of the two")
        return key

    def under(self, key: Leaf, node: YamlNode) -> YamlNode:
        """Return a key's value; where nothing is written, ruamel.yaml places it at the next token."""
        if node.start < node.end:
            return node
        here = after_colon(self.text, key)
        return Leaf(here, here, None)
