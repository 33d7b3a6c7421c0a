"""What a program defines: imports, functions, classes, and modules that stand beside it."""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.adapters.readers.script.objects import dotted
from holdfast.adapters.readers.script.places import PlaceFinder
from holdfast.adapters.readers.script.reading import ReadingState, Scope, StatementHandler, either, note_patcher
from holdfast.adapters.readers.script.source import parse
from holdfast.adapters.readers.script.values import ProgramClass, ProgramFunction, Sibling, Slot
from holdfast.core.errors import UsageError
from holdfast.core.job.calls import Import, LibraryName
from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import UNKNOWN

HARMLESS: Final = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "override",
        "abstractmethod",
        "no_grad",
        "inference_mode",
        "lru_cache",
        "cache",
    }
    | {"wraps", "record", "dataclass", "cached_property", "final", "runtime_checkable", "register_for_auto_class"}
)
"""Decorators, by their last name, that hand on the arguments and the result."""
KINDS: Final[Mapping[str, Any]] = {
    "staticmethod": "static",
    "classmethod": "class",
    "property": "property",
    "cached_property": "property",
}
ELSEWHERE: Final = Unknown("it is defined in another file")


def _import(reading: ReadingState, node: ast.Import) -> bool:
    for alias in node.names:
        top = alias.name.partition(".")[0]
        bound = alias.asname or top
        _note(
            reading,
            Import(module=alias.name, name=None, bound=bound, place=reading.place(alias), guard=reading.standing()),
        )
        path = alias.name if alias.asname else top
        reading.bind(bound, _module(reading, path, LibraryName(path)))
    return False


def _import_from(reading: ReadingState, node: ast.ImportFrom) -> bool:
    module = "." * node.level + (node.module or "")
    sibling = _module_beside(reading, node)
    for alias in node.names:
        bound = alias.asname or alias.name
        _note(
            reading,
            Import(module=module, name=alias.name, bound=bound, place=reading.place(alias), guard=reading.standing()),
        )
        if alias.name == "*":
            _import_all(reading, module, sibling)
        else:
            reading.bind(bound, _imported(reading, node, alias.name, sibling))
    return False


def _module_beside(reading: ReadingState, node: ast.ImportFrom) -> Scope | None:
    """Return the names of the module that a statement imports from, if it stands beside the script."""
    return beside(reading, node.module) if node.module and node.level <= 1 else None


def _imported(reading: ReadingState, node: ast.ImportFrom, name: str, sibling: Scope | None) -> Any:
    """Return what a statement imports by a name: a value or a module of the program's own, or a library's name."""
    if sibling is not None:
        return reading.store.get((sibling.number, name), ELSEWHERE)
    if not node.level:
        return _module(reading, f"{node.module}.{name}", LibraryName(f"{node.module}.{name}"))
    is_here = node.level == 1 and not node.module
    return _module(reading, name, ELSEWHERE) if is_here else ELSEWHERE


def _module(reading: ReadingState, path: str, other: LibraryName | Unknown) -> Any:
    """Return a module that stands beside the script; if there is none, another value."""
    scope = beside(reading, path)
    return other if scope is None else Sibling(scope)


def _note(reading: ReadingState, entry: Import) -> None:
    note_patcher(reading, entry.module.partition(".")[0])
    if reading.scope.module.number == 0:
        known = reading.imports.get(entry.place)  # come upon before, perhaps under another guard
        reading.imports[entry.place] = replace(entry, guard=either(known.guard, entry.guard)) if known else entry


def _import_all(reading: ReadingState, module: str, sibling: Scope | None) -> None:
    """Bind every name of a module that stands beside the script; of any other it is not known which there are."""
    if sibling is None:
        reading.scope.module.stars.append("" if module.startswith(".") else module)
        return
    for key, value in list(reading.store.items()):
        if isinstance(key, tuple) and key[0] == sibling.number and not key[1].startswith("_"):
            reading.bind(key[1], value)


