"""The cause and the fix where something is not there: a module, a package, a file, a folder, a name on the Hub."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath
from shlex import quote
from typing import Final

from holdfast.catalog.environment.packages import providers
from holdfast.engine.rehearse.circumstances import Advice, Circumstances
from holdfast.engine.rehearse.naming import OURS
from holdfast.engine.rehearse.source_code import nodes_of
from holdfast.engine.rehearse.tracebacks import spell_place

NO_MODULE: Final = re.compile(r"^ModuleNotFoundError: No module named '(\w+)'")
NO_SUBMODULE: Final = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)\.(\w+)'")
"""Python imports the package first: the package is there, and lacks the module."""
REMOVED: Final = "import-api-removed"
"""The class of names that a library lost: it knows the release that had them."""
OUTPUT: Final = re.compile(
    r"\b((?:out|output|outputs|result|results|checkpoint|checkpoints|save|saves|saved|run|runs|model|models|artifacts)/[\w.-]+)"
)
"""A relative path of what a training writes; it has the form of a name on the Hub."""
NO_MODEL: Final = ("model-not-found", "model-path-not-local")
UNOWNED: Final = re.compile(r"Invalid HF URI 'hf://datasets/([^/@']+)@")
RELATIVE: Final = "ImportError: attempted relative import with no known parent package"
ABSENT_FILE: Final = re.compile(
    r"(?:No such file or directory|Unable to find): '([^']+)'|Unable to find '([^']+)'|no such data: (\S+)"
)
SHORTEST: Final = 4
"""Characters of a text that is taken for a path: shorter ones end any."""


def advise_absence(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the advice on what is not there.

    Args:
        name: The class of the failure.
        about: What else is known of it.
    """
    yield from _file(about)
    yield from _folder(name, about)
    yield from _module(name, about)
    yield from _package(about)
    yield from _unowned(about)


def _module(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the package that lets a program import a module which is not there, or the package that lacks it."""
    found = NO_MODULE.match(about.error)
    if found and about.line and found[1] in about.own_modules and not providers(found[1]):
        folder = about.own_modules[found[1]]
        yield Advice(
            f"{about.line.where} imports `{found[1]}`, which is in `{folder}`, where Python does not look.",
            f"Install the project, for example by `pip install -e .`, or start the script with `PYTHONPATH={quote(folder)}`.",
        )
    elif found and about.line:
        package = next(iter(providers(found[1])), found[1])
        declared = "`environment.requirements`" if about.is_job else "the script's header or its project's requirements"
        yield Advice(
            f"{about.line.where} imports `{found[1]}`, which is not installed where the job runs.",
            f"Add `{package}` to {declared}, or correct the name.",
        )
    if (found := NO_SUBMODULE.match(about.error)) and about.line and name != REMOVED:
        yield Advice(
            f"{about.line.where} imports `{found[1]}.{found[2]}`; `{found[1]}` is there, but has no module `{found[2]}`.",
            f"Correct the name{about.at}, or add the file.",
        )


def _package(about: Circumstances) -> Iterator[Advice]:
    """Yield the way to start a file of a package that imports from that package."""
    if not about.error.startswith(RELATIVE) or not about.line:
        return
    path = PurePath(about.line.path)
    module = ".".join(path.with_suffix("").parts)
    if "." in module and all(part.isidentifier() for part in module.split(".")):
        yield Advice(
            f"{about.line.where} imports from its own package, and a file that is started by its path has none.",
            f"Start it as a module, here by `holdfast rehearse -- python -m {module}`.",
        )


def _unowned(about: Circumstances) -> Iterator[Advice]:
    """Yield what the name of a dataset lacks."""
    if found := UNOWNED.search(about.error):
        yield Advice(
            f"`{found[1]}` has no owner: since huggingface_hub 1.16, datasets finds a dataset only as `owner/name`.",
            f"Write the name as its page on the Hub shows it{about.at}; `holdfast check {quote(about.target)}` may know it.",
        )


def _file(about: Circumstances) -> Iterator[Advice]:
    """Yield the file that is not there."""
    found = ABSENT_FILE.search(about.error)
    if not found or OURS.search(about.error):
        return
    path = found[1] or found[2] or found[3]
    if about.key:
        yield Advice(f"There is no `{path}`.", f"Correct `{about.key}`{about.at}.")
        return
    name, at = next(_written(path, about), (path, about.at))
    yield Advice(f"There is no `{path}`.", f"Correct `{name}`{at}, or run what makes it first.")


def _folder(name: str, about: Circumstances) -> Iterator[Advice]:
    """Yield the folder that is not there, where a model is named by its path, which has the form of a name on the Hub."""
    found = OUTPUT.search(about.error) if name in NO_MODEL else None
    if found:
        yield Advice(
            f"`{found[1]}` is not a folder on this machine, and the Hub has no model of that name.",
            f"Correct the path{about.at}, or run what makes the folder first.",
        )


def _written(path: str, about: Circumstances) -> Iterator[tuple[str, str]]:
    """Yield a path as the user's files spell it, with the line where it stands."""
    for file, source in about.sources.items():
        for text, line in _texts(source):
            named = text.removeprefix("./")
            if path == named or path.endswith(f"/{named.removeprefix('/')}"):
                cells = about.line.cells if about.line and about.line.path == file else ()
                yield text, f" at {spell_place(file, line, cells)}"


def _texts(source: str) -> Iterator[tuple[str, int]]:
    """Yield the texts of a module that may be paths, with their lines."""
    for node in nodes_of(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) >= SHORTEST:
            yield node.value, node.lineno
