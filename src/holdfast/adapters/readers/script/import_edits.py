"""Edits of what a program imports: a name that comes from another module, or is called otherwise, with all its uses.

An edit is `Set("imports.trl.ORPOTrainer", "trl.experimental.orpo.ORPOTrainer")`. Statements that keep some of their names
are taken apart by LibCST; it is imported for those alone.

Covered: `from a import b`, among several, with an alias, in brackets over several lines, in functions and branches.
Not covered: `import a` with `a.b` later on; imports for whose failure the program is prepared, which are left alone.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, takewhile

from holdfast.adapters.readers.script.parts import SourcePart, least, read_parts, start_of
from holdfast.core.job.document import Document
from holdfast.core.text.places import TextEdit

SourceSpan = tuple[SourcePart, int, int]


@dataclass(slots=True, eq=False)
class Statement:
    """An import of several names, of which some change.

    Attributes:
        part: The text that it stands in.
        node: The statement.
        body: The statements beside it, itself among them.
        names: What each name that changes becomes: its new module and its new name.
    """

    part: SourcePart
    node: ast.ImportFrom
    body: Sequence[ast.stmt]
    names: Mapping[ast.alias, tuple[str, str]]
    aliased: set[str] = field(default_factory=set[str])

    def spelled(self, alias: ast.alias) -> str:
        """Return the import clause for a name that keeps the program's alias for it."""
        _, new = self.names[alias]
        bound = alias.asname or (alias.name if alias.name in self.aliased else new)
        return new if bound == new else f"{new} as {bound}"

    @property
    def module(self) -> str:
        """The module that it imports from."""
        return self.node.module or ""

    @property
    def renamed(self) -> dict[str, str]:
        """The new names of those that the program uses under their old ones."""
        pairs = ((alias, new) for alias, (_, new) in self.names.items() if not alias.asname)
        return {alias.name: new for alias, new in pairs if alias.name != new}

    @property
    def home(self) -> str:
        """The module that all its names move to; empty if some stay, or they part."""
        homes = {module for module, _ in self.names.values()}
        return homes.pop() if len(homes) == 1 and len(self.names) == len(self.node.names) else ""


def plan_imports(document: Document, moves: Mapping[str, str]) -> Callable[[], Iterable[TextEdit]] | None:
    """Return a plan for the text edits that import names from elsewhere; None if one of them is not imported.

    Args:
        document: The program.
        moves: The new dotted path of each name, by its old one.
    """
    parts = read_parts(document)
    statements = [each for part in parts for each in statements_of(document, part, moves)]
    found = {f"{each.node.module}.{alias.name}" for each in statements for alias in each.names}
    if found != moves.keys():
        return None
    uses = _renamed_uses(parts, statements)
    return lambda: [*uses, *chain.from_iterable(_moved(each) for each in statements)]


def statements_of(document: Document, part: SourcePart, moves: Mapping[str, str]) -> Iterator[Statement]:
    """Yield the import statements that change."""
    places = _unguarded_places(document)
    for body, node in _imports_from(part.tree):
        paths = {alias: moves.get(f"{node.module}.{alias.name}") for alias in node.names}
        names = {
            alias: _parted(path) for alias, path in paths.items() if path is not None and part.position(alias) in places
        }
        if names:
            yield Statement(part, node, body, names)


def _unguarded_places(document: Document) -> set[tuple[int | None, tuple[int, int]]]:
    """Return where names are imported, but those for whose failure the program is prepared."""
    ours = (each for each in document.imports if each.place.path == document.path)
    return {(each.place.cell, start_of(each.place)) for each in ours if not each.guard.tolerates("ImportError")}


def aliases_of(statements: Iterable[Statement]) -> set[ast.alias]:
    """Return the nodes of the names that change in some statements."""
    return set(chain.from_iterable(each.names for each in statements))


def _imports_from(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], ast.ImportFrom]]:
    """Yield every import of names from a module of a library, after the block that it stands in."""
    for body in _bodies(tree):
        for node in body:
            if isinstance(node, ast.ImportFrom) and not node.level:
                yield body, node


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield every block of statements."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield body


def _parted(path: str) -> tuple[str, str]:
    module, _, name = path.rpartition(".")
    return module, name


def _renamed_uses(parts: Sequence[SourcePart], statements: Sequence[Statement]) -> list[TextEdit]:
    """Return the edits of each use of a name that is called otherwise; where they are not certain, it gets an alias."""
    edits: list[TextEdit] = []
    ours = aliases_of(statements)
    for old, new in dict(chain.from_iterable(each.renamed.items() for each in statements)).items():
        uses = _certain_uses(parts, old, new, ours)
        if uses is None:
            for each in statements:
                each.aliased.add(old)
        else:
            edits += [part.edit(start, end, new) for part, start, end in uses]
    return edits


def _certain_uses(parts: Sequence[SourcePart], old: str, new: str, ours: set[ast.alias]) -> list[SourceSpan] | None:
    """Return where a name is read that can be called otherwise; None if that is not certain, or the new name is in use."""
    uses = uses_of(parts, old, ours)
    return None if uses is None or uses_of(parts, new, ours) != [] else uses


def uses_of(parts: Sequence[SourcePart], name: str, ours: set[ast.alias]) -> list[SourceSpan] | None:
    """Return where a name is read; None if it is also bound in another way, or stands in a text."""
    found: list[SourceSpan] = []
    for part, node in _nodes(parts, ours):
        if isinstance(node, ast.Name) and node.id == name:
            if not _is_read(part, node):
                return None
            found.append((part, *part.span(node)))
        elif _is_mentioned(node, name):
            return None
    return found


