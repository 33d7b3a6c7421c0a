"""A signature at one release, from the entries of a history; bases in other packages are put together by the caller."""

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal

from holdfast.catalog.api.annotations import plain_types
from holdfast.catalog.api.history import History, at, is_in
from holdfast.core.job.api import REQUIRED, CallSignature, Deprecation, Parameter
from holdfast.core.job.document import Unknown

EntryKind = Literal["class", "function", "method", "command"]

FORWARDS: Final = "forward"
"""How a class says that it hands keywords it does not know to its base."""


def own_signature(history: History, entry: Mapping[str, Any], index: int, home: str, kind: EntryKind) -> CallSignature:
    """Return the signature that a class, function or method itself declares at one release.

    Args:
        history: The package's.
        entry: Of the class or function.
        index: The release.
        home: Where it is defined.
        kind: `class`, `function`, `method` or `command`.
    """
    order = (at(entry.get("o"), index) or "").split()
    present = {name: each for name, each in entry["p"].items() if is_in(history.releases(each["r"]), index)}
    names = [name for name in order if name in present] + [name for name in present if name not in set(order)]
    keywords = at(entry.get("kw"), index)
    return CallSignature(
        path=home,
        home=home,
        kind=kind,
        parameters={name: _parameter(history, name, present[name], index, home) for name in names},
        positional=at(entry.get("n"), index),
        open=keywords == "open",
        swallows=keywords == "swallow",
        shims=at(entry.get("shims"), index) or {},
        deprecated=at(entry.get("dep"), index) or "",
    )


def merge_fields(bases: Iterable[CallSignature | None], own: CallSignature) -> CallSignature:
    """Return a dataclass's signature: its bases' fields first, the farthest base's before the nearest's, then its own.

    Args:
        bases: Nearest first; None for one that is not known.
        own: What the class itself declares.
    """
    known = list(bases)
    layers = [base for base in reversed(known) if base is not None] + [own]
    by_position, by_keyword = _placed_fields(layers)
    sure = None not in known and all(layer.positional is not None for layer in layers)
    return _merged(own, layers, by_position | by_keyword, len(by_position) if sure else None, opened=None in known)


def _placed_fields(layers: Iterable[CallSignature]) -> tuple[dict[str, Parameter], dict[str, Parameter]]:
    """Return the fields of a dataclass that can be given by position, and those that are given by keyword alone."""
    by_position: dict[str, Parameter] = {}
    by_keyword: dict[str, Parameter] = {}
    for layer in layers:
        for position, (name, parameter) in enumerate(layer.parameters.items()):
            keyword_only = name not in by_position and position >= (layer.positional or 0)
            (by_keyword if keyword_only else by_position)[name] = parameter
    return by_position, by_keyword


def merge_forwarded(bases: Iterable[CallSignature | None], own: CallSignature) -> CallSignature:
    """Return the signature of an `__init__` that passes other keywords to its base: its own parameters come first.

    Args:
        bases: Nearest first; None for one that is not known.
        own: What the class itself declares.
    """
    known = list(bases)
    layers = [base for base in reversed(known) if base is not None]
    rest = {name: each for layer in layers for name, each in layer.parameters.items() if name not in own.parameters}
    return _merged(own, [*layers, own], {**own.parameters, **rest}, own.positional, opened=None in known or not known)


def _merged(
    own: CallSignature,
    layers: list[CallSignature],
    parameters: dict[str, Parameter],
    positional: int | None,
    *,
    opened: bool,
) -> CallSignature:
    return CallSignature(
        path=own.path,
        home=own.home,
        kind=own.kind,
        parameters=parameters,
        positional=positional,
        open=opened or any(layer.open for layer in layers),
        swallows=any(layer.swallows for layer in layers),
        shims={old: new for layer in layers for old, new in layer.shims.items() if old not in parameters},
        deprecated=own.deprecated,
    )


def _parameter(history: History, name: str, entry: Mapping[str, Any], index: int, home: str) -> Parameter:
    annotation = at(entry.get("a"), index) or ""
    return Parameter(
        name=name,
        default=_default(at(entry.get("d"), index)),
        types=plain_types(annotation),
        choices=tuple(at(entry.get("c"), index) or ()),
        enforced=bool(at(entry.get("e"), index)),
        deprecation=_deprecation(history, entry, index),
        home=at(entry.get("h"), index) or home,
        annotation=annotation,
    )


@cache
def _default(source: str | None) -> Any:
    if source is None:
        return REQUIRED
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return Unknown(f"computed: {source}")
    return Unknown("too long to be kept") if value is ... else value


def _deprecation(history: History, entry: Mapping[str, Any], index: int) -> Deprecation | None:
    for ranges, message, condition, raises in entry.get("w", ()):
        if is_in(history.releases(ranges), index):
            return Deprecation(message, condition or "", bool(raises))
    return None
