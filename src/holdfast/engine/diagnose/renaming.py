"""What an argument that a library refused is called now: a log at most guesses it by the letters."""

from collections.abc import Mapping
from typing import Final

from holdfast.catalog.renames import Renamed, renamed, renamed_anywhere

CONFIG: Final = ("Config", "Arguments")
"""Ends of the names of classes whose arguments are those of `transformers.TrainingArguments` too."""


def renaming_of(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the new name of the argument `old` of the class `owner`; nothing where none took its place.

    Args:
        values: What the log gave.

    Returns:
        `new`; and where it is an argument of a config, and every value means the same under the new name, `same`, the same
        name: with it a job file can be changed without asking.

    >>> renaming_of({"old": "max_seq_length", "owner": "SFTConfig"})
    {'new': 'max_length', 'same': 'max_length'}
    """
    old, owner = values.get("old"), values.get("owner")
    change = _change(old, owner) if old else None
    if change is None or not change.new:
        return {}
    in_config = all(name.endswith(CONFIG) for name in ([owner] if owner else change.of))
    return {"new": change.new} | ({"same": change.new} if change.same and in_config else {})


def _change(old: str, owner: str | None) -> Renamed | None:
    if not owner:
        return renamed_anywhere(old)
    return renamed([owner, "TrainingArguments"] if owner.endswith(CONFIG) else [owner], old)
