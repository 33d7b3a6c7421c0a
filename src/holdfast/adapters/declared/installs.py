"""`pip install …` where it stands in commands: in a Dockerfile, a notebook, a shell script."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from holdfast.adapters.declared.lines import read_requirement
from holdfast.adapters.declared.requirements_file import RequirementsFile, load_requirements
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.text.places import Place

INSTALL: Final = re.compile(r"(?:\bpip3?(?:\.\d+)?|\bpip)\s+install\b|\buv\s+add\b")
FILES: Final = {"-r": False, "--requirement": False, "--requirements": False, "-c": True, "--constraint": True}
"""Options that name a file, and whether its requirements are constraints."""
VALUED: Final = frozenset(
    [
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "-t",
        "--target",
        "--prefix",
        "--root",
        "--python",
        "-p",
        "--torch-backend",
        "--index",
        "--default-index",
        "--trusted-host",
        "--timeout",
        "--retries",
        "--no-binary",
        "--only-binary",
        "--platform",
        "--python-version",
        "--cache-dir",
        "--proxy",
        "--cert",
        "--upgrade-package",
        "-P",
        "--config-settings",
        "--progress-bar",
        "--src",
        "--group",
        "--exclude-newer",
        *FILES,
    ]
)
EDITABLE: Final = frozenset({"-e", "--editable"})
SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "&", ">", ">>", "2>", "2>&1", "1>", "&>", "<"})
SHELL_CELL: Final = re.compile(r"^\s*%%(bash|sh|shell|script)\b")
MAGIC: Final = re.compile(r"^\s*[!%]{1,2}\s*(?=\S)")
FROM_PYTHON: Final = re.compile(r"(?im)^\s*FROM\s+(?:\S*/)?python:(\d+\.\d+)")
HAS_CEILING: Final = re.compile(r"<|[=~]=")
RUN: Final = re.compile(r"(?i)^\s*(?:RUN\b|&&)")


class Command(NamedTuple):
    """One command that installs something.

    Attributes:
        found: What it names.
        alone: Whether it installs no dependencies: `--no-deps`.
    """

    found: RequirementsFile
    alone: bool

    def only(self, names: frozenset[str]) -> "Command":
        """Return the command as if it named no other packages."""
        requirements = [each for each in self.found.requirements if each.name in names]
        return Command(RequirementsFile(requirements), self.alone)

    @property
    def is_exact(self) -> bool:
        """True if it names one version of each package."""
        return all(each.pin or each.url for each in self.found.requirements)

    @property
    def is_loose(self) -> bool:
        """True if it may replace the versions that are installed."""
        return not (self.is_exact or self.alone)

    @property
    def is_limited(self) -> bool:
        """True if it sets a limit to the version of a package."""
        return any(each.url or HAS_CEILING.search(each.specifier) for each in self.found.requirements)


def read_dockerfile(text: str, path: Path, ours: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a Dockerfile installs.

    Args:
        text: The file.
        path: Where it is; requirements files that it names are looked for beside it.
        ours: Normalized names of the packages that matter.
    """
    commands = [
        command
        for line, entry in shell_lines(text)
        if RUN.match(entry)
        for command in read_commands(entry, Place(str(path), line), path.parent)
    ]
    python = FROM_PYTHON.search(text)
    project = ProjectRequirements(kind="dockerfile", origin=path.name, path=str(path), python=_exactly(python))
    return _declared(commands, project, ours)


def read_cells(cells: Mapping[int, str], path: Path, ours: frozenset[str]) -> ProjectRequirements | None:
    """Return the requirements that a notebook's code cells install; None if they install nothing.

    Args:
        cells: Their sources, by number.
        path: The notebook.
        ours: Normalized names of the packages that matter.
    """
    commands = [
        command
        for number, cell in cells.items()
        for line, entry in shell_lines(cell)
        if MAGIC.match(entry) or SHELL_CELL.match(cell)
        for command in read_commands(MAGIC.sub("", entry), Place(str(path), line, cell=number), path.parent)
    ]
    project = ProjectRequirements(kind="notebook", origin="the notebook's install lines", path=str(path))
    return _declared(commands, project, ours) if commands else None