def beside(reading: ReadingState, module: str) -> Scope | None:
    """Return the names of a module that stands beside the script; None if there is no such file, or it is not valid Python."""
    if module in reading.modules or reading.beside is None:
        return reading.modules.get(module)
    reading.modules[module] = None  # an import of itself, on the way round, finds nothing
    text = reading.beside(module)
    if text is None:
        return None
    is_package = reading.beside(f"{module}.__init__") == text
    folder, _, _ = reading.path.rpartition("/")
    path = "/".join((*filter(None, (folder,)), *module.split("."), *["__init__"] * is_package)) + ".py"
    try:
        tree, text = parse(text, path)
    except UsageError:
        return None
    scope = Scope(next(reading.numbers), None, PlaceFinder(path, text))
    reading.modules[module] = scope
    reading.trees.append(tree)
    with reading.within(scope):
        reading.bind("__name__", module)
        reading.block(tree.body)
    return scope


def _function(reading: ReadingState, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = _decorators(reading, node)
    function = ProgramFunction(
        node.name,
        node,
        reading.scope,
        _defaults(reading, node.args),
        decorated=not HARMLESS.issuperset(names),
        owner=reading.scope.owner[0] if reading.scope.kind == "class" and reading.scope.owner else None,
        guard=reading.standing(),
        kind=next((KINDS[name] for name in names if name in KINDS), "function"),
    )
    if function.owner and node.name in {"__new__", "__init_subclass__", "__class_getitem__"}:
        function.kind = "static" if node.name == "__new__" else "class"
    reading.functions.append(function)
    reading.bind(node.name, function)
    return False


def _decorators(reading: ReadingState, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    """Read the decorators of a definition, and return their last names."""
    for decorator in node.decorator_list:
        reading.value(decorator)
    return [dotted(each).removesuffix("()").rpartition(".")[2] for each in node.decorator_list]


def _defaults(reading: ReadingState, arguments: ast.arguments) -> dict[str, Slot]:
    by_position = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(by_position), reversed(arguments.defaults), strict=False)]
    pairs += [
        (name, default) for name, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default
    ]
    return {name.arg: Slot(reading.value(default), reading.place(default)) for name, default in pairs}


def _class(reading: ReadingState, node: ast.ClassDef) -> bool:
    bases = [reading.value(base) for base in node.bases]
    for keyword in node.keywords:
        reading.value(keyword.value)
    names = _decorators(reading, node)
    scope = reading.child("class")
    cls = ProgramClass(node.name, node, scope.number, bases, is_dataclass="dataclass" in names)
    scope.owner = (cls, None)
    with reading.within(scope):
        reading.block(node.body)
    made = (scope.number, "__new__") in reading.store
    cls.opaque = made or bool(node.keywords) or not HARMLESS.issuperset(names)
    cls.fields = {
        each.target.id: _field_default(reading, scope, each)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    }
    reading.bind(node.name, cls)
    return False


def _field_default(reading: ReadingState, scope: Scope, node: ast.AnnAssign) -> Slot | None:
    if node.value is None:
        return None
    if not isinstance(node.value, ast.Call):
        name = node.target.id if isinstance(node.target, ast.Name) else ""
        return Slot(reading.store.get((scope.number, name), UNKNOWN), reading.place(node.value))
    given = next((keyword.value for keyword in node.value.keywords if keyword.arg == "default"), None)
    return Slot(given.value if isinstance(given, ast.Constant) else UNKNOWN, reading.place(node.value))


def _global(reading: ReadingState, node: ast.Global) -> bool:
    for name in node.names:
        reading.scope.elsewhere[name] = reading.scope.module
    return False


def _nonlocal(reading: ReadingState, node: ast.Nonlocal) -> bool:
    for name in node.names:
        scope = reading.scope.parent
        while scope is not None and scope.parent is not None and (scope.number, name) not in reading.store:
            scope = scope.parent
        if scope is not None:
            reading.scope.elsewhere[name] = scope
    return False


STATEMENTS: Final[Mapping[type[ast.AST], StatementHandler]] = {
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.FunctionDef: _function,
    ast.Global: _global,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Nonlocal: _nonlocal,
}
