"""A program as it is once its old names are written anew: what stands behind them comes to light with them.

An argument under its old name hides what its value does, and a class that is imported from its old place what it is given.
Rules are run on the program as it will be, too, so that all of its problems are reported at once; and what they report
only because of an old name is left out, for the old name itself is reported.

Covered: arguments that were renamed or misspelt, names that are imported from elsewhere now. Not covered: arguments that move to
another call, switches that became choices.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeVar

from holdfast.core.check.finding import Finding, Skip
from holdfast.core.job.calls import Call, CallResult, Import, LibraryName
from holdfast.core.job.document import Document, Key, Rename, Set, parse_key
from holdfast.core.text.places import Place

RENAMING: Final = frozenset({"ARG101", "ARG103", "ARG106", "ARG122", "DAT128", "MOD139"})
"""Rules whose fix writes an argument under another name: its new one, or that which is likely meant."""
MOVING: Final = frozenset({"IMP101", "IMP103"})
"""Rules whose fix imports a name from where it is now."""
Result = TypeVar("Result", bound=Finding | Skip)
IMPORTS: Final = "imports."


def check_with_renames(
    document: Document, run: Callable[[Document], Iterable[Finding | Skip]]
) -> Iterator[Finding | Skip]:
    """Yield the findings for a Document, with those that appear once its old names are replaced.

    Args:
        document: The document.
        run: Runs the rules on one.
    """
    results = list(run(document))
    anew = _with_new_names(document, [result for result in results if isinstance(result, Finding)])
    if anew is None:
        yield from results
        return
    later = [result for result in run(anew) if isinstance(result, Finding)]
    holding = {identity(result) for result in later}
    kept = [each for each in results if isinstance(each, Skip) or _names_anew(each) or identity(each) in holding]
    yield from kept
    yield from without_known(kept, later)


def without_known(kept: Sequence[Finding | Skip], later: Iterable[Result]) -> Iterator[Result]:
    """Yield those later results that the kept ones do not tell of: a rule may say several things of one place."""
    kept_words, left = set(map(_words, kept)), Counter(map(identity, kept))
    in_same_words_first = sorted(later, key=lambda each: _words(each) not in kept_words)
    for result in in_same_words_first:
        if left[identity(result)]:
            left[identity(result)] -= 1
        else:
            yield result


def _words(result: Finding | Skip) -> object:
    return identity(result), result.message if isinstance(result, Finding) else result.because


def identity(result: Finding | Skip) -> object:
    """Return a key that identifies a result among those of one program."""
    if isinstance(result, Skip):
        return (result.rule.code, result.missing)
    return (result.rule.code if result.rule else "", result.place, result.key if result.place is None else "")


def _names_anew(finding: Finding) -> bool:
    """True if a finding is about an old name, of which the new one is known."""
    return bool(_renames(finding)) or bool(_moves(finding))


def _with_new_names(document: Document, findings: Iterable[Finding]) -> Document | None:
    """Return the program with the new names that some findings about it give; None if they give none."""
    ours = [finding for finding in findings if finding.document is document]
    renames, moves = [*chain.from_iterable(map(_renames, ours))], dict[str, str]()
    for finding in ours:
        moves |= _moves(finding)
    if not renames and not moves:
        return None
    changed = _with_moves(document, moves)
    for edit in renames:
        changed = _renamed(changed, edit)
    return changed


def _with_moves(document: Document, moves: Mapping[str, str]) -> Document:
    return replace(
        document,
        calls=tuple(_moved(call, moves) for call in document.calls),
        imports=tuple(_imported(each, moves) for each in document.imports),
    )


def _renames(finding: Finding) -> list[Rename]:
    """Return the new names that a finding gives to arguments."""
    edits = finding.fix.edits if finding.fix and finding.rule and finding.rule.code in RENAMING else ()
    return [edit for edit in edits if isinstance(edit, Rename) and not edit.key.startswith("reads.")]


def _moves(finding: Finding) -> dict[str, str]:
    """Return from where a finding would import names, by where they are imported from."""
    edits = finding.fix.edits if finding.fix and finding.rule and finding.rule.code in MOVING else ()
    return {
        edit.key.removeprefix(IMPORTS): edit.value
        for edit in edits
        if isinstance(edit, Set) and edit.key.startswith(IMPORTS)
    }


def _path(path: str, moves: Mapping[str, str]) -> str:
    """Return the new path of something, or of a part of it."""
    for old, new in moves.items():
        if path == old or path.startswith((f"{old}.", f"{old}(")):
            return f"{new}{path[len(old) :]}"
    return path


def _moved(call: Call, moves: Mapping[str, str]) -> Call:
    return replace(
        call,
        path=_path(call.path, moves),
        arguments={name: _value(value, moves) for name, value in call.arguments.items()},
        positional=tuple(_value(value, moves) for value in call.positional),
    )


def _value(value: Any, moves: Mapping[str, str]) -> Any:
    return replace(value, path=_path(value.path, moves)) if isinstance(value, CallResult | LibraryName) else value


def _imported(each: Import, moves: Mapping[str, str]) -> Import:
    new = moves.get(f"{each.module}.{each.name}")
    if new is None:
        return each
    module, _, name = new.rpartition(".")
    return replace(each, module=module, name=name)


def _renamed(document: Document, edit: Rename) -> Document:
    """Return the program with an argument under its new name: in its call, its values and its places."""
    parent, _, old = edit.key.rpartition(".")
    under = parse_key(parent)
    calls = tuple(
        replace(call, arguments=_rekeyed(call.arguments, old, edit.name)) if call.key == parent else call
        for call in document.calls
    )
    return replace(
        document,
        calls=calls,
        values=_revalued(document.values, under, old, edit.name),
        places=_replaced(document.places, (*under, old), edit.name),
        key_places=_replaced(document.key_places, (*under, old), edit.name),
    )


def _rekeyed(values: Mapping[str, Any], old: str, new: str) -> Mapping[str, Any]:
    """Return a mapping of the same kind with a key under another name; some hold more than can be seen."""
    if old not in values.keys() or new in values.keys():  # noqa: SIM118 - a mapping that may hold more says that it has any
        return values
    changed = {new if name == old else name: value for name, value in values.items()}
    return type(values)(changed) if isinstance(values, dict) else changed


def _revalued(values: Mapping[str, Any], under: Key, old: str, new: str) -> Mapping[str, Any]:
    if not under:
        return _rekeyed(values, old, new)
    part = str(under[0])
    inner = values.get(part)
    if not isinstance(inner, Mapping):
        return values
    return {**values, part: _revalued(inner, under[1:], old, new)}


def _replaced(places: Mapping[Key, Place], key: Key, name: str) -> Mapping[Key, Place]:
    """Return places with that of a key under its new name too."""
    return {**places, (*key[:-1], name): places[key]} if key in places else places