def shell_lines(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield each command line with the number of its first; lines that end in `\` go on in the next."""
    start, gathered = 0, ""
    for number, raw in enumerate(text.splitlines(), 1):
        start = start if gathered else number
        if gathered and raw.lstrip().startswith("#"):
            continue
        if raw.rstrip().endswith("\\"):
            gathered += raw.rstrip()[:-1] + " "
            continue
        yield start, gathered + raw
        gathered = ""
    if gathered:
        yield start, gathered


def read_commands(text: str, place: Place, folder: Path) -> Iterator[Command]:
    """Yield each command of a line that installs something.

    Args:
        text: The line, as a shell would take it.
        place: Where it stands.
        folder: Where requirements files that it names are looked for.
    """
    starts = [each.end() for each in INSTALL.finditer(text)]
    for start, end in pairwise((*starts, len(text))):
        words = list(_until_the_next(_words(text[start:end])))
        alone = bool({"--no-deps", "--no-dependencies"} & set(words))
        yield Command(_requirements(words, place, folder), alone)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError:  # a quote that is never closed
        return text.split()


def _until_the_next(words: list[str]) -> Iterator[str]:
    for word in words:
        if word in SEPARATORS:
            return
        yield word.rstrip(";")
        if word.endswith(";"):
            return


def _requirements(words: list[str], place: Place, folder: Path) -> RequirementsFile:
    found = RequirementsFile()
    for option, value in _options(words):
        if option in FILES:
            found.requirements += _from_file(folder / value, constrains=FILES[option])
        elif value and not option:
            found.add(read_requirement(value, place))
    return found


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each option that takes a value, with it; a requirement is the value of an empty option."""
    pending = iter(words)
    for word in pending:
        option, value = _split_option(word)
        if word in EDITABLE:
            yield "", next(pending, "")
        elif not word.startswith("-"):
            yield "", word
        elif option in VALUED:
            yield option, value or next(pending, "")


def _split_option(word: str) -> tuple[str, str]:
    """Return an option and the value after its `=`, which only a long option has."""
    option, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
    return option, value


def _from_file(path: Path, *, constrains: bool) -> list[Requirement]:
    """Return the requirements of a file; of a file of constraints, all as constraints."""
    requirements = load_requirements(path).requirements
    return [replace(each, constraint=True) for each in requirements] if constrains else requirements


def _declared(commands: Sequence[Command], declared: ProjectRequirements, ours: frozenset[str]) -> ProjectRequirements:
    last: dict[str, Requirement] = {}
    for index, command in enumerate(commands):
        doubt = _doubt(commands, index, ours)
        for each in command.found.requirements:
            before = last.get(each.name)
            if (
                before is None or each.specifier or each.url or each.unknown
            ):  # a bare name changes nothing that is there
                last[each.name] = each if each.name not in ours else _doubted(each, doubt)
    return replace(
        declared,
        requirements=tuple(last.values()),
        problems=tuple(each for command in commands for each in command.found.problems),
    )


def _doubted(each: Requirement, doubt: str) -> Requirement:
    return replace(each, unknown=doubt) if doubt and not (each.url or each.unknown) else each


def _doubt(commands: Sequence[Command], at: int, ours: frozenset[str]) -> str:
    """Return why the versions that a command installs cannot be known; empty if they can.

    A command without dependencies takes what it names and leaves the rest as it was. One after another, each may change
    what those before it brought, unless all name one version, or none sets a limit.
    """
    named = [command.only(ours) for command in commands]
    if named[at].is_exact:
        return "a later command may change it" if any(later.is_loose for later in named[at + 1 :]) else ""
    return _doubt_of_ranges([command for command in named if command.found.requirements])


def _doubt_of_ranges(commands: Sequence[Command]) -> str:
    """Return why it cannot be known which version a range gets; empty if it can."""
    if any(command.alone for command in commands):
        return "packages are installed without their dependencies"
    if len(commands) > 1 and any(command.is_limited for command in commands):
        return "each of several install commands may change what those before it brought"
    return ""


def _exactly(python: re.Match[str] | None) -> str:
    return f"=={python[1]}.*" if python else ""
