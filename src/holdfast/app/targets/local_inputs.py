"""The files of this machine that a program reads: modules that it imports, files and folders that it names.

Covered: modules beside the script and in the folder that it runs in; paths in its text, its arguments and its job file.
Not covered: paths that are computed at run time; they are not seen, as in `open(f"part-{rank}.txt")`.
"""

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.local.file_patterns import entries_in
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.storage.file_digests import digest_path
from holdfast.adapters.targets import read_target
from holdfast.core.check.reference import Reference
from holdfast.core.errors import HoldfastError
from holdfast.core.job.document import Document, leaves
from holdfast.engine.references import WRITES, references

LONGEST: Final = 1000
"""Letters of a text that may be a path."""
WRITTEN: Final = "output"
"""The part of a job file that names what is written."""
READ_WHOLE: Final = ("model", "dataset", "evaluate")
"""The parts of a job file that may name folders to read; elsewhere a folder may be one to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInput:
    """Something that a program reads by a name.

    Attributes:
        reference: Where it is named.
        name: Its name there.
        paths: What is there, in the folder that the program runs in; several for a pattern.
    """

    reference: Reference
    name: str
    paths: Sequence[Path]


def own_modules(source: str, script: Path) -> Iterator[Path]:
    """Yield the files of the modules that a script imports from its own folder, and those that these import."""
    waiting, known = [(source, script)], set[Path]()
    while waiting:
        text, importer = waiting.pop()
        for name in _imported_names(text):
            for path in _module_files(name, script.parent, importer.parent):
                if path not in known:
                    known.add(path)
                    yield path
                    waiting.append((read_foreign_text(path), path))


def _imported_names(source: str) -> Iterator[str]:
    r"""Yield the names of the modules that a source may import, also of those that are relative; none of one with a syntax error.

    >>> list(_imported_names("import os, helper as h\nfrom .parts import (\n a,\n)\nfrom . import b\nfrom c import *"))
    ['os', 'helper', '.parts', '.parts.a', '.', '.b', 'c']
    """
    for node in _nodes(source):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield module
            dot = "" if module.endswith(".") else "."
            yield from (f"{module}{dot}{each.name}" for each in node.names if each.name != "*")


def _nodes(source: str) -> Iterator[ast.AST]:
    """Yield the nodes of a Python source; none of one with a syntax error."""
    with suppress(SyntaxError, ValueError):
        yield from ast.walk(ast.parse(source))


def _module_files(name: str, folder: Path, importer: Path) -> Iterator[Path]:
    """Yield the files of a module, and of the packages that it lies in."""
    dots = len(name) - len(name.lstrip("."))
    base = importer.joinpath(*[".."] * (dots - 1)) if dots else folder
    for part in filter(None, name.split(".")):
        base /= part
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                yield Path(os.path.normpath(path))


def named_files(sources: Iterable[str], arguments: Iterable[str], root: Path) -> Iterator[str]:
    """Yield the texts in Python sources, and the arguments, that are paths of files.

    Args:
        sources: Python sources; one with a syntax error is left out.
        arguments: Arguments of a program.
        root: The folder that it runs in.
    """
    return (text for text in (*_literals(sources), *arguments) if _is_file(root, text))


def _literals(sources: Iterable[str]) -> Iterator[str]:
    """Yield the texts that are written in Python sources."""
    for node in chain.from_iterable(map(_nodes, sources)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _is_file(root: Path, text: str) -> bool:
    """True if a text is the path of a file of the job's: an absolute one counts only inside the folder, others may be the system's."""
    if not text or len(text) > LONGEST or "\n" in text or "\0" in text:
        return False
    try:
        return (root / text).is_file() and (not Path(text).is_absolute() or Path(text).is_relative_to(root))
    except OSError:
        return False


def named_inputs(document: Document, root: Path) -> Iterator[NamedInput]:
    """Yield what a program reads data and models from, by each of its names that is no address."""
    for reference in references(document):
        if reference.role not in WRITES and not reference.hidden:
            for name in reference.read.names if reference.read else (reference.name,):
                if "://" not in name:
                    yield NamedInput(reference=reference, name=name, paths=entries_in(root, name))


def input_digests(program: Program) -> tuple[str, ...]:
    """Return the paths that a program reads, as far as they are known, each with a digest of what is there."""
    digests = list[str]()
    for path in sorted(
        set(_inputs(program)) - {*Path.cwd().parents}
    ):  # a folder around this one holds all sorts of things
        with suppress(OSError):  # what cannot be read here is known by its name
            digests.append(f"{path}={digest_path(path)}")
    return tuple(digests)


def _inputs(program: Program) -> Iterator[Path]:
    root = Path.cwd()
    script = root / program.path
    with suppress(HoldfastError, ExceptionGroup):  # the rehearsal itself says what is wrong with a file
        if program.job:
            yield from _job_inputs(program.job, (script.parent, root))
        else:
            yield from _script_inputs(program, script, root)


def _script_inputs(program: Program, script: Path, root: Path) -> Iterator[Path]:
    """Yield the modules that a script imports, and the files and folders that it and its arguments name."""
    modules = {module for importer in (script, root / script.name) for module in own_modules(program.source, importer)}
    yield from modules
    sources = [program.source, *map(read_foreign_text, modules)]
    yield from (root / name for name in named_files(sources, program.arguments, root))
    for document in read_target(str(script.with_suffix(".py")), text=program.source).documents:
        for each in named_inputs(document, root):
            yield from each.paths


def _job_inputs(job: Document, folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the files and folders that a job file names, from its own folder or from here, and the modules of its functions."""
    for part, text in _read_texts(job):
        module, is_function, _ = text.rpartition(".py:")
        named = f"{module}.py" if is_function else text
        for path in chain.from_iterable(map(entries_in, folders, repeat(named))):
            if part in READ_WHOLE or path.is_file():
                yield path
            if is_function:
                yield from own_modules(read_foreign_text(path), path)


def _read_texts(job: Document) -> Iterator[tuple[str | int, str]]:
    """Yield the texts of a job file that may name something to read, each with its part of the file."""
    for key, value in leaves(job.values):
        if key[0] != WRITTEN and isinstance(value, str) and 0 < len(value) <= LONGEST and "\0" not in value:
            yield key[0], value
