"""Requirements of older projects: `setup.cfg`, `setup.py`, `environment.yml`, `Pipfile`."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from configparser import ConfigParser, Error
from itertools import chain
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.declared.files import Finder
from holdfast.adapters.declared.lines import read_requirement
from holdfast.adapters.declared.toml_files import read_table
from holdfast.core.environment.requirement import ProjectRequirements, Requirement, RequirementProblem
from holdfast.core.job.expressions import evaluate
from holdfast.core.text.places import Place
from holdfast.core.text.toml_text import parse_toml

ITEM: Final = re.compile(r"^\s*-\s+(['\"]?)([^'\"#]+?)\1\s*(#.*)?$")
CONDA: Final = re.compile(r"^([\w.-]+)\s*(?:=\s*([\w.*]+)(?:=\S+)?)?$")
NAME: Final = re.compile(r"[\w.-]+")
PIP: Final = re.compile(r"^\s*-\s+pip:\s*$")


def read_setup_cfg(text: str, path: Path, _: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a `setup.cfg` declares."""
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except Error as error:
        return _unreadable(path, str(error).splitlines()[0])
    texts = parser.get("options", "install_requires", fallback="").splitlines()
    python = parser.get("options", "python_requires", fallback="")
    return _declared(path, _each(filter(str.strip, texts), Finder(text, str(path))), python.strip())


def read_setup_py(text: str, path: Path, _: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a `setup.py` declares literally; a list that it computes is unknown."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return _unreadable(path, str(error))
    names = _assigned_names(tree)
    given = _setup_arguments(tree, names)
    values = _installed(given["install_requires"], names) if "install_requires" in given else []
    if not isinstance(values, list | tuple):
        return _unreadable(path, "")
    python = evaluate(given.get("python_requires", ast.Constant("")))
    texts = [value for value in values if isinstance(value, str)]
    return _declared(path, _each(texts, Finder(text, str(path))), python if isinstance(python, str) else "")


def _assigned_names(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the expressions that a module assigns to names at its top level."""
    return {
        target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _setup_arguments(tree: ast.Module, names: Mapping[str, ast.expr]) -> dict[str | None, ast.expr]:
    """Return the arguments of the calls of `setup`, by name; a name in place of a value is looked up."""
    return {
        keyword.arg: names.get(keyword.value.id, keyword.value)
        if isinstance(keyword.value, ast.Name)
        else keyword.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "setup"
        for keyword in node.keywords
    }


def _installed(value: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """Return the requirements that a `setup.py` installs: as a list, or picked by name, `deps["trl"]`, out of a longer one."""
    if not isinstance(value, ast.List):
        return evaluate(value)
    listed = chain.from_iterable(_strings(evaluate(each)) for each in names.values())
    by_name = {found[0]: text for text in listed if (found := NAME.match(text))}
    picked = [by_name.get(_subscript(each)) for each in value.elts]
    return picked if all(picked) else evaluate(value)


def _subscript(node: ast.expr) -> str:
    """Return the constant in the brackets of `deps["trl"]`; empty if the expression has none."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return ""


def _strings(value: Any) -> list[str]:
    """Return a list of strings; an empty one in place of anything else."""
    plain = isinstance(value, list) and all(isinstance(each, str) for each in value)
    return list(value) if plain else []


def read_pipfile(text: str, path: Path, _: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a `Pipfile` declares."""
    try:
        table = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        return _unreadable(path, f"no TOML: {error}", hides_more=True)
    python = _table(table, "requires").get("python_version", "")
    found = read_table(_table(table, "packages"), Finder(text, str(path)))
    return _declared(path, found, f"=={python}.*" if python else "")


def read_environment(text: str, path: Path, _: frozenset[str]) -> ProjectRequirements:
    """Return the requirements that a conda environment file declares, those in its pip section included."""
    found: list[Requirement] = []
    within_pip = False
    for number, item in _items(text):
        within_pip = within_pip or PIP.match(item.string) is not None
        start = item.string.index(item[2]) + 1
        place = Place(str(path), number, start, number, start + len(item[2]))
        each = read_requirement(item[2] if within_pip else _from_conda(item[2]), place)
        found += [each] if isinstance(each, Requirement) else []
    python = next((each.specifier for each in found if each.name == "python"), "")
    return _declared(path, found, python)


def _items(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield each list item that may name a package, with the number of its line; options and paths name none."""
    for number, line in enumerate(text.splitlines(), 1):
        item = ITEM.match(line)
        if item is not None and not (item[2].startswith("-") or "/" in item[2]):
            yield number, item


def _from_conda(text: str) -> str:
    """Return a conda requirement in pip's notation.

    >>> [_from_conda(each) for each in ("python=3.10", "trl=0.12.2=py_0", "datasets>=2", "pip")]
    ['python==3.10.*', 'trl==0.12.2.*', 'datasets>=2', 'pip']
    """
    found = CONDA.match(text)
    return f"{found[1]}=={found[2].removesuffix('.*')}.*" if found and found[2] else text


def _each(texts: Iterable[str], finder: Finder) -> Iterator[Requirement | RequirementProblem]:
    for text in texts:
        each = read_requirement(text.strip(), finder.place(text.strip()))
        if each:
            yield each


def _declared(path: Path, requirements: Iterable[Requirement | RequirementProblem], python: str) -> ProjectRequirements:
    requirements = list(requirements)
    return ProjectRequirements(
        kind="project",
        origin=path.name,
        path=str(path),
        requirements=tuple(each for each in requirements if isinstance(each, Requirement)),
        python=python,
        problems=tuple(each for each in requirements if isinstance(each, RequirementProblem)),
    )


def _unreadable(path: Path, what: str, *, hides_more: bool = False) -> ProjectRequirements:
    problems = (RequirementProblem(what, Place(str(path)), hides_more=hides_more),) if what else ()
    return ProjectRequirements(
        kind="project", origin=path.name, path=str(path), problems=problems, unsure=f"{path.name} cannot be read"
    )


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, Mapping) else {}
