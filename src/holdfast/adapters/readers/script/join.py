"""What is known after two branches: what both agree on."""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.adapters.readers.script.values import INSTALLED, AnyOf, KnownItems, Member, ObjectValue, Ref, Slot, why
from holdfast.core.job.document import Unknown

MISSING: Final = object()
MOST_THINGS: Final = 8
"""Things that one name may hold, of which the rest is forgotten."""
ValueStore = dict[Any, Any]


def joined_stores(one: ValueStore, other: ValueStore, because: Unknown, numbers: Iterator[int]) -> ValueStore:
    """Return the store after two branches.

    Args:
        one: The store at the end of the first.
        other: Of the second.
        because: Why a value that differs is not known.
        numbers: Addresses that are free.
    """
    result = dict(one)
    get = one.get
    changed = [(key, value) for key, value in other.items() if get(key, MISSING) is not value]  # few of very many
    for key, value in changed:
        mine = get(key, MISSING)
        result[key] = value if mine is MISSING else _joined(mine, value, (one, other, result), because, numbers)
    return result


def joined(one: Any, other: Any, because: Unknown) -> Any:
    """Return the value that is one or the other."""
    if one is other or (type(one) is type(other) and one == other):
        return one
    match one, other:
        case (KnownItems(), KnownItems()):
            return joined_entries(one, other, because)
        case (ObjectValue() | AnyOf(), ObjectValue() | AnyOf()) | (Member(), Member()) if one.path == other.path:
            return _joined_things(one, other)
    return _differing(one, other, because)


def _joined_things(one: Any, other: Any) -> ObjectValue | AnyOf | Member:
    """Return what is one of two of the same path: the first, if both are one part or the same call of a class made both."""
    match one, other:
        case (Member(), Member()):
            return one
        case (ObjectValue(), ObjectValue()) if one.library_call is other.library_call and one.cls is other.cls:
            return one
    return AnyOf(one.path, tuple(dict.fromkeys((*one.things, *other.things)))[:MOST_THINGS])


def _differing(one: Any, other: Any, because: Unknown) -> Unknown:
    """Return why a value that differs is not known: that it depends on what is installed goes before other reasons."""
    reason = why((*(value for value in (one, other) if isinstance(value, Unknown)), because))
    return reason if reason in INSTALLED else because


def joined_entries(one: KnownItems, other: KnownItems, because: Unknown) -> KnownItems:
    """Return the items of a dict that equals one or the other; an item that only one has is possibly there."""
    slots = {
        name: _joined_slot(slot, other.slots[name], because) for name, slot in one.slots.items() if name in other.slots
    }
    alike = len(slots) == len(one.slots) == len(other.slots)
    return KnownItems(slots, one.open or other.open or not alike)


def _joined_slot(one: Slot, other: Slot, because: Unknown) -> Slot:
    value = joined(one.value, other.value, because)
    return one if value is one.value else Slot(value, one.place, one.key_place)


def _joined(
    one: Any, other: Any, stores: tuple[ValueStore, ValueStore, ValueStore], because: Unknown, numbers: Iterator[int]
) -> Any:
    if not (isinstance(one, Ref) and isinstance(other, Ref)):
        return joined(one, other, because)
    mine, theirs, result = stores
    ref = Ref(next(numbers))
    held = (mine.get(one.address, KnownItems()), theirs.get(other.address, KnownItems()))
    result[ref.address] = joined_entries(*held, because)
    return ref
