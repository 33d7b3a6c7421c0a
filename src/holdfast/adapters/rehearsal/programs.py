"""The program that a target comes to: a script's text with its arguments, whatever was named."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.readers.command_line import CommandLine, read_commands, read_exports
from holdfast.adapters.readers.command_line.launched import REQUIREMENTS
from holdfast.adapters.readers.command_line.programs import StartedCommand
from holdfast.adapters.readers.command_line.words import Word
from holdfast.adapters.readers.script.notebook_cells import clean_cell
from holdfast.adapters.targets import read_text, require_takes_arguments
from holdfast.adapters.targets.overrides import require_no_overrides
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.job.notebook import read_cells
from holdfast.core.job.scenario import ScenarioChoices
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.text.places import Place

COMMAND: Final = "--"
FLAG: Final = "--"
TRL: Final = "trl"
NAME_SCRIPT: Final = "name the script, with its arguments after `--`"
VARIABLES: Final = "environment.variables."
NUMBERED: Final = frozenset(
    {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT"}
)
"""Variables of several processes, of which a rehearsal plays one."""
ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
OWN_MODULES: Final = "trl.scripts."
"""The modules of TRL's own scripts."""
OWN: Final = "trl:"
"""What a script of TRL's own is named with; where it lies is known in its environment alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is run.

    Attributes:
        path: The script's path; `trl:sft` for one that comes with TRL.
        source: Its text; empty for one of TRL's.
        arguments: Its own arguments.
        flags: Where a command gives each of its flags.
        module: The module that it is run as, by `python -m`; empty: it is run by its path.
        local: Whether it is known to run on this machine.
        launched_by: Words of its launchers, in order: what they do is not rehearsed.
        added: Requirements that a launcher installs beside those of the script.
        python: The interpreter that a job names for it; empty: it is looked for.
        variables: Environment variables that a job gives it.
        job: The job file that it was rendered from.
        scenario: What the scenario of this job changed in it.
        gguf: The quantizations of the GGUF files that its job makes.
    """

    path: str
    source: str
    arguments: tuple[str, ...] = ()
    flags: Mapping[str, Place] = field(default_factory=dict[str, Place])
    module: str = ""
    local: bool = False
    launched_by: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    python: str = ""
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    job: Document | None = None
    scenario: ScenarioChoices | None = None
    gguf: tuple[str, ...] = ()


def read_program(target: str, arguments: Sequence[str], sets: Sequence[str]) -> Program:
    """Return the program that a script, a notebook or a command line comes to.

    Args:
        target: A script, a notebook, a shell script with one training in it, `-`, or `--` for a command line.
        arguments: The script's own arguments, or the words of the command line.
        sets: Overrides; `where.backend=local` says that it will run on this machine.

    Raises:
        UsageError: There is no such file, nothing in it trains, or it takes no overrides or arguments.
    """
    require_no_overrides(target, sets)
    local = bool(sets)
    if target == COMMAND:
        return _shell_program(shlex.join(arguments), "the command line", local=local)
    if arguments:
        require_takes_arguments(target)
    text = read_text(target)
    kind = target_kind(target)
    if kind is TargetKind.COMMANDS:
        return _shell_program(text, target, local=local)
    if kind is TargetKind.NOTEBOOK:
        text = _cells_source(text, target)
    return Program(path=target, source=text, arguments=tuple(arguments), local=local)


def _cells_source(text: str, where: str) -> str:
    """Return the cells of a notebook as one program.

    Raises:
        UsageError: It has none.
    """
    cells = read_cells(text)
    if not cells:
        raise UsageError(
            f"{where} is not a notebook with a code cell", where=where, fix="see whether it opens in Jupyter"
        )
    return "\n".join(clean_cell(each) for each in cells.values())


