"""The program that a target comes to: a script's text with its arguments, whatever was named."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.adapters.overrides import parse_set
from holdfast.adapters.readers.command_line import CommandLine, read_commands
from holdfast.adapters.readers.command_line.launched import REQUIREMENTS
from holdfast.adapters.readers.notebook import clean_cell
from holdfast.adapters.targets import read_text
from holdfast.core.errors import UsageError
from holdfast.core.notebook import read_cells

COMMAND: Final = "--"
LOCAL: Final = ("where.backend", "local")
SHELLS: Final = (".sh", ".bash", ".slurm", ".sbatch")
TRL: Final = "trl"
OWN: Final = "trl:"
"""What a script of TRL's own is named with; where it lies is known in its environment alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is run.

    Attributes:
        path: The script's path; `trl:sft` for one that comes with TRL.
        source: Its text; empty for one of TRL's.
        arguments: Its own arguments.
        local: Whether it is known to run on this machine.
        launched_by: Words of its launchers, in order: what they do is not rehearsed.
        added: Requirements that a launcher installs beside those of the script.
        python: The interpreter that a job names for it; empty: it is looked for.
        variables: Environment variables that a job gives it.
    """

    path: str
    source: str
    arguments: tuple[str, ...] = ()
    local: bool = False
    launched_by: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    python: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


def read_program(target: str, arguments: Sequence[str], sets: Sequence[str]) -> Program:
    """Return the program that a script, a notebook or a command line comes to.

    Args:
        target: A script, a notebook, a shell script with one training in it, `-`, or `--` for a command line.
        arguments: The script's own arguments, or the words of the command line.
        sets: Overrides; `where.backend=local` says that it will run on this machine.

    Raises:
        UsageError: There is no such file, or nothing in it trains.
    """
    local = LOCAL in {_plain(each) for each in sets}
    suffix = Path(target).suffix
    if target == COMMAND:
        return _of_line(read_commands(shlex.join(arguments), "command line"), "the command line", local=local)
    text = read_text(target)
    if suffix in SHELLS:
        return _of_line(read_commands(text, target), target, local=local)
    if suffix == ".ipynb":
        text = "\n".join(clean_cell(each) for each in read_cells(text).values())
    return Program(path=target, source=text, arguments=tuple(arguments), local=local)


def _of_line(lines: Iterable[CommandLine], where: str, *, local: bool) -> Program:
    """Return what a command line runs.

    Raises:
        UsageError: It runs nothing that trains, or words of it are known to the shell alone.
    """
    fix = "name the script, with its arguments after `--`"
    for line in lines:
        program = line.program
        if program is None or not (program.name.text.endswith(".py") or program.name.text == TRL):
            continue
        words = [program.name, *program.arguments]
        if unknown := next((word for word in words if not word.known), None):
            raise UsageError(f"`{unknown.text}` is known to the shell alone", where=where, fix=fix)
        launchers = tuple(word.text for word in line.words[: len(line.words) - len(line.launch.words)])
        name, *rest = (word.text for word in words)
        added = tuple(map(str, line.launch.values.get(REQUIREMENTS, ())))
        if name == TRL and rest:
            return Program(path=OWN + rest[0], source="", arguments=tuple(rest[1:]), local=local, added=added)
        return Program(
            path=name,
            source=read_text(name),
            arguments=tuple(rest),
            local=local,
            launched_by=launchers,
            added=added,
        )
    raise UsageError(f"{where} runs no script of Python and no command of TRL", where=where, fix=fix)


def _plain(text: str) -> tuple[str, str]:
    """Return an override's key and value as text."""
    edit = parse_set(text).edit
    return str(edit.key), str(edit.value)
