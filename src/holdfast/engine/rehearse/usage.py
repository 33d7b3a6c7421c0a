"""Arguments that a script wants and did not get: it ended before anything else, and nothing about the job is known yet."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.engine.rehearse.naming import because_of

REFUSED: Final = 2
"""The exit code of argparse and click for words that they do not take."""
USAGE: Final = re.compile(r"^usage: ", re.IGNORECASE | re.MULTILINE)
ERROR: Final = re.compile(r"^(?:\S+: error|Error): (?P<argparse>.+)$|^│ (?P<typer>\S.*?\S) +│$", re.MULTILINE)
LACKING: Final = re.compile(
    r"^the following arguments are required: (.+)$|^Missing (?:option|argument|parameter) '([^']+)'"
)
ARGV: Final = re.compile(r"\bsys\.argv\[(\d)\]")
NO_ITEM: Final = "IndexError: list index out of range"


@dataclass(frozen=True, slots=True)
class UsageProblem:
    """Why a script did not start with the arguments that it was given.

    Attributes:
        what: What is wrong, as it follows the script's name: "requires the argument `--model`".
        wanted: The arguments that it wants and did not get; none if it refuses another.
    """

    what: str
    wanted: tuple[str, ...] = ()


def find_usage_problem(played: PartResult, arguments: Sequence[str]) -> UsageProblem | None:
    """Return why a script did not start with its arguments; None if it started, or something else is the matter.

    Args:
        played: The process.
        arguments: What the script was given.
    """
    log = played.logs.get("stderr.log", "")
    if played.code == REFUSED and USAGE.search(log) and (found := list(ERROR.finditer(log))):
        message = found[-1]["argparse"] or found[-1]["typer"]
        return UsageProblem(_what(message), _lacking(message))
    reads = [int(number) for number in ARGV.findall(log)]
    if because_of(played) == NO_ITEM and reads and reads[-1] > len(arguments):
        wanted = tuple(f"argument {number}" for number in range(len(arguments) + 1, reads[-1] + 1))
        return UsageProblem(f"reads `sys.argv[{reads[-1]}]`, which it was not given", wanted)
    return None


def _what(message: str) -> str:
    """Return the usage error without the script's name."""
    if not (names := _lacking(message)):
        return f"refuses its arguments: {message}"
    return f"requires the argument{'s' if len(names) > 1 else ''} {', '.join(f'`{name}`' for name in names)}"


def _lacking(message: str) -> tuple[str, ...]:
    """Return the arguments that a parser lacks.

    >>> _lacking("the following arguments are required: --model, data")
    ('--model', 'data')
    >>> _lacking("Missing option '--model'.")
    ('--model',)
    """
    found = LACKING.match(message)
    return tuple((found[1] or found[2]).split(", ")) if found else ()


def spell_arguments(wanted: Sequence[str]) -> str:
    """Return the arguments as they are typed, with a gap for each value.

    >>> spell_arguments(("-m/--model", "data"))
    '--model … <data>'
    """
    names = [each.split("/")[-1].split(" / ")[-1] for each in wanted]
    return " ".join(f"{name} …" if name.startswith("-") else f"<{name.lower()}>" for name in names)
