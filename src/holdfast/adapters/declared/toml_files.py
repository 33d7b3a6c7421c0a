"""Requirements that stand in TOML: a script's header, `pyproject.toml`, lock files, a Pipfile."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.declared.files import Finder
from holdfast.adapters.declared.lines import read_requirement
from holdfast.core.environment.requirement import ProjectRequirements, Requirement, RequirementProblem
from holdfast.core.environment.script_header import BLOCK
from holdfast.core.environment.versions import normalized
from holdfast.core.text.places import LineIndex, Place
from holdfast.core.text.toml_text import parse_toml

OPENING: Final = re.compile(r"(?m)^# /// script[ \t]*\r?$")
COMMENT_MARK: Final = re.compile(r"(?m)^# ?")
WHERE: Final = re.compile(r"\(at line (\d+), column (\d+)\)|\(at end of document\)")
BARE: Final = re.compile(r"^\d")
CARET: Final = re.compile(r"\^\D*\d")
TILDE: Final = re.compile(r"~(?!=)\D*\d")
FROM: Final = ("git", "url", "path", "workspace")


def read_header_block(text: str, path: str) -> ProjectRequirements | None:
    """Return the requirements in a script's header; None if it has no header.

    Args:
        text: The script.
        path: Its name, for places.
    """
    blocks = list(BLOCK.finditer(text))
    opening = OPENING.search(text)
    if opening is None:
        return None
    lines = LineIndex(text)
    place = lines.place(path, opening.start(), opening.end())
    if not blocks:
        return _broken_header("the script header is not closed by a line `# ///`", place)
    if len(blocks) > 1:
        again = lines.place(path, blocks[1].start(), blocks[1].start() + len("# /// script"))
        return _broken_header("the script has a second header", again)
    start = blocks[0].start("content")
    content = COMMENT_MARK.sub("", blocks[0]["content"])
    try:
        table = parse_toml(content)
    except tomllib.TOMLDecodeError as error:
        line = WHERE.search(str(error))
        first = lines.position(start)[0]
        at = Place(path, first + int(line[1]) - 1, int(line[2]) + 2) if line and line[1] else place
        return _broken_header(f"the script header is not valid TOML: {error}", at)
    return _header(table, Finder(text, path, start=start, end=blocks[0].end()), path)


def _broken_header(what: str, place: Place) -> ProjectRequirements:
    unsure = "the script header cannot be read"
    return ProjectRequirements(
        kind="header",
        origin="script header",
        path=place.path,
        problems=(RequirementProblem(what, place),),
        unsure=unsure,
    )


def _header(table: Mapping[str, Any], finder: Finder, path: str) -> ProjectRequirements:
    found = list(read_list(table.get("dependencies", []), "dependencies", finder))
    uv = _table(_table(table, "tool"), "uv")
    python = table.get("requires-python", "")
    requirements = from_sources([each for each in found if isinstance(each, Requirement)], uv)
    return ProjectRequirements(
        kind="header",
        origin="script header",
        path=path,
        requirements=(*requirements, *_limits(uv, finder)),
        python=python if isinstance(python, str) else "",
        before=_before(uv),
        problems=tuple(each for each in found if isinstance(each, RequirementProblem)),
        unsure="`override-dependencies` replaces what libraries need" if uv.get("override-dependencies") else "",
    )


def read_list(values: Any, name: str, finder: Finder) -> Iterator[Requirement | RequirementProblem]:
    """Yield each requirement of a list of texts, or what is wrong with it.

    Args:
        values: The list, as it was parsed.
        name: Its key, for messages.
        finder: Finds where each stands.
    """
    if not isinstance(values, list):
        yield RequirementProblem(f"`{name}` is not a list of requirements", finder.place(name))
        return
    for value in values:
        if not isinstance(value, str):
            yield RequirementProblem(f"{value!r} in `{name}` is not a string", finder.place(str(value)), str(value))
        elif each := read_requirement(value, finder.place(value)):
            yield each


def from_sources(requirements: Iterable[Requirement], uv: Mapping[str, Any]) -> Iterator[Requirement]:
    """Yield the requirements, those that `[tool.uv.sources]` takes from elsewhere with where that is."""
    sources: dict[str, Any] = {normalized(name): source for name, source in _table(uv, "sources").items()}
    for each in requirements:
        url = _url(sources.get(each.name))
        if not url:
            yield each
            continue
        yield Requirement(
            name=each.name, extras=each.extras, marker=each.marker, url=url, text=each.text, place=each.place
        )


def read_pyproject(text: str, path: Path, ours: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a `pyproject.toml` declares.

    Args:
        text: The file.
        path: Where it is.
        ours: Normalized names of the packages that matter: an optional group counts if it names one.
    """
    finder = Finder(text, str(path))
    try:
        table = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        problem = RequirementProblem(f"no TOML: {error}", Place(str(path)), hides_more=True)
        return ProjectRequirements(
            kind="project", origin="pyproject.toml", path=str(path), problems=(problem,), unsure="it is not valid TOML"
        )
    project, tool = _table(table, "project"), _table(table, "tool")
    poetry, uv = _table(tool, "poetry"), _table(tool, "uv")
    found = [*read_list(project.get("dependencies", []), "dependencies", finder), *_poetry(poetry, finder)]
    found += _optional(project, table, found, ours, finder)
    found += _itself(project or poetry, ours, finder)
    requirements = from_sources([each for each in found if isinstance(each, Requirement)], uv)
    python = project.get("requires-python") or _poetry_specifier(_table(poetry, "dependencies").get("python", ""))
    return ProjectRequirements(
        kind="project",
        origin="pyproject.toml",
        path=str(path),
        requirements=(*requirements, *_limits(uv, finder)),
        python=python if isinstance(python, str) else "",
        before=_before(uv),
        problems=tuple(each for each in found if isinstance(each, RequirementProblem)),
        unsure="`override-dependencies` replaces what libraries need" if uv.get("override-dependencies") else "",
    )


