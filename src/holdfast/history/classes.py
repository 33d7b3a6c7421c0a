"""What it takes to make an instance of a class: fields and parameters, its in-package ancestors' included."""

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.history.checks.reducing import reduce_checks
from holdfast.history.coverage import has_checks, has_methods
from holdfast.history.deprecations import find_warnings, whole_deprecation
from holdfast.history.enforcement import enforced_choices
from holdfast.history.entries import Callee, ClassEntry, ParameterEntry
from holdfast.history.functions import FunctionNode, decorator, forwards, read_function
from holdfast.history.modules import ClassStatement, PackageModules, blocks
from holdfast.history.values import (
    ConstantFolder,
    annotation,
    constants,
    dotted,
    external_path,
    factory,
    literal_choices,
)

STEPS: Final = 12
"""Of inheritance; more is a cycle."""
HARMLESS: Final = frozenset(
    {"abc.ABC", "typing.Generic", "typing.Protocol", "builtins.object", "?object", "enum.Enum", "?NoneType"}
)
"""Bases that take no arguments and give no methods that a script would call."""
CHECKED: Final = ("__init__", "__post_init__")
FIELD_CHECKS: Final = ("__post_init__", "validate", "__setattr__")
"""Methods of a dataclass that check single fields."""

Ancestor = ClassStatement | str
"""A class of the package, or the dotted path of another one."""


def lineage(package: PackageModules, cls: ClassStatement, steps: int = STEPS) -> list[Ancestor]:
    """Return a class and its ancestors in the order in which Python asks them; those of other packages by their paths."""
    parents = [_parent(package, cls.module, base) for base in cls.node.bases] if steps else []
    lines: list[list[Ancestor]] = [
        lineage(package, each, steps - 1) if isinstance(each, ClassStatement) else [each] for each in parents
    ]
    return [cls, *_merged([*lines, parents])]


def read_class(package: PackageModules, cls: ClassStatement) -> ClassEntry:
    """Return a class's parameters, those of its own methods, and the checks in its constructor."""
    line = lineage(package, cls)
    inside = [each for each in line if isinstance(each, ClassStatement)]
    entry = ClassEntry(
        bases=[each for each in line if isinstance(each, str) and each not in HARMLESS],
        ancestors=[each.home for each in inside[1:]],
    )
    _read_making(package, entry, line)
    if entry.kind == "dataclass":
        _add_checks_of_fields(package, entry, inside)
    scope = ConstantFolder(package, cls.module)
    entry.deprecated = _deprecation(scope, cls)
    entry.methods = dict(_read_methods(cls, scope))
    entry.checks = dict(_programs(cls, scope))
    return entry


def _read_methods(cls: ClassStatement, scope: ConstantFolder) -> Iterator[tuple[str, Callee]]:
    """Yield the methods that a script may call, with what they take."""
    for node in _methods(cls.node) if has_methods(cls.node.name) else ():
        yield node.name, read_function(scope, node, bound=_is_bound(node))


def _programs(cls: ClassStatement, scope: ConstantFolder) -> Iterator[tuple[str, str]]:
    """Yield the methods that make an instance, with the programs of their checks."""
    for name in CHECKED if has_checks(cls.home) else ():
        node = _method(cls.node, name)
        program = reduce_checks(cls.node, node, scope) if isinstance(node, ast.FunctionDef) else None
        if program:
            yield name, program


def body_of(node: ast.ClassDef) -> Iterator[ast.stmt]:
    """Yield the statements of a class, those under `if` and `try` included."""
    waiting = list(node.body)
    while waiting:
        statement = waiting.pop(0)
        yield statement
        waiting = [inner for block in blocks(statement) for inner in block] + waiting


def _parent(package: PackageModules, module: str, base: ast.expr) -> Ancestor:
    node = base.value if isinstance(base, ast.Subscript) else base
    path = dotted(node)
    if path and "." in path:  # `transformers.Trainer`, or a module of its own
        first, _, rest = path.partition(".")
        found = package.resolve(module, first)
        inside = getattr(found, "path", "")
        owner, _, name = rest.rpartition(".")
        there = f"{inside}.{owner}" if owner else inside
        found = package.resolve(there, name) if inside.partition(".")[0] == package.name else None
    else:
        found = package.resolve(module, path) if path else None
    return found if isinstance(found, ClassStatement) else external_path(package, module, node)


