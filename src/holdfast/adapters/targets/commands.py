"""Command lines: one that a user gives after `--`, or those of a shell script or a Makefile, with the scripts they run."""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.adapters.readers.command_line import CommandLine, read_commands
from holdfast.adapters.readers.command_line.accelerate import add_accelerate_config
from holdfast.adapters.readers.command_line.edits import place_edits as place_command_edits
from holdfast.adapters.readers.command_line.launched import with_launch
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.script.edits import place_edits as place_script_edits
from holdfast.adapters.targets import Target, read_text
from holdfast.adapters.targets.scripts import SettingsBeside, read_documents
from holdfast.core.document import Document, Edit
from holdfast.core.errors import UsageError
from holdfast.core.text import TextEdit

COMMAND_LINE = "command line"
MAKE_VARIABLE = re.compile(r"^(?P<name>\w+)\s*[:?]?=\s*(?P<value>[^$\n]*?)\s*$", re.MULTILINE)
RECIPE = re.compile(r"^\t[@+-]*")


def read(text: str, path: str, _: tuple[str, ...], __: tuple[str, ...]) -> Target:
    """Read a shell script or a Makefile.

    Raises:
        UsageError: Nothing in it trains, or a script that it runs cannot be read.
    """
    shell = recipes(text) if Path(path).name.lower() == "makefile" or path.endswith(".mk") else text
    lines = read_commands(shell, path)
    documents = tuple(document for line in lines for document in _documents(line, text, path))
    if not documents:
        fix = "name the script itself, or a file whose commands start one"
        raise UsageError(f"{path} runs no training that is known here", where=path, fix=fix)
    return Target(documents=documents, place_edits=place_edits)


def read_line(words: Iterable[str]) -> Target:
    """Read the words of one command line.

    Raises:
        UsageError: They start no training, or the script that they run cannot be read.
    """
    return read(shlex.join(words), COMMAND_LINE, (), ())


def recipes(makefile: str) -> str:
    """Return a Makefile as the shell sees it: recipes with plain variables put in, and other lines empty.

    Places stay right only up to the first variable of a line.
    """
    variables = {found["name"]: found["value"] for found in MAKE_VARIABLE.finditer(makefile)}
    return "\n".join(_recipe(line, variables) for line in makefile.split("\n"))


def _recipe(line: str, variables: dict[str, str]) -> str:
    found = RECIPE.match(line)
    if found is None:
        return ""
    text = " " * len(found[0]) + line[found.end() :]
    for name, value in variables.items():
        text = text.replace(f"$({name})", value).replace(f"${{{name}}}", value)
    return text.replace("$$", "$")


def _documents(line: CommandLine, text: str, path: str) -> Iterator[Document]:
    """Yield what one command says: itself, where a library is its program, else the script that it runs."""
    files = SettingsBeside(Path(path).parent)
    program = line.program
    if program and program.kind == "script" and (script := _found(program.name.text, path)):
        arguments = tuple(word.text for word in program.arguments)
        whole = all(word.known for word in program.arguments)
        add_accelerate_config(line.launch, files)
        yield from (
            with_launch(document, line.launch)
            for document in read_documents(read_text(script), script, arguments if whole else None, files)
        )
    elif document := command_document(line, text, path, files):
        yield document


def _found(name: str, path: str) -> str | None:
    """Return where a script lies that a command names: from here, else beside the file that holds the command."""
    if name == "-":
        return None
    places = (Path(name), Path(path).parent / name)
    try:
        return next((str(place) for place in places if place.is_file()), None)
    except (OSError, ValueError):  # no name of a file at all
        return None


def place_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits, in the command or in the script that it runs.

    Raises:
        UsageError: One of them cannot be made.
    """
    return (place_command_edits if document.kind == "command" else place_script_edits)(document, edits)
