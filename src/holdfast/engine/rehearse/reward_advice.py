"""The advice on a reward function that takes completions, or the columns of its rows, for something else than they are."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.engine.rehearse.circumstances import Advice, Circumstances, describe_function, instead_of, listed

REWARD: Final = "reward function"
"""The role of such a function."""
MISSING: Final = re.compile(r"^TypeError: \S+\(\) missing \d+ required positional arguments?: '(?P<column>\w+)'")
AS_TEXT: Final = re.compile(
    r"^(?:AttributeError: '(?P<kind>list|dict)' object has no attribute '(?P<name>\w+)'"
    r"|TypeError: expected string or bytes-like object, got '(?:list|dict)')"
)
AS_MESSAGES: Final = re.compile(r"^TypeError: string indices must be integers")
READ: Final = '`completion[0]["content"]`'


def advise_reward(about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on a reward function that was called in vain, or cannot use what it was called with."""
    line, error = about.line, about.error
    if line is None or line.role != REWARD:
        return
    if column := _missing_column(about):
        yield Advice(
            f"{describe_function(line)} takes `{column}`, and the rows have no such column; they have {listed(about.columns)}.",
            f"{instead_of(column, about.columns, 'Take')}{about.at}.",
        )
    elif _takes_text(error):
        yield Advice(
            f"{describe_function(line)} raises {error.strip()}. Where prompts are conversations, completions are lists of messages.",
            f"Read the text of a completion, {READ}{about.at}.",
        )
    elif AS_MESSAGES.match(error):
        yield Advice(
            f"{describe_function(line)} raises {error.strip()}. Where prompts are texts, completions are texts, not lists of messages.",
            f"Use a completion as it is{about.at}, or make each prompt a list of messages.",
        )


def _missing_column(about: Circumstances) -> str:
    """Return the argument that a function lacks, if it is no column of the rows; empty if it is one, or none are known."""
    missing = MISSING.match(about.error)
    if not missing or not about.columns or missing["column"] in about.columns:
        return ""
    return missing["column"]


def _takes_text(error: str) -> bool:
    """True if an exception says that a list was used as a text."""
    found = AS_TEXT.match(error)
    return found is not None and (found["name"] is None or hasattr(str, found["name"]))