def _nodes(parts: Sequence[SourcePart], besides: set[ast.alias]) -> Iterator[tuple[SourcePart, ast.AST]]:
    """Yield all nodes of a program but some, each after the text that it stands in."""
    for part in parts:
        yield from ((part, node) for node in ast.walk(part.tree) if node not in besides)


def _is_read(part: SourcePart, node: ast.Name) -> bool:
    """True if a name is read, where it is written as it is: not within a formatted text."""
    return isinstance(node.ctx, ast.Load) and part.source(node) == node.id


def _is_mentioned(node: ast.AST, name: str) -> bool:
    """True if anything but a name that is read goes by a name, or mentions it."""
    fields = (getattr(node, each, None) for each in ("name", "arg", "asname", "rest", "value", "names"))
    return any(value == name or (isinstance(value, list) and name in value) for value in fields)


def _moved(statement: Statement) -> Iterator[TextEdit]:
    """Yield the edits of one statement."""
    module = statement.node.module
    gone = [alias for alias, (home, _) in statement.names.items() if home != module]
    if not gone or (statement.home and not (may_go(statement) and beside(statement, statement.home))):
        yield from _in_place(statement)
        return
    yield from _in_place(statement, besides=gone)
    yield from without(statement, gone)
    homes: dict[str, list[str]] = {}
    for alias in gone:
        homes.setdefault(statement.names[alias][0], []).append(statement.spelled(alias))
    yield from added(statement, homes)


def _in_place(statement: Statement, besides: Sequence[ast.alias] = ()) -> Iterator[TextEdit]:
    """Yield the edits of names that are called otherwise, and of the module where all names go to one."""
    part, node = statement.part, statement.node
    if not besides and statement.home and node.module and statement.home != node.module:
        start = part.text.index(node.module, part.span(node)[0])
        yield part.edit(start, start + len(node.module), statement.home)
    for alias in statement.names:
        if alias not in besides and statement.spelled(alias) != spelled_in(alias):
            yield part.edit(*part.span(alias), statement.spelled(alias))


def added(statement: Statement, homes: Mapping[str, Sequence[str]]) -> Iterator[TextEdit]:
    """Yield the edits that import names from other modules: in statements that there are, else in new ones."""
    fresh: list[str] = []
    for module, names in homes.items():
        other = beside(statement, module)
        if other is None:
            fresh.append(f"from {module} import {', '.join(names)}")
        elif missing := [name for name in names if name not in map(spelled_in, other.names)]:
            yield rewritten(statement.part, other, [], missing)
    if fresh:
        yield _inserted(statement, fresh)


def without(statement: Statement, gone: Sequence[ast.alias]) -> Iterator[TextEdit]:
    """Yield the edit that takes names out of a statement, or the statement, with its line, where none is left."""
    part, node = statement.part, statement.node
    if len(gone) < len(node.names):
        yield rewritten(part, node, list(map(spelled_in, gone)), [])
        return
    start, end = part.line_span(*part.span(node))
    below = next((each for each in part.lines.starts if each > end), len(part.text))
    yield part.edit(start, below, "")


def rewritten(part: SourcePart, node: ast.ImportFrom, gone: Sequence[str], new: Sequence[str]) -> TextEdit:
    """Return the edit by which a statement imports some names no longer, and others besides."""
    old, start = part.source(node), part.span(node)[0]
    from holdfast.adapters.readers.script.imported_names import change_names

    changed = change_names(old, gone, new)
    at, end, text = least(old, changed)
    return part.edit(start + at, start + end, text)


def _inserted(statement: Statement, lines: Sequence[str]) -> TextEdit:
    """Return the edit that writes imports below a statement, or beside it where it shares its line."""
    part = statement.part
    start, end = part.span(statement.node)
    first, last = part.line_span(start, end)
    if not _is_alone(statement):
        return part.edit(end, end, "".join(f"; {line}" for line in lines))
    newline = "\r\n" if "\r\n" in part.text else "\n"
    return part.edit(last, last, "".join(f"{newline}{part.text[first:start]}{line}" for line in lines))


def _is_alone(statement: Statement) -> bool:
    """True if nothing stands on a statement's lines beside it, but a comment after it."""
    part = statement.part
    start, end = part.span(statement.node)
    first, last = part.line_span(start, end)
    after = part.text[end:last].strip()
    return not part.text[first:start].strip() and (not after or after.startswith("#"))


def may_go(statement: Statement) -> bool:
    """True if a statement can be taken out with its lines: it has them for itself, and says nothing to people."""
    part = statement.part
    first, last = part.line_span(*part.span(statement.node))
    return _is_alone(statement) and "#" not in part.text[first:last]


def beside(statement: Statement, module: str) -> ast.ImportFrom | None:
    """Return an import from a module that stands before or beside a statement, and to which names can be added."""
    at = statement.body.index(statement.node)
    imports = takewhile(lambda each: isinstance(each, ast.Import | ast.ImportFrom), statement.body[at + 1 :])
    for other in (*statement.body[:at], *imports):
        if isinstance(other, ast.ImportFrom) and (other.level, other.module) == (0, module):
            return None if any(alias.name == "*" for alias in other.names) else other
    return None


def spelled_in(alias: ast.alias) -> str:
    """Return an imported name as it is written."""
    return f"{alias.name} as {alias.asname}" if alias.asname else alias.name
