"""Edits of what a program calls: something else with the same arguments, or another expression, and what is imported for it.

An edit is `ReplaceCall("train", "SFTConfig(…)", ("trl.SFTConfig",))`. The import of what was called goes where nothing else uses it;
`Remove("imports.trl.setup_chat_format")` takes out one that nothing uses at all.

Covered: what is called by a name that `from a import b` gives it. Not covered: `a.b(…)`, and names that are bound otherwise too.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

from holdfast.adapters.readers.script.import_edits import (
    Statement,
    added,
    beside,
    may_go,
    rewritten,
    spelled_in,
    statements_of,
    uses_of,
    without,
)
from holdfast.adapters.readers.script.parts import SourcePart, end_of, read_parts, start_of
from holdfast.core.calls import Call, Import
from holdfast.core.document import Document, ReplaceCall
from holdfast.core.text import TextEdit

ARGUMENTS = "(…)"
Edits = Callable[[], Iterable[TextEdit]]


def plan_calls(document: Document, edits: Sequence[ReplaceCall]) -> Edits | None:
    """Return a plan for the text edits that rewrite calls; None if one of them cannot be rewritten."""
    calls = [(edit, _called(document, edit)) for edit in edits]
    imports = [
        _plan_import(document, label, [(edit, call) for edit, call in calls if call and call.label == label])
        for label in dict.fromkeys(call.label if call else "" for _, call in calls)
    ]
    if None in imports:
        return None
    return lambda: chain(
        chain.from_iterable(_written(call, edit) for edit, call in calls if call),
        chain.from_iterable(plan() for plan in imports if plan),
    )


def plan_removals(document: Document, paths: Sequence[str]) -> Edits | None:
    """Return a plan for the text edits that remove imports; None if one is used, or missing."""
    parts = list(read_parts(document))
    statements = [each for path in paths for part in parts for each in statements_of(document, part, {path: path})]
    ours = {alias for each in statements for alias in each.names}
    bound = [alias.asname or alias.name for alias in ours]
    if len(statements) < len(paths) or any(uses_of(parts, name, ours) != [] for name in bound):
        return None
    return _replacing(statements, {}, goes=True)


def _called(document: Document, edit: ReplaceCall) -> Call | None:
    """Return the call that is written otherwise, if it stands here and goes by a bare name."""
    call = document.call(edit.key)
    here = call is not None and call.via == "call" and call.place.path == document.path and call.label.isidentifier()
    return call if here else None


def _written(call: Call, edit: ReplaceCall) -> Iterator[TextEdit]:
    """Yield the edits of the expression itself; what its arguments become is another matter."""
    before, arguments, behind = edit.expression.partition(ARGUMENTS)
    end = end_of(call.place)
    yield TextEdit(start_of(call.place), end_of(call.name_place) if arguments else end, before, call.place.cell)
    if behind:
        yield TextEdit(end, end, behind, call.place.cell)


def _plan_import(document: Document, label: str, changes: Sequence[tuple[ReplaceCall, Call]]) -> Edits | None:
    """Return a plan that changes the import of one name, some of whose calls are rewritten."""
    imported = next((each for each in document.imports if each.bound == label and each.name), None)
    if imported is None:
        return None
    path = f"{imported.module}.{imported.name}"
    parts = list(read_parts(document))
    statements = [each for part in parts for each in statements_of(document, part, {path: path})]
    uses = uses_of(parts, label, {alias for each in statements for alias in each.names})
    missing = _missing(document, parts, dict.fromkeys(chain.from_iterable(edit.imports for edit, _ in changes)))
    if not statements or missing is None:
        return None
    stays = f"{label}{ARGUMENTS}"
    written = {(call.place.cell, start_of(call.place)) for edit, call in changes if edit.expression != stays}
    left = None if uses is None else [each for each in uses if _begins(each[0], each[1]) not in written]
    return _replacing(statements, missing, goes=left == [])


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
    if goes and not all(_may_lose(each) for each in (rest if homes else statements)):
        return None
    return lambda: chain(
        _replaced(first, homes, goes=goes), *(without(each, list(each.names)) for each in rest if goes)
    )


def _may_lose(statement: Statement) -> bool:
    """True if a block goes without the names of a statement in it: others stay, or the block has more than that."""
    is_block = statement.body is not statement.part.tree.body
    return not _is_whole(statement) or (may_go(statement) and not (is_block and len(statement.body) == 1))


def _is_whole(statement: Statement) -> bool:
    return len(statement.names) == len(statement.node.names)


def _replaced(statement: Statement, homes: dict[str, list[str]], *, goes: bool) -> Iterator[TextEdit]:
    part, node = statement.part, statement.node
    gone = list(statement.names) if goes else []
    elsewhere = {module: names for module, names in homes.items() if module != node.module}
    same = homes.get(node.module or "", [])
    if not (goes and _is_whole(statement)) or same:
        if gone or same:
            yield rewritten(part, node, list(map(spelled_in, gone)), same)
        yield from added(statement, elsewhere)
    elif may_go(statement) and all(beside(statement, module) for module in elsewhere):
        yield from chain(without(statement, gone), added(statement, elsewhere))
    else:
        lines = (f"from {module} import {', '.join(names)}" for module, names in elsewhere.items())
        newline = "\r\n" if "\r\n" in part.text else "\n"
        yield part.edit(*part.span(node), f"{newline}{' ' * node.col_offset}".join(lines))
