"""A thing through its releases as plain values for a line of text; the package's docstring tells what they mean."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from holdfast.history.format.nodes import Node
from holdfast.history.format.ranges import Column, Spans, ValueRun, write_ranges
from holdfast.history.format.weave import common_order

DEFAULTS: Final[Mapping[str, Any]] = {
    "kw": None,
    "shims": {},
    "dep": None,
    "b": [],
    "ancestors": [],
    "annotation": None,
    "c": None,
    "e": False,
    "h": "",
    "star": False,
}
"""What a value is that is not written."""

SPELLED: Final[Mapping[str, str]] = {"ancestors": "a", "annotation": "a"}
"""Keys that two kinds of thing write alike."""

MOST_BY_POSITION: Final = 8
"""Fields of a dataclass whose order is kept in each release."""

OWN: Final = ("d", "annotation", "c", "e")
"""What a class may have of a parameter from the class that it is inherited from."""

Heads = Mapping[str, Node]


def write_node(head: str, node: Node, newest: int, heads: Heads) -> dict[str, Any]:
    """Return the entry under a head.

    Args:
        head: Such as `c trl.trainer.sft_config.SFTConfig`.
        node: What stands behind it.
        newest: Index of the newest release.
        heads: All of the package's, for what is inherited.
    """
    ranges = write_ranges(node.exists.spans(), newest)
    match head[0]:
        case "m":
            return {"r": ranges, **_write_names(node, newest)}
        case "e":
            return {value: write_ranges(part.exists.spans(), newest) for value, part in _sorted(node, "values")}
        case _:
            return {"r": ranges, **_write_parts(node, newest, heads)}


def _write_names(node: Node, newest: int) -> dict[str, Any]:
    groups: dict[str, dict[str, list[str]]] = {}
    for (home, token), part in _sorted(node, "names"):
        groups.setdefault(write_ranges(part.exists.spans(), newest), {}).setdefault(home, []).append(token)
    written: dict[str, Any] = {"n": {key: _write_homes(groups[key]) for key in sorted(groups)}} if groups else {}
    stars = [(first, last) for first, last, star in node.values["star"].runs if star]
    return written | ({"star": write_ranges(stars, newest)} if stars else {})


def _write_homes(homes: Mapping[str, list[str]]) -> str:
    """Return names, those of each home after it; those without one come first."""
    return " ".join(" ".join([*([f"@{home}"] if home else []), *homes[home]]) for home in sorted(homes))


def _write_parts(node: Node, newest: int, heads: Heads) -> dict[str, Any]:
    """Return the values and parts of a class, a function, a method or a command line."""
    parameters, spans, order = node.parts.get("p", {}), node.exists.spans(), _order(node)
    homes = {name: home for name, part in parameters.items() if (home := _inherited_from(name, part, heads))}
    inherited = _write_inherited(parameters, [name for name in order if name in homes], homes, newest)
    own = [name for name in order if name not in homes]
    more = {
        "i": inherited,
        "p": {name: _write_parameter(parameters[name], newest, spans) for name in own},
        "m": _write_methods(node, newest, heads),
        "x": _write_texts(node, newest),
    }
    return {
        **_written(node, node.values.keys() - {"o"}),
        **_write_order(node, [*_inherited_names(inherited), *own]),
        **{key: written for key, written in more.items() if written},
    }


def _inherited_names(inherited: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the names of inherited parameters in the order in which they are written."""
    return (name for groups in inherited.values() for names in groups.values() for name in names.split(" "))


def _write_methods(node: Node, newest: int, heads: Heads) -> dict[str, Any]:
    spans = node.exists.spans()
    return {
        name: {**_write_ranges(part, newest, spans), **_write_parts(part, newest, heads)}
        for name, part in _sorted(node, "m")
    }


def _write_texts(node: Node, newest: int) -> list[list[str]]:
    """Return the pieces of a class's programs: ranges, the method, and the lines."""
    return [
        [ranges, method, lines] for method, text in sorted(node.texts.items()) for ranges, lines in text.write(newest)
    ]


def _order(node: Node) -> list[str]:
    """Return all parameters in the order that most releases agree with.

    Those that no release takes by position are sorted. Of a dataclass, the newest release's order counts: of a hundred
    fields, only the first few are ever given by position.
    """
    if "o" not in node.values:
        return []
    orders = [names if is_dataclass(node) else names[:most] for _, names, most in reversed(list(_orders(node)))]
    order = orders[0] if is_dataclass(node) else common_order(orders)
    return [*order, *sorted(set(node.parts.get("p", {})) - set(order))]


