"""Methods of a library's trainer or callback that a class of the program defines anew."""

import ast
from collections.abc import Iterator
from typing import Final

from holdfast.adapters.readers.script.objects import library_base, lineage
from holdfast.adapters.readers.script.places import PlaceFinder
from holdfast.adapters.readers.script.reading import ReadingState
from holdfast.adapters.readers.script.values import ProgramClass, ProgramFunction
from holdfast.core.job.calls import OverriddenMethod
from holdfast.core.text.places import Place

BASES: Final = ("Trainer", "TrainerCallback")
"""Endings of the names of those classes."""


def overrides(reading: ReadingState) -> Iterator[OverriddenMethod]:
    """Yield the methods that the program's own trainers and callbacks have in place of the library's."""
    methods = {each: cls for cls in reading.constructed if _derives(cls) for each in _methods(reading, cls)}
    for number, (method, cls) in enumerate(methods.items()):
        yield _override(cls, method, number)


def _derives(cls: ProgramClass) -> bool:
    """True if a class derives from a library's trainer or callback and from nothing else, which could have methods before it."""
    alone = all(len(each.bases) <= 1 and not each.opaque for each in lineage(cls))
    return alone and library_base(cls).endswith(BASES)


def _methods(reading: ReadingState, cls: ProgramClass) -> Iterator[ProgramFunction]:
    """Yield the methods that an instance of a class has, as they are written: the nearest of each name."""
    for name, owner in _owners(cls).items():
        found = reading.store.get((owner.number, name))
        if (
            isinstance(found, ProgramFunction)
            and found.owner is owner
            and found.kind == "function"
            and not found.decorated
        ):
            yield found


def _owners(cls: ProgramClass) -> dict[str, ProgramClass]:
    """Return which class defines each method."""
    found: dict[str, ProgramClass] = {}
    for each in reversed(list(lineage(cls))):
        found |= {node.name: each for node in each.node.body if isinstance(node, ast.FunctionDef)}
    return found


def _override(cls: ProgramClass, method: ProgramFunction, number: int) -> OverriddenMethod:
    arguments = method.node.args
    positional = tuple(each.arg for each in (*arguments.posonlyargs, *arguments.args))
    keywords = (*arguments.args, *arguments.kwonlyargs)
    return OverriddenMethod(
        path=f"{library_base(cls)}.{method.name}",
        label=f"{cls.name}.{method.name}",
        key=f"overrides.{number}",
        positional=positional[1:],
        parameters=frozenset(each.arg for each in keywords),
        variadic=arguments.vararg is not None,
        open=arguments.kwarg is not None,
        needed=frozenset(_needed(method.node)),
        beside=frozenset(_owners(cls)),
        place=_name_place(method),
        guard=method.guard,
    )


def _needed(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[str]:
    """Yield the parameters without a default, and those that are None by default and are used as if they never were."""
    arguments = node.args
    by_position = (*arguments.posonlyargs, *arguments.args)
    without = len(by_position) - len(arguments.defaults)
    yield from (each.arg for each in by_position[:without])
    defaults = [*zip(by_position[without:], arguments.defaults, strict=True)]
    for parameter, default in (*defaults, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)):
        is_none = isinstance(default, ast.Constant) and default.value is None
        if default is None or (is_none and _is_never_none(node, parameter.arg)):
            yield parameter.arg


def _is_never_none(node: ast.AST, name: str) -> bool:
    """True if a function calls a parameter or reads its parts, and does nothing else with it."""
    mentions = {each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name}
    called = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
    read = {each.value for each in ast.walk(node) if isinstance(each, ast.Attribute | ast.Subscript)}
    return bool(mentions) and mentions <= called | read


def _name_place(method: ProgramFunction) -> Place:
    """Return where a method's name is written."""
    node, start = method.node, method.node.col_offset + len("def ")
    places: PlaceFinder = method.scope.places
    return places.between(node.lineno, start, node.lineno, start + len(method.name.encode()))
