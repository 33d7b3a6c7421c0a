"""Where the user's own code gives an argument that a failure is about: the line to change, however far from the one that fails."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.core.job.notebook import is_notebook
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.engine.rehearse.source_code import nodes_of
from holdfast.engine.rehearse.tracebacks import Cells, FailingLine

NAMED: Final = re.compile(r"[`'\"](?P<quoted>[a-z]\w{2,})(?:=[^`'\"]*)?[`'\"]|\b(?P<bare>[a-z]+(?:_[a-z0-9]+)+)\b")
"""An argument as messages name it: in quotes, with its value or without; or bare, where it has an underscore."""
"""Endings of files that hold a program's settings."""
SETTING: Final = re.compile(r"^(\w+)[ \t]*:", re.MULTILINE)
"""A setting at the top of such a file."""
MAKER: Final = re.compile(r"[A-Z]\w*|dict|from_pretrained")
"""What takes settings: a class, a dictionary of them, or what loads a model."""


def find_argument(text: str, sources: Mapping[str, str], cells: Cells = ()) -> FailingLine | None:
    r"""Return the line of the first argument that a text names, and that the user's code gives in one place alone.

    >>> found = find_argument("`beta` is 0", {"train.py": "args = DPOConfig(\n    beta=0.0,\n)"})
    >>> found.where, found.code
    ('train.py:2', 'beta=0.0,')

    Args:
        text: What a library, or a rehearsal, says is wrong.
        sources: The texts of the user's files, by path.
        cells: Of a notebook, the first line of each cell and its number.
    """
    names = (found["quoted"] or found["bare"] for found in NAMED.finditer(text))
    return _first_given_once(names, sources, cells)


def find_argument_in_words(text: str, sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    r"""Return the line of the first argument whose name a text has as words, and that the user's code gives in one place alone.

    >>> text = "Number of reward weights (2) must match number of reward functions (1)"
    >>> find_argument_in_words(text, {"train.py": "args = GRPOConfig(\n    reward_weights=[1, 2],\n)"}, cells=()).where
    'train.py:2'
    """
    words = " ".join(re.findall(r"[a-z0-9]+", text.lower()))
    names = {name for source in sources.values() for name, _ in _arguments(source) if "_" in name}
    found = sorted((words.index(as_words(name)), name) for name in names if f" {as_words(name)} " in f" {words} ")
    return _first_given_once((name for _, name in found), sources, cells)


def as_words(name: str) -> str:
    """Return a setting's name as a sentence has it: `reward weights`."""
    return name.replace("_", " ")


def _first_given_once(names: Iterable[str], sources: Mapping[str, str], cells: Cells) -> FailingLine | None:
    given = [(path, name, line) for path, source in sources.items() for name, line in _given_in(path, source)]
    for name in names:
        places = [(path, line) for path, each, line in given if each == name]
        if len(places) == 1:
            path, line = places[0]
            code = sources[path].splitlines()[line - 1].strip()
            return FailingLine(path=path, line=line, code=code, cells=cells if is_notebook(path) else ())
    return None


def _given_in(path: str, source: str) -> Iterator[tuple[str, int]]:
    """Yield name and line of each setting that a file gives."""
    if target_kind(path) is TargetKind.JOB:
        yield from ((each[1], source.count("\n", 0, each.start()) + 1) for each in SETTING.finditer(source))
    else:
        yield from _arguments(source)


def _arguments(source: str) -> Iterator[tuple[str, int]]:
    """Yield name and line of each setting that a module gives."""
    for node in nodes_of(source):
        if isinstance(node, ast.Call) and MAKER.fullmatch(_name_of(node.func)):
            yield from ((each.arg, each.lineno) for each in node.keywords if each.arg)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