def _merged(lines: list[list[Ancestor]]) -> list[Ancestor]:
    """Merge lines of ancestors as Python does (C3); where it would refuse, what remains follows as it stands."""
    result: list[Ancestor] = []
    lines = [line for line in lines if line]
    while lines:
        tails = [each for line in lines for each in line[1:]]
        head = next((line[0] for line in lines if line[0] not in tails), lines[0][0])
        result.append(head)
        lines = [rest for line in lines if (rest := [each for each in line if each != head])]
    return result


def _read_making(package: PackageModules, entry: ClassEntry, line: list[Ancestor]) -> None:
    """Read how an instance is made: by the nearest `__init__` or the nearest dataclass, or by another package's class."""
    for place, each in enumerate(line):
        if isinstance(each, str):
            if each in HARMLESS:
                continue
            entry.kind, entry.positional = "inherits", None
            return  # what another package's class takes comes first
        if _makes(package, entry, each, line[place:]):
            for parameter in entry.parameters.values() if place else ():
                parameter.home = parameter.home or each.home
            return


def _makes(package: PackageModules, entry: ClassEntry, cls: ClassStatement, line: list[Ancestor]) -> bool:
    """Read what a class itself says of how an instance is made; tell whether it says anything."""
    init = _method(cls.node, "__init__")
    if init is not None:
        entry.kind = "init"
        _read_init(package, entry, cls, line[1:], init)
    elif is_dataclass(cls.node):
        entry.kind = "dataclass"
        _read_fields(package, entry, line)
    elif _method(cls.node, "__new__") is not None:
        entry.kind, entry.keywords, entry.positional = "init", "open", None
    return init is not None or entry.kind != "plain"


def _read_init(
    package: PackageModules, entry: ClassEntry, cls: ClassStatement, further: list[Ancestor], init: FunctionNode
) -> None:
    """Read an explicit `__init__`, and those that it gives its keywords to."""
    callee = read_function(ConstantFolder(package, cls.module), init, bound=True)
    entry.parameters, entry.positional = callee.parameters, callee.positional
    entry.keywords, entry.shims = callee.keywords, callee.shims
    if forwards(init):
        entry.keywords = "forward"
        _add_forwarded(package, entry, [each for each in further if each not in HARMLESS])


def _add_forwarded(package: PackageModules, entry: ClassEntry, further: list[Ancestor]) -> None:
    """Add the parameters of the next class in the line, unless that is of another package."""
    following = ClassEntry()
    _read_making(package, following, further)
    if following.kind == "inherits":
        return
    nearest = next((each.home for each in further if isinstance(each, ClassStatement)), "")
    for name, parameter in following.parameters.items():
        parameter.home = parameter.home or nearest
        entry.parameters.setdefault(name, parameter)
    entry.shims = {**following.shims, **entry.shims}
    entry.keywords = _beyond(following, further)


def _beyond(following: ClassEntry, further: list[Ancestor]) -> str | None:
    """Return the fate of keywords that the next class in the line does not take by name."""
    if following.kind == "plain":
        return "open"
    external = any(isinstance(each, str) for each in further)
    return "forward" if following.kind == "dataclass" and external else following.keywords


def _read_fields(package: PackageModules, entry: ClassEntry, line: list[Ancestor]) -> None:
    """Read the fields of a dataclass and of the dataclasses that it inherits from."""
    by_keyword: set[str] = set()
    for each in reversed(line):
        if isinstance(each, ClassStatement) and is_dataclass(each.node):  # annotations of other classes are no fields
            added = _add_fields(package, entry, each, inherited=each != line[0])
            if _is_keyword_only(each.node):
                by_keyword |= added
    ordered = sorted(entry.parameters, key=by_keyword.__contains__)
    entry.parameters = {name: entry.parameters[name] for name in ordered}
    entry.positional = len(entry.parameters) - len(by_keyword & set(entry.parameters))


def _add_fields(package: PackageModules, entry: ClassEntry, cls: ClassStatement, *, inherited: bool) -> set[str]:
    """Add the fields that the body of one dataclass declares; return their names."""
    added: set[str] = set()
    for name, parameter in _fields(ConstantFolder(package, cls.module), cls.node):
        if parameter is None:
            entry.parameters.pop(name, None)
            continue
        parameter.home = cls.home if inherited else ""
        entry.parameters[name] = parameter
        added.add(name)
    return added


