"""What failures look like in logs: one TOML file per class. A new file needs no registration.

A file has the fields of `core.diagnosis.Signature`, except the name, which is the file's. `[[patterns]]` and `[[remedy]]` are
lists of tables. The texts in `seen` and `not_seen` are its tests.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from holdfast.core.diagnose.diagnosis import Pattern, Remedy, Signature
from holdfast.core.diagnose.words import NoWordError, words_of

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
    """Return the signature in a file's text.

    Raises:
        TypeError: It has a field that signatures do not have, or lacks one.
        ValueError: The `line`, `log` or `not_log` of a pattern has no word to search for, or only one that most logs contain.
        tomllib.TOMLDecodeError: It is not TOML.
    """
    fields: dict[str, Any] = tomllib.loads(text)
    patterns = tuple(_checked(name, Pattern(**pattern)) for pattern in fields.pop("patterns", ()))
    remedy = tuple(Remedy(**each) for each in fields.pop("remedy", ()))
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    return Signature(name=name, patterns=patterns, remedy=remedy, **lists)


def _checked(name: str, pattern: Pattern) -> Pattern:
    """Return a pattern whose expressions can be searched for.

    Raises:
        ValueError: One of them has no word that every match contains.
    """
    for expression in filter(None, (pattern.line, pattern.log, pattern.not_log)):
        try:
            words_of(expression)
        except NoWordError as error:
            what = f"{name}.toml: a pattern cannot be searched for: {error}; give it literal text that each of its lines contains"
            raise ValueError(what) from error
    return pattern
