"""What failures look like in logs. One TOML file a class; a new file is found by itself.

A file has the fields of `core.diagnosis.Signature`, its name being the file's; `[[patterns]]` and `[[remedy]]` are lists of tables.
Its `seen` and `not_seen` texts are its tests.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.core.diagnosis import Pattern, Remedy, Signature
from holdfast.core.words import NoWordError, words_of

FOLDER = Path(__file__).parent


@cache
def all_signatures() -> tuple[Signature, ...]:
    """Return the signature of every class, sorted by name."""
    return tuple(read_signature(path.stem, path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml")))


def class_names() -> list[str]:
    """Return the name of every class, from the files' names: no file is read."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def prevented_by(code: str) -> tuple[str, ...]:
    """Return the classes of failure that a rule finds before launch.

    >>> prevented_by("MOD117")
    ('corrupt-model-file',)
    """
    return tuple(each.name for each in all_signatures() if code in each.prevented_by)


def read_signature(name: str, text: str) -> Signature:
    """Return the signature that a file's text spells.

    Raises:
        TypeError: It has a field that signatures do not have, or lacks one.
        ValueError: A mark's `line`, `log` or `not_log` has no word to look for, or it stands for what logs are full of.
        tomllib.TOMLDecodeError: It is no TOML.
    """
    fields: dict[str, Any] = tomllib.loads(text)
    patterns = tuple(_checked(name, Pattern(**pattern)) for pattern in fields.pop("patterns", ()))
    remedy = tuple(Remedy(**each) for each in fields.pop("remedy", ()))
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Signature(name=name, patterns=patterns, remedy=remedy, **lists)


def _checked(name: str, pattern: Pattern) -> Pattern:
    """Return a mark whose lines can be looked for.

    Raises:
        ValueError: One has no word that every match of it contains.
    """
    for expression in filter(None, (pattern.line, pattern.log, pattern.not_log)):
        try:
            words_of(expression)
        except NoWordError as error:
            what = f"{name}.toml: a mark cannot be looked for: {error}; give it a literal run that stands in each of its lines"
            raise ValueError(what) from error
    return pattern