def _optional(
    project: Mapping[str, Any],
    table: Mapping[str, Any],
    requirements: Iterable[Requirement | RequirementProblem],
    ours: frozenset[str],
    finder: Finder,
) -> list[Requirement | RequirementProblem]:
    """Return the requirements of optional groups for packages that matter and are not declared otherwise, each from the first group that names it."""
    named = {each.name for each in requirements if isinstance(each, Requirement)}
    added: list[Requirement | RequirementProblem] = []
    groups = {**_table(project, "optional-dependencies"), **_table(table, "dependency-groups")}
    for name, values in groups.items():
        texts = [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
        for each in read_list(texts, name, finder):
            if isinstance(each, Requirement) and each.name in ours - named:
                named.add(each.name)
                added.append(each)
    return added


def _itself(project: Mapping[str, Any], ours: frozenset[str], finder: Finder) -> Iterator[Requirement]:
    """Yield the project itself, where it is one of the libraries: its scripts run with its own source."""
    name = project.get("name")
    if isinstance(name, str) and normalized(name) in ours:
        yield Requirement(
            name=normalized(name), unknown=f"{name} is this repository's own", text=name, place=finder.place(name)
        )


def _poetry(poetry: Mapping[str, Any], finder: Finder) -> Iterator[Requirement | RequirementProblem]:
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies")]
    tables += [
        _table(group, "dependencies") for group in _table(poetry, "group").values() if isinstance(group, Mapping)
    ]
    for table in tables:
        yield from read_table(table, finder)


def read_table(table: Mapping[str, Any], finder: Finder) -> Iterator[Requirement | RequirementProblem]:
    """Yield each requirement of a table of names with versions, as poetry and Pipfile write them."""
    for name, value in table.items():
        settings = value if isinstance(value, Mapping) else {"version": value}
        version, extras = settings.get("version", ""), settings.get("extras", [])
        place = finder.place(name)
        if name == "python" or not isinstance(version, str):
            continue
        url = _url(settings)
        if url:
            yield Requirement(name=normalized(name), url=url, text=name, place=place)
            continue
        suffix = f"[{','.join(map(str, extras))}]" if extras else ""
        each = read_requirement(f"{name}{suffix}{_poetry_specifier(version)}", place)
        if each:
            yield each


def _poetry_specifier(version: Any) -> str:
    """Return a version as poetry writes it in the words of PEP 440.

    >>> [_poetry_specifier(each) for each in ("^0.12", "~1.2", "*", "1.2.3", ">=1,<2", "^0.0.3")]
    ['>=0.12,<0.13', '>=1.2,<1.3', '', '==1.2.3', '>=1,<2', '>=0.0.3,<0.0.4']
    """
    if not isinstance(version, str):
        return ""
    return ",".join(filter(None, (_clause(each.strip()) for each in version.split(","))))


def _clause(text: str) -> str:
    if text in {"", "*"}:
        return ""
    numbers = list(map(int, re.findall(r"\d+", text)))
    if CARET.match(text):
        first = next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)
        return f">={text[1:].strip()},<{_next(numbers[: first + 1])}"
    if TILDE.match(text):
        return f">={text[1:].strip()},<{_next(numbers[:2])}"
    return f"=={text}" if BARE.match(text) else text


def _next(numbers: list[int]) -> str:
    return ".".join(map(str, (*numbers[:-1], numbers[-1] + 1)))


def _limits(uv: Mapping[str, Any], finder: Finder) -> Iterator[Requirement]:
    for each in read_list(uv.get("constraint-dependencies", []), "constraint-dependencies", finder):
        if isinstance(each, Requirement):
            yield Requirement(
                name=each.name,
                specifier=each.specifier,
                marker=each.marker,
                constraint=True,
                text=each.text,
                place=each.place,
            )


def _before(uv: Mapping[str, Any]) -> str:
    return str(uv.get("exclude-newer", ""))[: len("2026-11-21")]


def _url(source: Any) -> str:
    """Return where a package is taken from, by a table that may say so; empty if that is the registry."""
    if isinstance(source, list):
        return next(filter(None, map(_url, source)), "")
    if not isinstance(source, Mapping):
        return ""
    kind = next((kind for kind in FROM if source.get(kind)), "")
    if kind != "git":
        return str(source[kind]) if kind else ""
    at = next((f"@{source[part]}" for part in ("rev", "tag", "branch", "ref") if source.get(part)), "")
    return f"git+{source['git']}{at}"


def _table(parent: Any, key: str) -> Mapping[str, Any]:
    value = parent.get(key) if isinstance(parent, Mapping) else None
    return value if isinstance(value, Mapping) else {}
