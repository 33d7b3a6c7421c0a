"""Values that lines of a log hold: what conditions compare them as, and how people read them."""

import ast
import re
import string
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN, evaluate

SIZES: Final = {
    **{unit: 1024.0**power for power, units in enumerate(["", "k", "m", "g", "t"]) for unit in (f"{units}ib", units)},
    **{f"{unit}b": 1000.0**power for power, unit in enumerate(["", "k", "m", "g", "t"])},
    "bytes": 1.0,
    "byte": 1.0,
}
"""Bytes by unit, in lower case. A bare `G` is 1024 cubed, as torch and Slurm mean it."""
TIMES: Final = {
    **dict.fromkeys(("ms", "milliseconds", "millisecond"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
MEASURE: Final = re.compile(r"([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-z]*)", re.IGNORECASE)
CLOCK: Final = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)(?:\.\d+)?")
ABSENT: Final = re.compile(r"\{!(\w+)\}")
"""Marks a sentence that is shown if a value is missing."""
PRESENT: Final = re.compile(r"\{\?(\w+)\}")
"""Marks a sentence that is shown if a value is there, without the value."""
SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+(?=[A-Z`{\"'(]|vLLM|llama\.cpp|torchrun|pip\b|uv\b)")


def convert(text: str | None) -> Any:
    """Return the value of a text in a log: bytes for a size, seconds for a time, a number, or the text itself.

    >>> convert("2.00 GiB"), convert("1800000 ms"), convert("1,024"), convert("1:30:00"), convert("cuda:0"), convert(None)
    (2147483648.0, 1800.0, 1024, 5400, 'cuda:0', None)
    """
    if text is None:
        return None
    if clock := CLOCK.fullmatch(text.strip()):
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    measure = MEASURE.fullmatch(text.strip())
    if measure is None:
        return text
    return _amount(measure[1].replace(",", ""), measure[2], text)


def _amount(digits: str, unit: str, text: str) -> Any:
    """Return a number in bytes or seconds, as its unit says; the text where the unit is of another kind."""
    factor = 1.0 if not unit else SIZES.get(unit.lower(), TIMES.get(unit.lower()))
    if factor is None:
        return text
    number = float(digits)
    if not unit and number.is_integer() and "." not in digits:
        return int(number)
    return number * factor


@cache
def _parsed(condition: str) -> ast.expr:
    return ast.parse(condition.strip(), mode="eval").body


def holds(condition: str, values: Mapping[str, str | None]) -> bool:
    """True if a pattern's condition is true of what its groups matched; what is not known is not true.

    Args:
        condition: As Python writes it: `total - allocated < tried`.
        values: What each group matched; None of one that took no part.

    >>> holds("mine > 0.5 * total", {"mine": "20.99 GiB", "total": "22.06 GiB"})
    True
    """
    names = {name: convert(value) for name, value in values.items()}

    def lookup(node: ast.expr) -> Any:
        return names[node.id] if isinstance(node, ast.Name) and node.id in names else UNKNOWN

    result = evaluate(_parsed(condition), lookup)
    return not isinstance(result, Unknown) and bool(result)


def is_met(condition: str, values: Mapping[str, str | None]) -> bool:
    """True if a condition is true, where what the log did not give is None; an empty one always is.

    >>> is_met("older and not new", {"older": "trl 0.19.1"}), is_met("suspect >= 0.1", {}), is_met("", {})
    (True, False, True)
    """
    if not condition:
        return True
    named = {node.id for node in ast.walk(_parsed(condition)) if isinstance(node, ast.Name)}
    return holds(condition, {**dict.fromkeys(named), **values})


def fill(text: str, values: Mapping[str, str | None]) -> str:
    """Return a text with `{name}` replaced by what the log gave; a sentence with one it did not give is left out.

    A sentence with `{!name}` is for the case that the log did not give it, one with `{?name}` for the case that it did. Backslashes that end lines are the file's, and are not in the text.
    Braces that are no name stay as they are.

    >>> fill("The GPU has {total}. {tried} more were asked for.", {"total": "22 GiB"})
    'The GPU has 22 GiB.'
    >>> fill("{?method}Name the column. Go on.", {}), fill("{?method}Name the column. Go on.", {"method": "sft"})
    ('Go on.', 'Name the column. Go on.')
    >>> fill("Continue {run}. {!run}Start it again.", {"run": "it"}), fill("Continue {run}. {!run}Start it again.", {})
    ('Continue it.', 'Start it again.')
    """
    paragraphs = (_fill_paragraph(each, values) for each in text.strip().split("\n"))
    return "\n".join(each for each in paragraphs if each is not None).strip()


def _fill_paragraph(text: str, values: Mapping[str, str | None]) -> str | None:
    given = _given(values)
    fitting = (
        each
        for each in SENTENCE.split(text)
        if not (names_in(each) | set(PRESENT.findall(each))) - given and not set(ABSENT.findall(each)) & given
    )
    kept = [PRESENT.sub("", ABSENT.sub("", sentence)) for sentence in fitting]
    if not kept:
        return None
    return re.sub(r"\{(\w+)\}", lambda name: values.get(name[1]) or name[0], " ".join(kept))


def names_in(text: str) -> set[str]:
    """Return the names of the values that a text speaks of."""
    return {name for name in re.findall(r"\{(\w+)\}", text) if name[0] in string.ascii_letters}


def _given(values: Mapping[str, str | None]) -> set[str]:
    return {name for name, value in values.items() if value}
