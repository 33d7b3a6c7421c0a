"""The secrets that this process knows, and texts without them: for whatever leaves it, to a disk or to a terminal.

Covered: secrets by shape; values of this process's environment, and of jobs that it has read. Not covered: what the Python API returns.
"""

import os
from collections.abc import Iterable
from typing import Any, Final

from holdfast.core.text.redact import SHORTEST, redact, redact_parts, secrets_of

MASKED: Final = set[str]()
"""Secrets that were read and that the environment does not name. It only grows: a secret stays one."""


def mask(values: Iterable[str]) -> None:
    """Have values taken out of all that leaves this process; short ones and words stand elsewhere too, and stay."""
    MASKED.update(value for value in values if len(value) >= SHORTEST and not value.isalpha())


def environment_secrets() -> tuple[str, ...]:
    """The values of this process's environment that are secret, longest first; other threads may change variables meanwhile."""
    values = ((name, os.environ.get(name)) for name in list(os.environ))
    return secrets_of({name: value for name, value in values if value is not None})


def known_secrets() -> tuple[str, ...]:
    """The values that are secret in this process, whatever they look like."""
    return (*environment_secrets(), *MASKED)


def redacted(text: str) -> str:
    """Return a text without secrets."""
    return redact(text, known_secrets())


def redacted_parts(value: Any) -> Any:
    """Return a value that is about to become JSON without secrets."""
    return redact_parts(value, known_secrets())
