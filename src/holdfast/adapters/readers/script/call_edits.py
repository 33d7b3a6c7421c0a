"""Edits of what a program calls: something else with the same arguments, or another expression, and what is imported for it.

An edit is `ReplaceCall("train", "SFTConfig(…)", ("trl.SFTConfig",))`. The import of what was called goes where nothing else uses it;
`Remove("imports.trl.setup_chat_format")` takes out one that nothing uses at all.

Covered: what is called by a name that `from a import b` gives it. Not covered: `a.b(…)`, and names that are bound otherwise too.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap

from holdfast.adapters.readers.script.import_edits import (
    Statement,
    added,
    aliases_of,
    beside,
    may_go,
    rewritten,
    spelled_in,
    statements_of,
    uses_of,
    without,
)
from holdfast.adapters.readers.script.parts import SourcePart, end_of, read_parts, start_of
from holdfast.core.job.calls import Call, Import
from holdfast.core.job.document import Document, ReplaceCall
from holdfast.core.text.places import TextEdit

ARGUMENTS = "(…)"
Edits = Callable[[], Iterable[TextEdit]]
CallChange = tuple[ReplaceCall, Call]


def plan_calls(document: Document, edits: Sequence[ReplaceCall]) -> Edits | None:
    """Return a plan for the text edits that rewrite calls; None if one of them cannot be rewritten."""
    changes: dict[str, list[CallChange]] = {}
    for edit in edits:
        call = _called(document, edit)
        if call is None:
            return None
        changes.setdefault(call.label, []).append((edit, call))
    plans: list[Edits] = []
    for label, changed in changes.items():
        plan = _plan_import(document, label, changed)
        if plan is None:
            return None
        plans.append(plan)
    every = list(chain.from_iterable(changes.values()))
    return lambda: chain(*starmap(_written, every), *(plan() for plan in plans))


def plan_removals(document: Document, paths: Sequence[str]) -> Edits | None:
    """Return a plan for the text edits that remove imports; None if one is used, or missing."""
    parts = read_parts(document)
    statements = list(chain.from_iterable(_importing(document, parts, path) for path in paths))
    ours = aliases_of(statements)
    if len(statements) < len(paths) or any(uses_of(parts, each.asname or each.name, ours) != [] for each in ours):
        return None
    return _replacing(statements, {}, goes=True)


def _importing(document: Document, parts: Sequence[SourcePart], path: str) -> Iterator[Statement]:
    """Yield the statements that import what has a path."""
    return chain.from_iterable(statements_of(document, part, {path: path}) for part in parts)


def _called(document: Document, edit: ReplaceCall) -> Call | None:
    """Return the call that is written otherwise, if it stands here and goes by a bare name."""
    call = document.call(edit.key)
    here = call is not None and call.via == "call" and call.place.path == document.path and call.label.isidentifier()
    return call if here else None


def _written(edit: ReplaceCall, call: Call) -> Iterator[TextEdit]:
    """Yield the edits of the expression itself; what its arguments become is another matter."""
    before, arguments, behind = edit.expression.partition(ARGUMENTS)
    end = end_of(call.place)
    yield TextEdit(start_of(call.place), end_of(call.name_place) if arguments else end, before, call.place.cell)
    if behind:
        yield TextEdit(end, end, behind, call.place.cell)


def _plan_import(document: Document, label: str, changes: Sequence[CallChange]) -> Edits | None:
    """Return a plan that changes the import of one name, some of whose calls are rewritten."""
    path = _imported_path(document, label)
    parts = read_parts(document)
    statements = list(_importing(document, parts, path))
    missing = _missing(document, parts, dict.fromkeys(chain.from_iterable(edit.imports for edit, _ in changes)))
    if not statements or missing is None:
        return None
    return _replacing(statements, missing, goes=_loses_its_uses(parts, label, aliases_of(statements), changes))


def _imported_path(document: Document, label: str) -> str:
    """Return the path of what is imported by a name; empty if nothing is."""
    paths = (f"{each.module}.{each.name}" for each in document.imports if each.bound == label and each.name)
    return next(paths, "")


def _loses_its_uses(
    parts: Sequence[SourcePart], label: str, ours: set[ast.alias], changes: Sequence[CallChange]
) -> bool:
    """True if each use of a name is a call that is rewritten without it."""
    uses = uses_of(parts, label, ours)
    stays = f"{label}{ARGUMENTS}"
    written = {(call.place.cell, start_of(call.place)) for edit, call in changes if edit.expression != stays}
    return uses is not None and all(_begins(part, start) in written for part, start, _ in uses)


def _begins(part: SourcePart, start: int) -> tuple[int | None, tuple[int, int]]:
    return part.cell, part.lines.position(start)


def _missing(document: Document, parts: Sequence[SourcePart], paths: Iterable[str]) -> dict[str, list[str]] | None:
    """Return the names to be imported, by module; None if one of them stands for something else in this program."""
    there = {f"{each.module}.{each.name}" for each in document.imports if _is_plain(each)}
    homes: dict[str, list[str]] = {}
    for module, _, name in (path.rpartition(".") for path in paths if path not in there):
        if uses_of(parts, name, set()) != []:
            return None
        homes.setdefault(module, []).append(name)
    return homes


def _is_plain(imported: Import) -> bool:
    return imported.bound == imported.name and not imported.guard.tolerates("ImportError")


def _replacing(statements: Sequence[Statement], homes: dict[str, list[str]], *, goes: bool) -> Edits | None:
    """Return a plan that removes unused names from their statements and imports others in their place, once."""
    first, *rest = statements
    if goes and not all(map(_may_lose, rest if homes else statements)):
        return None
    gone = list(first.names) if goes else []
    return lambda: chain(_replaced(first, gone, homes), *(without(each, list(each.names)) for each in rest if goes))


def _may_lose(statement: Statement) -> bool:
    """True if a block goes without the names of a statement in it: others stay, or the block has more than that."""
    is_block = statement.body is not statement.part.tree.body
    return not _is_whole(statement) or (may_go(statement) and not (is_block and len(statement.body) == 1))


def _is_whole(statement: Statement) -> bool:
    return len(statement.names) == len(statement.node.names)


def _replaced(
    statement: Statement, gone: Sequence[ast.alias], homes: Mapping[str, Sequence[str]]
) -> Iterator[TextEdit]:
    """Yield the edits by which a statement loses some names, and others are imported by it or beside it."""
    elsewhere = dict(homes)
    same = elsewhere.pop(statement.module, ())
    if same or len(gone) < len(statement.node.names):
        if same or gone:
            yield rewritten(statement.part, statement.node, list(map(spelled_in, gone)), same)
        yield from added(statement, elsewhere)
    elif _may_vanish(statement, elsewhere):
        yield from chain(without(statement, gone), added(statement, elsewhere))
    else:
        yield _overwritten(statement, elsewhere)


def _may_vanish(statement: Statement, modules: Iterable[str]) -> bool:
    """True if a statement can be taken out, because there are others to which names of each module can be added."""
    return may_go(statement) and all(beside(statement, module) for module in modules)


def _overwritten(statement: Statement, homes: Mapping[str, Sequence[str]]) -> TextEdit:
    """Return the edit that writes new imports in a statement's place."""
    part, node = statement.part, statement.node
    lines = (f"from {module} import {', '.join(names)}" for module, names in homes.items())
    newline = "\r\n" if "\r\n" in part.text else "\n"
    return part.edit(*part.span(node), f"{newline}{' ' * node.col_offset}".join(lines))