def _orders(node: Node) -> Iterator[tuple[int, list[str], int | None]]:
    """Yield for each release the order of its parameters, and how many of them are given by position."""
    most = MOST_BY_POSITION if is_dataclass(node) else None
    for first, last, names in node.values["o"].runs:
        for index in range(first, last + 1):
            positional = node.values["n"].at(index)
            yield index, names.split(), positional if most is None else min(most, positional or 0)


def is_dataclass(node: Node) -> bool:
    """True if a class is a dataclass in all its releases."""
    return "k" in node.values and {kind for _, _, kind in node.values["k"].runs} == {"dataclass"}


def _follows_others(node: Node) -> bool:
    """True if a dataclass's fields come after those of another package's, in all its releases."""
    return is_dataclass(node) and all(bases for _, _, bases in node.values["b"].runs)


def _write_order(node: Node, order: list[str]) -> dict[str, Any]:
    """Return the order of parameters where that in which they are written is not the one: null elsewhere."""
    if "o" not in node.values or _follows_others(node):
        return {}
    column = Column()
    place = {name: at for at, name in enumerate(order)}
    for index, names, most in _orders(node):
        agrees = sorted(names, key=place.__getitem__)[:most] == names[:most]
        column.put(index, None if agrees else " ".join(names[:most]))
    changes = column.changes()
    return {"o": changes} if any(names is not None for _, names in changes) else {}


def _write_inherited(
    parameters: Mapping[str, Node], order: list[str], homes: Mapping[str, str], newest: int
) -> dict[str, dict[str, str]]:
    """Return the names of inherited parameters by the class that they are from and the ranges in which they are there."""
    groups: dict[str, dict[str, list[str]]] = {}
    for name in order:
        ranges = write_ranges(parameters[name].exists.spans(), newest)
        groups.setdefault(homes[name], {}).setdefault(ranges, []).append(name)
    return {home: {ranges: " ".join(names) for ranges, names in groups[home].items()} for home in groups}


def _write_parameter(part: Node, newest: int, whole: Spans) -> dict[str, Any]:
    written = {**_write_ranges(part, newest, whole), **_written(part, part.values)}
    if part.parts.get("w"):
        written["w"] = [[write_ranges(each.exists.spans(), newest), *warned] for warned, each in _sorted(part, "w")]
    return written


def _write_ranges(part: Node, newest: int, whole: Spans) -> dict[str, str]:
    """Return where a part exists; nothing if that is wherever the whole does."""
    spans = part.exists.spans()
    return {} if spans == whole else {"r": write_ranges(spans, newest)}


def _inherited_from(name: str, part: Node, heads: Heads) -> str:
    """Return the class that a parameter is inherited from, if it is all the while as that class has it; else nothing."""
    homes = {home for _, _, home in part.values.get("h", Column()).runs}
    if len(homes) != 1:
        return ""
    home: str = homes.pop()
    theirs = heads.get(f"c {home}", Node()).parts.get("p", {}).get(name)
    return home if theirs and _is_inherited(part, theirs) else ""


def _is_inherited(part: Node, theirs: Node) -> bool:
    """True if a parameter is, wherever it exists, as another class has it."""
    spans = part.exists.spans()
    same = all(theirs.values[key].within(spans) == part.values[key].runs for key in OWN)
    return same and _warned(theirs, spans) == _warned(part, spans)


def _warned(part: Node, spans: Spans) -> dict[Any, list[ValueRun]]:
    warnings = {warned: each.exists.within(spans) for warned, each in part.parts.get("w", {}).items()}
    return {warned: runs for warned, runs in warnings.items() if runs}


def _written(node: Node, keys: Iterable[str]) -> dict[str, Any]:
    """Return values as lists of changes, or as they are where they never change."""
    written: dict[str, Any] = {}
    for key in sorted(keys):
        changes = node.values[key].changes()
        if key in DEFAULTS and all(value == DEFAULTS[key] for _, value in changes):
            continue
        plain = len(changes) == 1 and not isinstance(changes[0][1], list)
        written[SPELLED.get(key, key)] = changes[0][1] if plain else changes
    return written


def _sorted(node: Node, kind: str) -> list[tuple[Any, Node]]:
    return sorted(node.parts.get(kind, {}).items())
