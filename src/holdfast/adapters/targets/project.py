"""A project's own settings of `check` and `plan`: `[tool.holdfast]` of a `pyproject.toml`, or a `holdfast.toml`.

The nearest file upward from a target that says anything of holdfast holds for it, alone: files further up are not
mixed in. What is given on the command line goes before.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import read_foreign
from holdfast.core.errors import GroupedError, Spot, UsageError
from holdfast.core.text.nearest import nearest
from holdfast.core.text.toml_text import parse_toml

FILES: Final = ("holdfast.toml", "pyproject.toml")
"""Where settings may stand; the first of one folder that has any holds."""
TABLE: Final = "tool.holdfast"
RESOLVERS: Final = ("catalog", "uv")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a project says of how it wants to be checked.

    Attributes:
        folder: Where its file stands; patterns speak of paths from here.
        file: The file; None if there is none.
        select: Beginnings of the rule codes to ask; all where it says nothing.
        ignore: Beginnings of the rule codes to leave out.
        per_file_ignores: The same for files whose path or name matches a pattern.
        exclude: Patterns, as in a `.gitignore`, of what is not looked for in folders.
        strict: Whether a rule that could not be asked counts as a failure.
        resolve: Who says which versions a script will get; None if it says nothing.
        prices: The file of prices for `plan`, from the folder; None if it names none.
    """

    folder: Path
    file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    strict: bool = False
    resolve: str | None = None
    prices: str | None = None

    @property
    def codes(self) -> tuple[str, ...]:
        """Every beginning of a code that it names."""
        return (*self.select, *self.ignore, *(code for _, codes in self.per_file_ignores for code in codes))

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """Return the beginnings of the codes to leave out of one file alone.

        >>> project = Project(folder=Path("/p"), per_file_ignores=(("tests/*", ("ARG", "IMP")),))
        >>> project.ignored_in("/p/tests/deep/test_a.py"), project.ignored_in("/p/a.py")
        (('ARG', 'IMP'), ())
        """
        whole = Path(path).absolute()
        inside = whole.relative_to(self.folder).as_posix() if whole.is_relative_to(self.folder) else whole.as_posix()
        more = (
            codes
            for pattern, codes in self.per_file_ignores
            if fnmatchcase(inside, pattern) or fnmatchcase(whole.name, pattern)
        )
        return tuple(code for codes in more for code in codes)


class Projects:
    """The projects of many files, each read once."""

    def __init__(self) -> None:
        self._known: dict[Path, Project] = {}

    def find(self, path: str) -> Project:
        """Return the project of a file or folder; of standard input, that of the working folder.

        Raises:
            GroupedError: Of a UsageError for everything wrong with the project's file.
        """
        start = Path() if path == "-" else Path(path)
        start = start.absolute()
        return self._nearest(start if start.is_dir() else start.parent, ends_at=None)

    def _nearest(self, folder: Path, ends_at: Path | None) -> Project:
        """Return the nearest project upward from a folder; where there is none, an empty one in the first folder."""
        if folder not in self._known:
            first = ends_at or folder
            found = _load(folder)
            if found is None and folder.parent != folder:
                found = self._nearest(folder.parent, first)
            self._known[folder] = found or Project(folder=first)
        return self._known[folder]


def _load(folder: Path) -> Project | None:
    """Return the project that a folder's files configure; None if they do not mention holdfast."""
    for name in FILES:
        try:
            text = read_foreign(folder / name).decode(errors="replace")
        except OSError:
            continue
        if name == "holdfast.toml" or TABLE in text:
            table = _table(text, folder / name)
            if table is not None:
                return parse_project(table, text, folder / name)
    return None


def _table(text: str, file: Path) -> Any:
    try:
        everything = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+), column (\d+)", str(error))
        spot = Spot(str(file), int(found[1]), int(found[2])) if found else Spot(str(file))
        problem = UsageError(f"{file.name} is not valid TOML: {error}", where=spot, fix="correct it")
        raise GroupedError(f"{file} cannot be read", [problem]) from error
    if file.name == "holdfast.toml":
        return everything
    tools = everything.get("tool", {})
    return tools.get("holdfast") if isinstance(tools, dict) else None


def parse_project(table: Any, text: str, file: Path) -> Project:
    """Return the settings of a project's table.

    Raises:
        GroupedError: Of a UsageError for every key that is unknown or has a value of the wrong type.
    """
    settings = table if isinstance(table, dict) else {TABLE: table}
    problems = [problem for key, value in settings.items() if (problem := _problem(key, value, text, file))]
    if problems:
        raise GroupedError(f"{file} has mistakes", problems)
    values = {key.replace("-", "_"): SETTINGS[key].read(value) for key, value in settings.items()}
    return Project(folder=file.parent, file=file, **values)


@dataclass(frozen=True, slots=True)
class ProjectSetting:
    """One key of the table.

    Attributes:
        is_right: Whether a value is of its type.
        read: Makes of it what a Project holds.
        example: How it is written.
    """

    is_right: Callable[[Any], bool]
    read: Callable[[Any], Any]
    example: str


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) and one for one in value)


def _are_lists(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_texts, value.values()))


def _read_lists(value: Mapping[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((pattern, tuple(codes)) for pattern, codes in value.items())


SETTINGS: Final[Mapping[str, ProjectSetting]] = {
    "select": ProjectSetting(_are_texts, tuple, 'select = ["ARG", "IMP"]'),
    "ignore": ProjectSetting(_are_texts, tuple, 'ignore = ["REP101"]'),
    "per-file-ignores": ProjectSetting(_are_lists, _read_lists, 'per-file-ignores = {"tests/*" = ["ARG"]}'),
    "exclude": ProjectSetting(_are_texts, tuple, 'exclude = ["old/", "*_generated.py"]'),
    "strict": ProjectSetting(lambda value: isinstance(value, bool), bool, "strict = true"),
    "prices": ProjectSetting(lambda value: isinstance(value, str) and bool(value), str, 'prices = "prices.toml"'),
    "resolve": ProjectSetting(lambda value: value in RESOLVERS, str, 'resolve = "uv"'),
}


def _problem(key: str, value: Any, text: str, file: Path) -> UsageError | None:
    spot = Spot(str(file), _line_of(key, text))
    if key == TABLE:
        return UsageError(f"`{TABLE}` is not a table", where=spot, fix=f"write `[{TABLE}]` and its keys under it")
    if key not in SETTINGS:
        meant = nearest(key.replace("_", "-"), tuple(SETTINGS))
        fix = f"did you mean `{meant}`?" if meant else f"its keys are {', '.join(SETTINGS)}"
        return UsageError(f"`check` has no setting `{key}`", where=spot, fix=fix)
    setting = SETTINGS[key]
    if setting.is_right(value):
        return None
    return UsageError(f"`{key}` cannot be {value!r}", where=spot, fix=f"write it such as `{setting.example}`")


def _line_of(key: str, text: str) -> int | None:
    """Return the line that a key of the table stands in, as far as a plain search finds it."""
    begun = text.find(f"[{TABLE}") if f"[{TABLE}" in text else 0
    found = re.compile(rf"^[ \t]*(?:\[{TABLE}\.)?[\"']?{re.escape(key)}[\"']?[ \t]*[=\].]", re.MULTILINE).search(
        text, begun
    )
    return text.count("\n", 0, found.start()) + 1 if found else None
