"""Each name stands for one thing: class names are given once, and the glossary's are where it says."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "holdfast"
CAMEL_CASE = re.compile(r"[A-Z]\w*[a-z]")
VARIABLES = ("TypeVar", "ParamSpec")
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith(("| term |", "|---"))]
TERM = re.compile(r"\| (.+?) \| .+ \| `([\w.]+)` \|")
TERMS = [(match[1], match[2]) for line in ROWS if (match := TERM.fullmatch(line))]


def test_a_type_name_stands_for_one_thing() -> None:
    """No name is given to two classes, to a class and an alias, or to two aliases of different types."""
    meanings = defaultdict[str, set[str]](set)
    for path in SOURCES.rglob("*.py"):
        home = str(path.relative_to(SOURCES))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                meanings[node.name].add(f"class of {home}")
        for statement in tree.body:
            for name, value in _aliases(statement):
                meanings[name].add(value)

    assert {name: each for name, each in meanings.items() if len(each) > 1} == {}


def _aliases(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield the aliases of types that a statement of a module makes, each with its type; a `dict` is a `Mapping` here."""
    if isinstance(statement, ast.Assign) and not ast.unparse(statement.value).startswith(VARIABLES):
        for target in statement.targets:
            if isinstance(target, ast.Name) and CAMEL_CASE.match(target.id):
                yield target.id, ast.unparse(statement.value).replace("dict[", "Mapping[")


def test_the_glossary_has_terms() -> None:
    """Each row of its tables is read by the tests below, and no term is explained twice."""
    assert len(ROWS) == len(TERMS) == len(dict(TERMS)) > 0


@pytest.mark.parametrize(("term", "path"), TERMS)
def test_a_term_is_where_the_glossary_says(term: str, path: str) -> None:
    """The class or function of a term exists, and its own description is there to read."""
    if path.startswith("payload."):  # imports torch, and nothing of ours
        module, _, name = path.rpartition(".")
        text = (SOURCES / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert re.search(rf"^(class|def) {name}\b", text, re.MULTILINE), term
        return
    module, _, name = path.rpartition(".")
    assert getattr(import_module(f"holdfast.{module}"), name).__doc__, term
