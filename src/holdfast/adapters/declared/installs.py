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
from holdfast.core.requirement import ProjectRequirements, Requirement
from holdfast.core.text import Place

INSTALL: Final = re.compile(r"(?:\bpip3?(?:\.\d+)?|\bpip)\s+install\b|\buv\s+add\b")
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
    ]
)
SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "&", ">", ">>", "2>", "2>&1", "1>", "&>", "<"})
FILES: Final = {"-r": False, "--requirement": False, "--requirements": False, "-c": True, "--constraint": True}
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
    pending = iter(words)
    for word in pending:
        option, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if option in FILES:
            file = folder / (value or next(pending, ""))
            found.requirements += [
                replace(each, constraint=FILES[option] or each.constraint)
                for each in load_requirements(file).requirements
            ]
        elif word in {"-e", "--editable"} or not word.startswith("-"):
            target = next(pending, "") if word.startswith("-") else word
            found.add(read_requirement(target, place) if target else None)
        elif option in VALUED and not value:
            next(pending, None)
    return found


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
    named = [[each for each in command.found.requirements if each.name in ours] for command in commands]
    exact = [all(each.pin or each.url for each in ones) for ones in named]
    loose_later = any(
        not exact[later] and not commands[later].alone for later in range(at + 1, len(commands)) if named[later]
    )
    if exact[at]:
        return "a later command may change it" if loose_later else ""
    if any(command.alone for command, ones in zip(commands, named, strict=True) if ones):
        return "packages are installed without their dependencies"
    limited = any(each.url or HAS_CEILING.search(each.specifier) for ones in named for each in ones)
    if limited and sum(map(bool, named)) > 1:
        return "each of several install commands may change what those before it brought"
    return ""


def _exactly(python: re.Match[str] | None) -> str:
    return f"=={python[1]}.*" if python else ""
