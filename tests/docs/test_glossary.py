"""Each name stands for one thing: class names are given once, and the glossary's are where it says."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "holdfast"
TERM = re.compile(r"^\| ([a-z ]+) \| .+ \| `([\w.]+)` \|$", re.MULTILINE)
TERMS = TERM.findall((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))


def test_a_class_name_stands_for_one_thing() -> None:
    """No name is given to classes of two modules."""
    homes = defaultdict[str, set[str]](set)
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(str(path.relative_to(SOURCES)))

    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_the_glossary_has_terms() -> None:
    """Its tables are read by the tests below, and no term is explained twice."""
    assert len(TERMS) == len(dict(TERMS)) > 0


@pytest.mark.parametrize(("term", "path"), TERMS)
def test_a_term_is_where_the_glossary_says(term: str, path: str) -> None:
    """The class of a term exists, and its own description is there to read."""
    if path.startswith("payload."):  # imports torch, and nothing of ours
        module, _, name = path.rpartition(".")
        text = (SOURCES / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
        assert f"class {name}" in text, term
        return
    module, _, name = path.rpartition(".")
    assert getattr(import_module(f"holdfast.{module}"), name).__doc__, term