def _shell_program(text: str, where: str, *, local: bool) -> Program:
    """Return the first training program that a shell script starts, with the variables that it gets.

    Raises:
        UsageError: It runs nothing that trains, or words of it are known to the shell alone.
    """
    unfound = ""
    for line in read_commands(text, where, os.environ):
        program = line.program
        if program is None:
            continue
        variables = _variables(line, text, where)
        if started := _started(program, variables):
            _require_known([program.name, *program.arguments], where)
            return _started_program(line, program, started, variables, local=local)
        if program.kind == "module":
            unfound = program.name.text
    module = f": the module `{unfound}` lies neither in this folder nor in `src` or PYTHONPATH" if unfound else ""
    raise UsageError(f"{where} runs no script of Python and no command of TRL{module}", where=where, fix=NAME_SCRIPT)


def _require_known(words: Sequence[Word], where: str) -> None:
    """Check that the shell computes none of the words.

    Raises:
        UsageError: It computes one.
    """
    if unknown := next((word for word in words if not word.known), None):
        raise UsageError(f"`{unknown.text}` is computed by the shell", where=where, fix=NAME_SCRIPT)


def _started_program(
    line: CommandLine, program: StartedCommand, started: "StartedFile", variables: Mapping[str, str], *, local: bool
) -> Program:
    """Return the program of a command whose words are all known."""
    given: dict[str, Any] = {
        "local": local,
        "launched_by": _launchers(line),
        "variables": variables,
        "flags": _flags(program.arguments),
        "added": tuple(map(str, line.launch.values.get(REQUIREMENTS, ()))),
    }
    rest = tuple(word.text for word in program.arguments)
    if started.path == TRL and rest:
        return Program(path=OWN + rest[0], source="", arguments=rest[1:], **given)
    source = "" if started.path.startswith(OWN) else read_text(started.path)
    return Program(path=started.path, source=source, arguments=rest, module=started.module, **given)


def _flags(words: Sequence[Word]) -> dict[str, Place]:
    """Return where each flag stands."""
    return {word.text.partition("=")[0]: word.place for word in words if word.text.startswith(FLAG)}


@dataclass(frozen=True, slots=True)
class StartedFile:
    """The file that a command starts.

    Attributes:
        path: Its path; `trl` for TRL's command line, `trl:sft` for a script of TRL's own.
        module: The module that it is run as; empty if it is run by its path.
    """

    path: str
    module: str = ""


def _started(program: StartedCommand, variables: Mapping[str, str]) -> StartedFile | None:
    """Return the file that a command starts; None if it is none that is rehearsed."""
    name = program.name.text
    if program.kind == "module":
        own = name.removeprefix(OWN_MODULES)
        return StartedFile(OWN + own) if own != name else _find_module(name, variables)
    return StartedFile(name) if name.endswith(".py") or name == TRL else None


def _find_module(name: str, variables: Mapping[str, str]) -> StartedFile | None:
    """Return the file of a module of the user's, as `python -m` finds it; a package is started by its `__main__`."""
    paths = variables.get("PYTHONPATH", os.environ.get("PYTHONPATH", "")).split(os.pathsep)
    for folder in map(Path, ("", *filter(None, paths), "src")):
        for module in (name, f"{name}.__main__"):
            file = folder.joinpath(*module.split(".")).with_suffix(".py")
            if file.is_file():
                return StartedFile(os.fspath(file), module)
    return None


def _launchers(line: CommandLine) -> tuple[str, ...]:
    own = {id(word) for word in line.launch.words}
    return tuple(word.text for word in line.words if id(word) not in own and not ASSIGNMENT.fullmatch(word.text))


def _variables(line: CommandLine, text: str, where: str) -> dict[str, str]:
    """Return the variables that a command is given, but for those by which launchers number processes."""
    variables = {name: value for name, value in line.launch.values.items() if name.startswith(VARIABLES)}
    own = {name.removeprefix(VARIABLES): value for name, value in variables.items() if isinstance(value, str)}
    return {
        name: value for name, value in (read_exports(text, where, os.environ) | own).items() if name not in NUMBERED
    }