def _fields(scope: ConstantFolder, node: ast.ClassDef) -> Iterator[tuple[str, ParameterEntry | None]]:
    """Yield each field of a dataclass; None for one that its `__init__` does not take."""
    for statement in body_of(node):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=note):
                text = ast.unparse(note)
                if not text.startswith(("ClassVar", "typing.ClassVar")):
                    yield name, _field(scope, statement.value, note)
            case _:
                pass


def _field(scope: ConstantFolder, value: ast.expr | None, note: ast.expr) -> ParameterEntry | None:
    if not isinstance(value, ast.Call) or decorator(value) != "field":
        text = None if value is None else scope.text(value)
        return ParameterEntry(text, annotation(note), literal_choices(note))
    if not _flag(value, "init", default=True):
        return None
    choices = _listed(scope, _keyword(value, "metadata")) or literal_choices(note)
    return ParameterEntry(_default(scope, value), annotation(note), choices)


def _default(scope: ConstantFolder, field: ast.Call) -> str | None:
    """Return the default that a call of `field` gives, as source; None if there is none."""
    if made := _keyword(field, "default_factory"):
        return factory(scope, made)
    default = _keyword(field, "default")
    return None if default is None else scope.text(default)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg == name), None)


def _listed(scope: ConstantFolder, metadata: ast.expr | None) -> list[object] | None:
    if isinstance(metadata, ast.Dict):
        for key, value in zip(metadata.keys, metadata.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "choices":
                return constants(scope.rewritten(value))
    return None


def _add_checks_of_fields(package: PackageModules, entry: ClassEntry, line: Sequence[ClassStatement]) -> None:
    """Add what `__post_init__` says of single fields: warnings, and values that it refuses."""
    for scope, node in _checking_methods(package, line):
        for field, warned in find_warnings(scope, node, entry.parameters, owners=("self",)):
            entry.parameters[field].warnings.append(warned)
        for field, choices in enforced_choices(scope, node):
            parameter = entry.parameters.get(field)
            if parameter and not parameter.enforced:
                parameter.choices, parameter.enforced = choices, True


def _checking_methods(
    package: PackageModules, line: Sequence[ClassStatement]
) -> Iterator[tuple[ConstantFolder, FunctionNode]]:
    """Yield the methods of a class and its ancestors that may check fields, with the module's values."""
    for each in line:
        for name in FIELD_CHECKS:
            if node := _method(each.node, name):
                yield ConstantFolder(package, each.module), node


def _deprecation(scope: ConstantFolder, cls: ClassStatement) -> str | None:
    for each in cls.node.decorator_list:
        if decorator(each) == "deprecated" and isinstance(each, ast.Call) and each.args:
            return ast.unparse(each.args[0]).strip("'\"")
    for name in CHECKED:
        node = _method(cls.node, name)
        if node is not None and (deprecation := whole_deprecation(scope, node)):
            return deprecation
    return None


def is_dataclass(node: ast.ClassDef) -> bool:
    """True if a class gets its `__init__` from `@dataclass`."""
    return any(decorator(each) == "dataclass" and _flag(each, "init", default=True) for each in node.decorator_list)


def _is_keyword_only(node: ast.ClassDef) -> bool:
    return any(decorator(each) == "dataclass" and _flag(each, "kw_only", default=False) for each in node.decorator_list)


def _flag(call: ast.expr, name: str, *, default: bool) -> bool:
    """Return the truth of a keyword that a call or decorator writes out; the default where it does not."""
    value = _keyword(call, name) if isinstance(call, ast.Call) else None
    return bool(value.value) if isinstance(value, ast.Constant) else default


def _method(node: ast.ClassDef, name: str) -> FunctionNode | None:
    found = None
    for statement in body_of(node):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == name:
            found = statement
    return found


def _methods(node: ast.ClassDef) -> Iterator[FunctionNode]:
    """Yield the methods that a script may call."""
    for statement in body_of(node):
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = {decorator(each) for each in statement.decorator_list}
        hidden = statement.name.startswith("_") and statement.name != "__call__"
        if not hidden and not decorators & {"property", "cached_property", "setter", "overload", "deleter"}:
            yield statement


def _is_bound(node: FunctionNode) -> bool:
    return not any(decorator(each) == "staticmethod" for each in node.decorator_list)
