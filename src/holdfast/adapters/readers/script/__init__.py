"""Training scripts, read by `ast` alone: nothing of them is run, and nothing of what they import is.

A small abstract interpreter. It goes through a program in the order in which it would run, with values that may be
`Unknown`, and notes every call of a library with its arguments. Its modules, from the ground up:

* `places`, `source`: positions; a text as a syntax tree, or one clear error
* `values`, `join`, `reading`: what values there are, what two branches agree on, and the state of reading
* `guards`, `objects`, `record`: what may keep a line from failing; attributes and classes; arguments and notes of calls
* `expressions`, `calls`, `functions`, `known_calls`, `parsers`: what expressions give
* `walk`, `definitions`: what statements do
* `roles`, `header`, `documents`: which call plays which part in a job, and the Documents

Covered: imports and aliases, constants, dicts and `**`, f-strings, branches, loops, `try`, functions and classes of the
script and of files beside it, dataclasses that extend a config, `functools.partial`, argparse, HfArgumentParser, TrlParser.
Not covered: values computed from data, threads, decorators that change arguments, `match` patterns, descriptors.
"""

from collections.abc import Callable, Sequence

from holdfast.adapters.readers.script import calls, definitions, expressions, walk
from holdfast.adapters.readers.script.documents import documents
from holdfast.adapters.readers.script.functions import never_called
from holdfast.adapters.readers.script.places import Cell, PlaceFinder
from holdfast.adapters.readers.script.reading import NodeHandlers, ReadingState, Scope
from holdfast.adapters.readers.script.source import parse
from holdfast.adapters.readers.settings import SettingsFiles
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.places import Place

HANDLERS = NodeHandlers(
    expressions={**expressions.EXPRESSIONS, **calls.EXPRESSIONS},
    statements={**walk.STATEMENTS, **definitions.STATEMENTS},
    block=walk.block,
    assign=walk.assign,
)


def read_script(  # noqa: PLR0913 - a program's text, and what stands around it
    text: str,
    path: str,
    *,
    beside: Callable[[str], str | None] | None = None,
    argv: Sequence[str | Unknown] | None = None,
    argv_places: Sequence[Place] = (),
    files: SettingsFiles | None = None,
    by_default: bool = False,
) -> tuple[Document, ...]:
    """Return the Documents of a script: one for each trainer that it constructs, up to twelve; one if there is none.

    Args:
        text: The script.
        path: Its name, for places.
        beside: Gives the text of a module that stands beside it (`config`, `pkg.settings`), or None.
        argv: The arguments of the command line that goes with it, without the script's name; None if any may be given.
        argv_places: Where each of them is written; empty if no file holds them.
        files: Gives the settings of a YAML or JSON file that these name, or None.
        by_default: Whether options that may be given are taken to have their defaults.

    Raises:
        UsageError: The text is not valid Python.
    """
    return read_program(
        text, path, beside=beside, argv=argv, argv_places=argv_places, files=files, by_default=by_default
    )


def read_program(  # noqa: PLR0913 - likewise
    text: str,
    path: str,
    *,
    cells: Sequence[Cell] = (),
    source: str | None = None,
    beside: Callable[[str], str | None] | None = None,
    argv: Sequence[str | Unknown] | None = None,
    argv_places: Sequence[Place] = (),
    files: SettingsFiles | None = None,
    by_default: bool = False,
) -> tuple[Document, ...]:
    """Return the Documents of a program, which may have been put together from a notebook's cells.

    Args:
        text: The program.
        path: Its name, for places.
        cells: Where its cells begin.
        source: What was read, if that is not the program itself.
        beside: As for `read_script`.
        argv: Likewise.
        argv_places: Likewise.
        files: Likewise.
        by_default: Likewise.

    Raises:
        UsageError: The text is not valid Python.
    """
    places = PlaceFinder(path, text, cells)
    tree, parsed = parse(text, path, places.spot if cells else None)
    scope = Scope(0, None, PlaceFinder(path, parsed, cells))
    reading = ReadingState(HANDLERS, scope, beside, argv, argv_places, files, by_default)
    reading.bind("__name__", "__main__")
    reading.block(tree.body)
    never_called(reading)
    return documents(reading, text if source is None else source, path)
