"""A dataset made on the spot: what the docstrings of Python's standard library say.

Each entry is a public function or class: its name and signature ask, the first paragraph of its docstring
answers. The library's sources are parsed, never imported or run. One version of Python gives the same
thousands of rows, in the same order, on every machine.

>>> rows("prompts", "train")[0].keys()
dict_keys(['prompt', 'answer'])
"""

import ast
import gc
import os
import random
import sysconfig
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

SKIPPED = {"test", "tests", "idlelib", "lib2to3", "turtledemo", "site-packages", "dist-packages"}
"""Folders of tests, programs and other people's packages."""
ANSWER_CHARACTERS = range(20, 301)
"""Shorter answers say nothing; longer ones are whole manuals."""
SIGNATURE_CHARACTERS = 80
TEST_PERCENT = 10


class DocumentedEntry(NamedTuple):
    """One documented function or class."""

    question: str
    answer: str


def rows(config: str, split: str, seed: int = 0) -> list[dict[str, Any]]:
    """Return the rows of one split, in the shape that a configuration gives them.

    Args:
        config: `messages` (a chat), `preference` (prompt, chosen, rejected), `unpaired` (prompt, completion,
            label) or `prompts` (prompt, answer).
        split: `train` or `test`. No answer stands in both.
        seed: Draws the order of the words in rejected answers.

    Raises:
        ValueError: There is no such configuration or split.
    """
    if config not in SHAPES or split not in ("train", "test"):
        raise ValueError(f"stdlib-docstrings has no configuration {config!r} with a split {split!r}")
    chosen = [entry for entry in entries() if _is_test(entry) == (split == "test")]
    return SHAPES[config](chosen, random.Random(f"{split} {seed}"))  # noqa: S311 - draws examples, guards nothing


def texts() -> Iterator[str]:
    """Yield every question and every answer; nothing is parsed before the first is requested."""
    for entry in entries():
        yield from entry


@cache
def entries() -> tuple[DocumentedEntry, ...]:
    """Return every entry once, shuffled the same way each time: by the digest of its question."""
    library = Path(sysconfig.get_paths()["stdlib"])
    gc.disable()  # a syntax tree has no waste to find, and looking for it takes longer than parsing
    try:
        found = {entry.question: entry for module, path in _modules(library) for entry in _documented(module, path)}
    finally:
        gc.enable()
    return tuple(sorted(found.values(), key=lambda entry: _digest(entry.question)))


def _modules(library: Path) -> Iterator[tuple[str, Path]]:
    paths = []
    for folder, folders, files in os.walk(library):
        folders[:] = [name for name in folders if _is_public(name)]
        paths += [Path(folder, name) for name in files if name.endswith(".py")]
    for path in sorted(paths):
        parts = [part for part in path.relative_to(library).with_suffix("").parts if part != "__init__"]
        if all(_is_public(part) for part in parts):
            yield ".".join(parts), path


def _is_public(part: str) -> bool:
    return part not in SKIPPED and not part.startswith(("_", "test_", "config-"))


def _documented(module: str, path: Path) -> Iterator[DocumentedEntry]:
    with tokenize.open(path) as file:
        tree = ast.parse(file.read())
    for name, node in _public(tree, module):
        answer = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
        if len(answer) in ANSWER_CHARACTERS and len({*answer.split()}) > 1:
            yield DocumentedEntry(_question(name, node), answer)


def _public(parent: ast.Module | ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in parent.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        name = f"{prefix}.{node.name}"
        yield name, node
        if isinstance(node, ast.ClassDef):
            yield from _public(node, name)


def _question(name: str, node: ast.FunctionDef | ast.ClassDef) -> str:
    if isinstance(node, ast.ClassDef):
        return f"What is `{name}`?"
    signature = ast.unparse(node.args)
    return f"What does `{name}({signature if len(signature) <= SIGNATURE_CHARACTERS else '...'})` do?"


def _is_test(entry: DocumentedEntry) -> bool:
    return int(_digest(entry.answer), 16) % 100 < TEST_PERCENT


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _user(entry: DocumentedEntry) -> list[dict[str, str]]:
    return [{"role": "user", "content": entry.question}]


def _assistant(entry: DocumentedEntry) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": entry.answer}]


def _scrambled(entry: DocumentedEntry, draw: random.Random) -> DocumentedEntry:
    """Return the entry with its answer's words in another order: what even a small model can learn to tell apart."""
    words = entry.answer.split()
    while " ".join(words) == entry.answer:
        draw.shuffle(words)
    return entry._replace(answer=" ".join(words))


def _messages(chosen: list[DocumentedEntry], _: random.Random) -> list[dict[str, Any]]:
    return [{"messages": _user(entry) + _assistant(entry)} for entry in chosen]


def _preference(chosen: list[DocumentedEntry], draw: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "prompt": _user(entry),
            "chosen": _assistant(entry),
            "rejected": _assistant(_scrambled(entry, draw)),
        }
        for entry in chosen
    ]


def _unpaired(chosen: list[DocumentedEntry], draw: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "prompt": _user(entry),
            "completion": _assistant(entry if label else _scrambled(entry, draw)),
            "label": label,
        }
        for entry in chosen
        for label in [draw.choice((True, False))]
    ]


def _prompts(chosen: list[DocumentedEntry], _: random.Random) -> list[dict[str, Any]]:
    return [{"prompt": _user(entry), "answer": entry.answer} for entry in chosen]


SHAPES: dict[str, Callable[[list[DocumentedEntry], random.Random], list[dict[str, Any]]]] = {
    "messages": _messages,
    "preference": _preference,
    "unpaired": _unpaired,
    "prompts": _prompts,
}
