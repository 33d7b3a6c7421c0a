"""Conditions between the values of a trial: which combinations are kept."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final

from holdfast.core.errors import JobError, Spot
from holdfast.core.job.document import Document, Key
from holdfast.core.text.nearest import nearest, suggest_one
from holdfast.core.text.numbers import is_number

BOUNDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"at_least": ge, "at_most": le, "above": gt, "below": lt}
Condition = Mapping[str, Any]


def is_kept(values: Mapping[str, Any], where: Sequence[Condition], unless: Sequence[Condition]) -> bool:
    """True if a setting is a trial.

    Args:
        values: The setting, by dotted key.
        where: One of these has to hold, if there are any.
        unless: None of these may hold.

    >>> is_kept({"peft.r": 32}, where=[{"peft.r": {"at_most": 16}}], unless=[])
    False
    """
    kept = not where or any(holds(each, values) for each in where)
    return kept and not any(holds(each, values) for each in unless)


def holds(condition: Condition, values: Mapping[str, Any]) -> bool:
    """True if all keys of a condition have such values. A key that the setting leaves as the job has it has none.

    >>> holds({"method": "sft", "peft.r": [8, 16]}, {"method": "sft", "peft.r": 8})
    True
    """
    return all(key in values and _fits(values[key], wanted) for key, wanted in condition.items())


def _fits(value: Any, wanted: Any) -> bool:
    if is_bounds(wanted):
        number = is_number(value)
        return number and all(BOUNDS[name](value, bound) for name, bound in wanted.items())
    if isinstance(wanted, list) and not isinstance(value, list):
        return any(_equal(value, each) for each in wanted)
    return _equal(value, wanted)


def is_bounds(wanted: Any) -> bool:
    """True if a condition gives bounds for a key."""
    bounds = isinstance(wanted, Mapping) and bool(wanted) and wanted.keys() <= BOUNDS.keys()
    return bounds and all(map(is_number, wanted.values()))


def _equal(value: Any, wanted: Any) -> bool:
    """True if two values are the same; in YAML, `true` is not 1."""
    return isinstance(value, bool) is isinstance(wanted, bool) and bool(value == wanted)


def condition_errors(
    document: Document, conditions: Mapping[str, Sequence[Condition]], varied: Mapping[str, Sequence[Any]]
) -> Iterator[JobError]:
    """Yield what is wrong with the conditions of a study: keys that it does not vary, and bounds that are none.

    Args:
        document: The study file.
        conditions: The conditions by the key of the study that holds them.
        varied: The values of each key that the study varies; of a range, its ends.
    """
    for name, listed in conditions.items():
        for at, condition in enumerate(listed):
            for key, wanted in condition.items():
                place = _place_of(document, name, at, key)
                if key not in varied:
                    near = nearest(key, tuple(varied))
                    fix = f"did you mean `{near}`?" if near else f"use one of {', '.join(varied)}"
                    yield JobError(f"`{name}` names `{key}`, which the study does not vary", where=place, fix=fix)
                elif not any(isinstance(each, Mapping) for each in varied[key]):  # else it may be a value
                    for what, fix in _bound_errors(wanted):
                        yield JobError(f"`{key}` in `{name}`: {what}", where=place, fix=fix)


def _bound_errors(wanted: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the bounds of a key whose values are no mappings, and the fix."""
    if isinstance(wanted, list) and any(isinstance(each, Mapping) for each in wanted):
        yield "bounds in a list hold for no value", "use a condition for each"
    if not isinstance(wanted, Mapping):
        return
    if not wanted:
        yield "it has no bound", f"use {', '.join(BOUNDS)}"
    for name, bound in wanted.items():
        if name not in BOUNDS:
            yield f"unknown bound `{name}`", suggest_one(str(name), tuple(BOUNDS))
        elif not is_number(bound) or bound != bound:  # noqa: PLR0124 - NaN, of which a long integer has none
            yield f"`{name}` is {bound!r}, which is not a number", "write a number, such as 0.001 or 1.0e-4"


def _place_of(document: Document, name: str, at: int, key: str) -> Spot:
    """Return where a key of a condition stands; a lone condition may stand without a list."""
    lone: Key = (name, key)
    place = document.place(lone if lone in document.places else (name, at, key))
    return Spot.of(place)
