"""Writing edits of a document back into the script that it was read from, touching nothing else.

A new name and a new value replace what stands at their places. An argument that comes or goes changes its call, and a
name that is imported from elsewhere its statement: these are parsed alone, by LibCST, which keeps comments and layout; it
is imported when there is such an edit. The requirements in the header are TOML, in comments.

Covered: arguments that are written as keywords of a call, or as keys of a literal dict; imports; the header.
Not covered: values that come from elsewhere, such as a loop, a variable, an option or another file.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, Final, Literal

from holdfast.adapters.readers.script.call_edits import plan_calls, plan_removals
from holdfast.adapters.readers.script.carried import carry
from holdfast.adapters.readers.script.header_edits import edit_requirements
from holdfast.adapters.readers.script.import_edits import plan_imports
from holdfast.adapters.readers.script.parts import end_of, least, read_parts, source_at, source_of, start_of
from holdfast.core.errors import Spot, UsageError
from holdfast.core.job.calls import Call
from holdfast.core.job.document import (
    ABSENT,
    Document,
    Edit,
    Key,
    Remove,
    Rename,
    ReplaceCall,
    Set,
    ValueEdit,
    apply_edits,
    parse_key,
)
from holdfast.core.job.notebook import is_notebook
from holdfast.core.job.source import is_plain, render_value
from holdfast.core.text.places import LineIndex, Place, TextEdit

QUOTES = "\"'"
IMPORTS = "imports."
READS = "reads."
REQUIREMENTS = "environment.requirements"
LIBRARIES: Final = frozenset({"accelerate", "datasets", "peft", "torch", "transformers", "trl"})
"""Packages whose names stand for constants: `torch.float16`."""
EditPlan = Callable[[], Iterable[TextEdit]]
EditKind = Literal["import", "requirement", "call", "argument"]


def place_edits(document: Document, edits: Iterable[Edit]) -> tuple[TextEdit, ...]:
    """Return the text edits that make the edits.

    Raises:
        UsageError: One of them cannot be made in this text, or two of them not at once.
    """
    edits = list(edits)
    plans = _plans(document, edits)
    placed = sorted(set(chain.from_iterable(plan() for plan in plans)), key=_order)
    if any(_order(second) < (first.path, first.cell or 0, first.end) for first, second in pairwise(placed)):
        raise _refusal(document, edits[0].key, "the changes of it overlap")
    return tuple(placed)


def can_place(document: Document, edits: Iterable[Edit]) -> bool:
    """True if edits can be made, one after the other at least, in a fraction of the time that they take."""
    try:
        _plans(document, list(edits))
    except UsageError:
        return False
    return True


def _order(edit: TextEdit) -> tuple[str, int, tuple[int, int]]:
    return edit.path, edit.cell or 0, edit.start


def _plans(document: Document, edits: Sequence[Edit]) -> list[EditPlan]:
    """Return the plans for the edits.

    Raises:
        UsageError: One of them cannot be made in this text.
    """
    by_kind: dict[EditKind, list[Any]] = {kind: [] for kind in PLANNERS}
    for edit in edits:
        by_kind[_kind(edit)].append(edit)
    return [plan for kind, planner in PLANNERS.items() if by_kind[kind] for plan in planner(document, by_kind[kind])]


def _kind(edit: Edit) -> EditKind:
    if isinstance(edit, ReplaceCall):
        return "call"
    if edit.key.startswith(IMPORTS):
        return "import"
    return "requirement" if edit.key.startswith(REQUIREMENTS) else "argument"


def _import_plans(document: Document, edits: Sequence[ValueEdit]) -> Iterator[EditPlan]:
    moves = {edit.key.removeprefix(IMPORTS): edit.value for edit in edits if isinstance(edit, Set)}
    gone = [edit.key.removeprefix(IMPORTS) for edit in edits if isinstance(edit, Remove)]
    plan: EditPlan | None = None
    if len(gone) == len(edits):
        plan = plan_removals(document, gone)
    elif len(moves) == len(edits):
        plan = plan_imports(document, moves)
    if plan is None:
        raise _refusal(document, edits[0].key, "it is not imported there, or for the case that it fails, or it is used")
    yield plan


def _call_plans(document: Document, edits: Sequence[ReplaceCall]) -> Iterator[EditPlan]:
    plan = plan_calls(document, edits)
    if plan is None:
        raise _refusal(
            document, edits[0].key, "it is not called by a name of its own, or what it is to be is called otherwise"
        )
    yield plan


def _header_plans(document: Document, edits: Sequence[ValueEdit]) -> Iterator[EditPlan]:
    try:
        wanted = apply_edits(document.values, edits)["environment"]["requirements"]
    except KeyError:
        wanted = None
    if is_notebook(document.path) or not isinstance(wanted, list):
        raise _refusal(document, edits[0].key, "the script has no header that says so")
    placed = edit_requirements(document.text, wanted)
    if placed is None:
        raise _refusal(document, edits[0].key, "the script has no header that says so")
    yield lambda: placed


def _argument_plans(document: Document, edits: Sequence[ValueEdit]) -> Iterator[EditPlan]:
    """Yield the plans for edits of arguments: those of a call that gains and loses one are planned together."""
    coming: dict[Place, list[ValueEdit]] = {}
    for edit in edits:
        if _in_place(document, edit) is None:
            coming.setdefault(_home(document, edit), []).append(edit)
    for edit in edits:
        placed = _in_place(document, edit)
        if placed is None:
            continue
        call = next((place for place in coming if _holds(place, placed)), None)
        if call is None:
            yield _given(placed)
        else:
            coming[call].append(edit)
    for place, rest in coming.items():
        yield _rewriting(document, place, rest)


PLANNERS: Final[Mapping[EditKind, Callable[[Document, Sequence[Any]], Iterable[EditPlan]]]] = {
    "import": _import_plans,
    "requirement": _header_plans,
    "call": _call_plans,
    "argument": _argument_plans,
}


def _given(edit: TextEdit) -> EditPlan:
    return lambda: (edit,)


def _in_place(document: Document, edit: ValueEdit) -> TextEdit | None:
    """Return the edit as a replacement of one name or value, or None where an argument comes or goes.

    Raises:
        UsageError: It stands in another file, or its value does not stand there.
    """
    match edit:
        case Rename() if edit.key.startswith(READS):
            return _read_in_place(document, edit, document.key_places[parse_key(edit.key)])
        case Rename():
            return _renamed_in_place(document, edit)
        case Set():
            return _set_in_place(document, edit)
        case Remove():
            return None


def _renamed_in_place(document: Document, edit: Rename) -> TextEdit | None:
    """Return the edit that gives an argument another name, in the quotes that it has; None if it has no name there."""
    place = _own_place(document, edit.key, document.key_places)
    if place is None:
        return None
    call = document.call(edit.key.rpartition(".")[0])
    if call and not _is_own(document, call, edit, place):
        raise _refusal(document, edit.key, "something else is called with the same dict")
    begin = source_at(document, place)[:1]
    quote = begin if begin in tuple(QUOTES) else ""
    return _at(place, f"{quote}{edit.name}{quote}")


def _set_in_place(document: Document, edit: Set) -> TextEdit | None:
    """Return the edit that gives an argument another value; None if it has none there."""
    place = _own_place(document, edit.key, document.places)
    if place is None:
        return None
    if not _is_written(document, source_at(document, place)):
        raise _refusal(document, edit.key, "its value comes from elsewhere")
    return _at(place, render_value(edit.value))


def _own_place(document: Document, key: str, places: Mapping[Key, Place]) -> Place | None:
    """Return the place of a key in the script itself; None if it has none of its own."""
    place = places.get(parse_key(key))
    if place is None or place.end_line is None:
        return None
    if place.path != document.path:
        raise _refusal(document, key, f"it stands in {place.path}")
    return place


def _is_written(document: Document, source: str) -> bool:
    """True if an expression is made of literals, or names a library's constant: any other name may be a user's choice."""
    try:
        node = ast.parse(source, mode="eval").body
    except SyntaxError:
        return False
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    if not names:
        return True
    while isinstance(node, ast.Attribute):
        node = node.value
    constants = {each.bound for each in document.imports if each.module.partition(".")[0] in LIBRARIES}
    return isinstance(node, ast.Name) and node.id in constants


def _read_in_place(document: Document, edit: Rename, place: Place) -> TextEdit:
    """Return the edit that gives an attribute another name where it is read, also in a module beside the script.

    Raises:
        UsageError: It is a text that is not written as its name between two quotes.
    """
    (line, start), (end_line, end) = start_of(place), end_of(place)
    quotes = (end - start - len(edit.key.rpartition(".")[2])) // 2
    if line != end_line or quotes not in (0, 1):
        raise _refusal(document, edit.key, "it is not plain text")
    path = "" if place.path == document.path else place.path
    return TextEdit((line, start + quotes), (line, end - quotes), edit.name, place.cell, path)


def _at(place: Place, text: str) -> TextEdit:
    return TextEdit(start_of(place), end_of(place), text, place.cell)


def _holds(place: Place, edit: TextEdit) -> bool:
    return not edit.path and place.cell == edit.cell and start_of(place) <= edit.start and edit.end <= end_of(place)


def _home(document: Document, edit: ValueEdit) -> Place:
    """Return the place of the call that gets or loses an argument, or of the dict that holds it.

    Raises:
        UsageError: There is none.
    """
    call = _gaining_call(document, edit)
    where = _named_at(document, edit)
    here = where or call.place
    if {here.path, call.place.path} != {document.path}:
        raise _refusal(document, edit.key, f"it stands in {here.path}")
    if where is None:
        return call.place
    found = _around(document, where)
    if found is None or not _is_own(document, call, edit, where):
        raise _refusal(document, edit.key, "it is not written in the call or in a dict of its own")
    return found


def _named_at(document: Document, edit: ValueEdit) -> Place | None:
    """Return where an argument is named that goes, or gets another name."""
    return None if isinstance(edit, Set) else document.key_places.get(parse_key(edit.key))


def _gaining_call(document: Document, edit: ValueEdit) -> Call:
    """Return the call that gets or loses an argument.

    Raises:
        UsageError: There is none, or it may be given the argument already.
    """
    call = document.call(edit.key.rpartition(".")[0])
    if call is None or call.via in ("parser", "file"):
        raise _refusal(document, edit.key, "there is no call of its own that it could stand in")
    if isinstance(edit, Set) and (call.open or document.get(edit.key) is not ABSENT):
        raise _refusal(document, edit.key, "it may be given in a way that cannot be seen")
    return call


def _around(document: Document, key_place: Place) -> Place | None:
    """Return the place of the call or dict in which an argument is named."""
    part = next(part for part in read_parts(document) if part.cell == key_place.cell)
    for node in ast.walk(part.tree):
        if any(part.is_at(key, key_place) for key in _keys(node)) and isinstance(node, ast.expr):
            start, end = part.span(node)
            return replace(part.lines.place(document.path, start, end), cell=part.cell)
    return None


def _keys(node: ast.AST) -> list[ast.keyword] | list[ast.expr | None]:
    """Return the nodes that name the arguments of a call, or the items of a dict."""
    return node.keywords if isinstance(node, ast.Call) else node.keys if isinstance(node, ast.Dict) else []


def _is_own(document: Document, call: Call, edit: ValueEdit, where: Place | None) -> bool:
    """True if no call of something else gets the same argument from the same place: a dict that several share."""
    name = edit.key.rpartition(".")[2]
    others = (other for other in document.calls if other.path != call.path and name in other.arguments)
    return where is None or all(document.key_places.get(parse_key(f"{other.key}.{name}")) != where for other in others)


def _rewriting(document: Document, place: Place, edits: Sequence[ValueEdit]) -> EditPlan:
    """Return a plan that changes the set of arguments of a call or a dict.

    Args:
        document: The program.
        place: The call or the dict.
        edits: What changes there.

    Raises:
        UsageError: It is not written out there.
    """
    old = source_at(document, place)
    if not _is_written_out(old, edits):
        raise _refusal(document, edits[0].key, "the call is not written out there")

    ours = carry(document, edits, place)
    unknown = next((edit for edit in ours if isinstance(edit, Set) and not is_plain(edit.value)), None)
    if unknown:
        raise _refusal(document, unknown.key, "its value cannot be written there")

    def rewrite() -> Iterator[TextEdit]:
        from holdfast.adapters.readers.script.arguments import change

        new = change(old, ours)
        if new is None:
            raise _refusal(document, edits[0].key, "the call is not written out there")
        start, end, text = least(old, new)
        at = LineIndex(source_of(document, place.cell)).offset(start_of(place))
        yield edit_between(document, place.cell, at + start, at + end, text)

    return rewrite


def _is_written_out(source: str, edits: Iterable[ValueEdit]) -> bool:
    """True if a text is a call or a dict that has the arguments that are to go, or to be called otherwise."""
    try:
        node = ast.parse(source, mode="eval").body
    except SyntaxError:
        return False
    names = {each.arg if isinstance(each, ast.keyword) else getattr(each, "value", None) for each in _keys(node)}
    wanted = {edit.key.rpartition(".")[2] for edit in edits if not isinstance(edit, Set)}
    return isinstance(node, ast.Call | ast.Dict) and wanted <= names


def edit_between(document: Document, cell: int | None, start: int, end: int, text: str) -> TextEdit:
    """Return the replacement of the characters of a script or a cell from one offset up to another."""
    lines = LineIndex(source_of(document, cell))
    return TextEdit(lines.position(start), lines.position(end), text, cell)


def _refusal(document: Document, key: str, because: str) -> UsageError:
    place = document.place(key)
    where = Spot.of(place)
    return UsageError(f"cannot change `{key}`: {because}", where=where, fix="make the change by hand")
