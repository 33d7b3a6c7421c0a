"""What is known of a failed rehearsal beside its class, and what is said of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.core.text.nearest import nearest
from holdfast.engine.rehearse.tracebacks import FailingLine

MISSING_KEY: Final = re.compile(r"^KeyError: '([^']+)'")
LISTED: Final = 8
"""Choices that are listed where none is near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of a failure beside its class.

    Attributes:
        error: The exception: `KeyError: 'answer'`.
        exited: Whether the script ended itself, by `sys.exit`.
        line: The line of the user's own code that it left; None if there is none.
        columns: The columns of the rows that the script has, or gave its trainer.
        loaded: The columns of the rows as the script loaded them.
        modules: The names of the model's linear modules.
        adapted: Whether the script makes an adapter.
        trainer: The trainer's class; empty if none was made.
        inspected: The words after `holdfast inspect` that show what the method makes of the rows.
        keeps_columns: Whether the trainer is to keep columns that the model does not take.
        sources: The texts of the user's files, by path.
        own_modules: Modules that are not found and are the project's own, each with the folder that it is in.
        target: What was rehearsed, as it was named.
        is_job: Whether that is a job file, whose script is generated.
        key: The key of the job file that is at fault, where that is known.
        place: Where that key stands.
    """

    error: str
    exited: bool = False
    line: FailingLine | None = None
    columns: tuple[str, ...] = ()
    loaded: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    adapted: bool = False
    trainer: str = ""
    inspected: str = ""
    keeps_columns: bool = False
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    own_modules: Mapping[str, str] = field(default_factory=dict[str, str])
    target: str = ""
    is_job: bool = False
    key: str = ""
    place: str = ""

    @property
    def at(self) -> str:
        """Where something is to be changed, after a blank: ` at train.py:12`; empty if that is not known."""
        return f" at {self.where}" if self.where else ""

    @property
    def where(self) -> str:
        """Where something is to be changed: `train.py:12`; empty if that is not known."""
        return self.line.where if self.line else self.place


@dataclass(frozen=True, slots=True)
class Advice:
    """What is said of one failure.

    Attributes:
        cause: Why it happens; empty if the class says it.
        fix: What to do.
    """

    cause: str
    fix: str


def describe_function(line: FailingLine) -> str:
    """Return a function as a sentence begins with it.

    >>> describe_function(FailingLine(path="a.py", line=3, function="Log.on_log", role="callback"))
    'The callback `Log.on_log`'
    """
    if line.called:
        return f"`{line.function}`, called by the {line.role} `{line.called}`,"
    if line.role:
        return f"The {line.role} `{line.function}`"
    return f"`{line.function}`" if line.function else "The script"


def listed(names: tuple[str, ...]) -> str:
    """Return names as a sentence has them: `a`, `b` and `c`."""
    *first, last = [f"`{name}`" for name in names[:LISTED]]
    more = " and others" if len(names) > LISTED else ""
    return (f"{', '.join(first)} and {last}" if first and not more else ", ".join([*first, last])) + more


def instead_of(column: str, columns: tuple[str, ...], verb: str) -> str:
    """Return the advice on a column that does not exist: write the nearest, or else read, or take, one of those that exist.

    >>> instead_of("anwser", ("question", "answer"), "Read"), instead_of("x", ("question",), "Take")
    ('Write `answer` instead of `anwser`', 'Take one of these columns')
    """
    near = nearest(column, columns)
    return f"Write `{near}` instead of `{column}`" if near else f"{verb} one of these columns"
