"""Entries of a history as they are meant: what a line leaves out because something else says it is put back."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Entry = Mapping[str, Any]
Find = Callable[[str], Entry | None]
"""Gives the entry under a head, or None."""


def whole(entry: Entry, find: Find) -> Entry:
    """Return a class's or function's entry with every parameter and method in full, parameters in their order.

    Args:
        entry: As it is written.
        find: Gives the entries of the classes that it inherits from in its own package.
    """
    parts: dict[str, Any] = {"p": dict(_parameters(entry, find))}
    if "m" in entry:
        parts["m"] = {name: whole({"r": entry["r"], **method}, find) for name, method in entry["m"].items()}
    return {**entry, **parts}


def _parameters(entry: Entry, find: Find) -> Iterator[tuple[str, Entry]]:
    for home, groups in entry.get("i", {}).items():
        for ranges, names in groups.items():
            for name in names.split():
                yield name, {**_inherited(home, name, find), "r": ranges, "h": home}
    for name, own in entry.get("p", {}).items():
        if "d" in own or not isinstance(own.get("h"), str):
            yield name, {"r": entry["r"], **own}
        else:
            yield name, {**_inherited(own["h"], name, find), "r": entry["r"], **own}


def _inherited(home: str, name: str, find: Find) -> Entry:
    """Return the entry for a parameter from the class that declares it."""
    source = find(f"c {home}")
    found: Entry = source.get("p", {}).get(name, {}) if source else {}
    return {key: value for key, value in found.items() if key != "h"}


def exported(names: str) -> Iterator[tuple[str, str, str]]:
    """Yield each name that a line lists: the name, the module of its home, and its name there.

    A home stands before the names that come from it, or behind its one name.

    >>> list(exported("a b@x.y @x.z c d:e"))
    [('a', '', 'a'), ('b', 'x.y', 'b'), ('c', 'x.z', 'c'), ('d', 'x.z', 'e')]
    """
    group = ""
    for token in names.split():
        if token.startswith("@"):
            group = token[1:]
            continue
        name, _, target = token.partition("@")
        home, _, other = target.partition(":")
        plain, _, renamed = name.partition(":")
        yield plain, home or group, other or renamed or plain
