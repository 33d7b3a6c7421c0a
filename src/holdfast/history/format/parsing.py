"""From plain values of a line of text back to a thing through its releases: the other way of `writing`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from holdfast.history.format.nodes import Node
from holdfast.history.format.ranges import Column, Spans, ValueRun, read_changes, read_ranges
from holdfast.history.format.weave import indices, read_weave
from holdfast.history.format.writing import DEFAULTS, OWN, SPELLED

CALLEE: Final = ("n", "kw", "shims", "dep")
CLASS: Final = (*CALLEE, "k", "b", "ancestors")
PARAMETER: Final = (*OWN, "h")


def read_about(about: Mapping[str, Any], newest: int) -> Node:
    """Return the metadata of a package."""
    spans = [(0, newest)]
    node = Node(_existing(spans))
    for key in ("python", "requires", "extras"):
        node.values[key] = Column(list(read_changes(about[key], spans)))
    return node


def read_node(head: str, data: Mapping[str, Any], newest: int) -> Node:
    """Return the entry under a head."""
    match head[0]:
        case "m":
            return _read_module(data, newest)
        case "e":
            return _read_enum(data, newest)
        case "c":
            return _read_parts(data, read_ranges(data["r"], newest), newest, CLASS)
        case "f":
            return _read_parts(data, read_ranges(data["r"], newest), newest, CALLEE)
        case _:
            return _read_values(data, read_ranges(data["r"], newest), ("d",))


def share_inherited(heads: Mapping[str, Node]) -> None:
    """Give each parameter that only names the class it is inherited from what that class says of it."""
    for head, node in heads.items():
        for name, part in node.parts.get("p", {}).items() if head[0] == "c" else ():
            if "d" in part.values:
                continue
            source = heads[f"c {part.values['h'].runs[0][2]}"].parts["p"][name]
            spans = part.exists.spans()
            for key in OWN:
                part.values[key] = Column(source.values[key].within(spans))
            for warned, each in source.parts.get("w", {}).items():
                if runs := each.exists.within(spans):
                    part.part("w", warned).exists = Column(runs)


def _read_parts(data: Mapping[str, Any], spans: Spans, newest: int, keys: Iterable[str]) -> Node:
    node = _read_values(data, spans, keys)
    parameters = {**dict(_inherited(data, newest)), **dict(_own(data, spans, newest))}
    if parameters:
        node.parts["p"] = parameters
    for name, method in data.get("m", {}).items():
        node.parts.setdefault("m", {})[name] = _read_parts(method, _spans(method, spans, newest), newest, CALLEE)
    for method in dict.fromkeys(piece[1] for piece in data.get("x", ())):
        node.texts[method] = read_weave(([ranges, text] for ranges, each, text in data["x"] if each == method), newest)
    node.values["o"] = _read_order(data, node)
    return node


def _inherited(data: Mapping[str, Any], newest: int) -> Iterator[tuple[str, Node]]:
    """Yield the parameters that are as another class has them, for the while with nothing but that class."""
    for home, groups in data.get("i", {}).items():
        for ranges, names in groups.items():
            for name in names.split(" "):
                yield name, _read_values({"h": home}, read_ranges(ranges, newest), ("h",))


def _own(data: Mapping[str, Any], spans: Spans, newest: int) -> Iterator[tuple[str, Node]]:
    for name, part in data.get("p", {}).items():
        node = _read_values(part, _spans(part, spans, newest), PARAMETER)
        for ranges, *warned in part.get("w", ()):
            node.part("w", tuple(warned)).exists = _existing(read_ranges(ranges, newest))
        yield name, node


def _spans(part: Mapping[str, Any], whole: Spans, newest: int) -> Spans:
    return read_ranges(part["r"], newest) if "r" in part else whole


def _read_order(data: Mapping[str, Any], node: Node) -> Column:
    spans = node.exists.spans()
    written = Column(list(read_changes(data.get("o", [[0, None]]), spans)))
    order = Column()
    parts = {name: frozenset(indices(part.exists.spans())) for name, part in node.parts.get("p", {}).items()}
    for index in indices(spans):
        first = (written.at(index) or "").split()
        order.put(
            index, " ".join([*first, *(name for name, there in parts.items() if index in there and name not in first)])
        )
    return order


def _read_values(data: Mapping[str, Any], spans: Spans, keys: Iterable[str]) -> Node:
    node = Node(_existing(spans))
    for key in keys:
        written = data.get(SPELLED.get(key, key), DEFAULTS.get(key))
        changes = written if isinstance(written, list) and written else [[0, written]]
        node.values[key] = Column(_joined(read_changes(changes, spans)))
    return node


def _read_module(data: Mapping[str, Any], newest: int) -> Node:
    spans = read_ranges(data["r"], newest)
    node = Node(_existing(spans))
    stars = frozenset(indices(read_ranges(data.get("star", ""), newest)))
    dynamic = node.values.setdefault("star", Column())
    for index in indices(spans):
        dynamic.put(index, index in stars)
    for ranges, tokens in data.get("n", {}).items():
        home = ""
        for token in tokens.split(" "):
            if token.startswith("@"):
                home = token[1:]
            else:
                node.part("names", (home, token)).exists = _existing(read_ranges(ranges, newest))
    return node


def _read_enum(data: Mapping[str, str], newest: int) -> Node:
    node = Node()
    present: set[int] = set()
    for value, ranges in data.items():
        spans = read_ranges(ranges, newest)
        node.part("values", value).exists = _existing(spans)
        present |= set(indices(spans))
    for index in sorted(present):
        node.exists.put(index, value=True)
    return node


def _existing(spans: Spans) -> Column:
    return Column([(first, last, True) for first, last in spans])


def _joined(runs: Iterable[ValueRun]) -> list[ValueRun]:
    """Join runs that touch and say the same: changes through a gap are written once."""
    joined: list[ValueRun] = []
    for first, last, value in runs:
        if joined and joined[-1][1] + 1 == first and joined[-1][2] == value:
            joined[-1] = (joined[-1][0], last, value)
        else:
            joined.append((first, last, value))
    return joined
