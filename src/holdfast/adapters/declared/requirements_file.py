"""`requirements.txt` and its kin, as pip reads them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from holdfast.adapters.declared.files import load_text
from holdfast.adapters.declared.lines import read_requirement
from holdfast.core.environment.requirement import Requirement, RequirementProblem
from holdfast.core.text.places import Place

INCLUDE: Final = re.compile(r"^(?:-r|--requirement)[\s=]*(\S.*)$|^(?:-c|--constraint)[\s=]*(\S.*)$")
EDITABLE: Final = re.compile(r"^(?:-e|--editable)[\s=]*")
COMMENT: Final = re.compile(r"(^|\s+)#.*$")
DEEPEST: Final = 10
"""Includes within includes."""


@dataclass(slots=True)
class RequirementsFile:
    """What was found in one file and those that it includes.

    Attributes:
        requirements: In order.
        problems: What could not be understood.
    """

    requirements: list[Requirement] = field(default_factory=list[Requirement])
    problems: list[RequirementProblem] = field(default_factory=list[RequirementProblem])

    def add(self, each: Requirement | RequirementProblem | None) -> None:
        """Add either."""
        if isinstance(each, Requirement):
            self.requirements.append(each)
        elif each is not None:
            self.problems.append(each)


def load_requirements(path: Path) -> RequirementsFile:
    """Return the content of a requirements file and of all that it includes."""
    found = RequirementsFile()
    text = load_text(path)
    if text is not None:
        _read(text, path, str(path), found, (path.resolve(),))
    return found


def _read(
    text: str, path: Path, name: str, file: RequirementsFile, within: tuple[Path, ...], *, limits: bool = False
) -> None:
    for line, column, entry in logical_lines(text):
        place = Place(name, line, column, line, column + len(entry))
        include = INCLUDE.match(entry)
        if include:
            _include(include[1] or include[2], path, place, file, within, limits=limits or include[1] is None)
            continue
        wanted = EDITABLE.sub("", entry)
        if not wanted.startswith("-"):
            each = read_requirement(wanted, place)
            file.add(replace(each, constraint=True) if limits and isinstance(each, Requirement) else each)


def _include(
    target: str, path: Path, place: Place, file: RequirementsFile, within: tuple[Path, ...], *, limits: bool
) -> None:
    other = (path.parent / target.strip("\"' ")).resolve()
    if other in within or len(within) > DEEPEST or "://" in target:
        return
    text = load_text(other)
    if text is None:
        file.add(RequirementProblem(f"{target} cannot be read", place, hides_more=True))
    else:
        _read(text, other, str(Path(place.path).parent / target), file, (*within, other), limits=limits)


def logical_lines(text: str) -> Iterator[tuple[int, int, str]]:
    r"""Yield each logical line with its line number and column; a line that ends in `\` continues in the next.

    >>> list(logical_lines("a # why\n\n b \\\n  c\n"))
    [(1, 1, 'a'), (3, 2, 'b   c')]
    """
    start, gathered = 0, ""
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        start = start if gathered else number
        line = COMMENT.sub("", raw)
        if line.endswith("\\"):
            gathered += line[:-1] or " "
            continue
        entry = gathered + line
        if entry.strip():
            yield start, len(entry) - len(entry.lstrip()) + 1, entry.strip()
        gathered = ""
    if gathered.strip():
        yield start, 1, gathered.strip()
