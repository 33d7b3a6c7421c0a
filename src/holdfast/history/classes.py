"""What it takes to make an instance of a class: fields and parameters, its in-package ancestors' included."""

import ast
from collections.abc import Iterator
from typing import Final

from holdfast.history.checks.reducing import reduce_checks
from holdfast.history.coverage import has_checks, has_methods
from holdfast.history.deprecations import find_warnings, whole_deprecation
from holdfast.history.enforcement import enforced_choices
from holdfast.history.entries import ClassEntry, ParameterEntry
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
    entry = ClassEntry(
        bases=[each for each in line if isinstance(each, str) and each not in HARMLESS],
        ancestors=[each.home for each in line[1:] if isinstance(each, ClassStatement)],
    )
    _read_making(package, entry, line)
    own = {each.home: ConstantFolder(package, each.module) for each in line if isinstance(each, ClassStatement)}
    if entry.kind == "dataclass":
        _add_checks_of_fields(entry, line, own)
    scope = own[cls.home]
    entry.deprecated = _deprecation(scope, cls)
    methods = _methods(cls.node) if has_methods(cls.node.name) else ()
    entry.methods = {node.name: read_function(scope, node, bound=_is_bound(node)) for node in methods}
    if has_checks(cls.home):
        entry.checks = dict(_programs(cls, scope))
    return entry


def _programs(cls: ClassStatement, scope: ConstantFolder) -> Iterator[tuple[str, str]]:
    for name in CHECKED:
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
    if not forwards(init):
        return
    entry.keywords = "forward"
    further = [each for each in further if each not in HARMLESS]
    following = ClassEntry()
    if further:
        _read_making(package, following, further)
    if following.kind == "inherits":
        return
    nearest = next((each.home for each in further if isinstance(each, ClassStatement)), "")
    for name, parameter in following.parameters.items():
        if name not in entry.parameters:
            parameter.home = parameter.home or nearest
            entry.parameters[name] = parameter
    entry.shims = {**following.shims, **entry.shims}
    entry.keywords = "open" if following.kind == "plain" else _beyond(following, further)


def _beyond(following: ClassEntry, further: list[Ancestor]) -> str | None:
    """Return the fate of keywords that the next class in the line does not take by name."""
    external = any(isinstance(each, str) for each in further)
    return "forward" if following.kind == "dataclass" and external else following.keywords


def _read_fields(package: PackageModules, entry: ClassEntry, line: list[Ancestor]) -> None:
    """Read the fields of a dataclass and of the dataclasses that it inherits from."""
    own = line[0]
    by_keyword: set[str] = set()
    for each in reversed(line):
        if not isinstance(each, ClassStatement) or not is_dataclass(each.node):
            continue  # annotations of a class that is no dataclass are no fields
        scope = ConstantFolder(package, each.module)
        for name, parameter in _fields(scope, each.node):
            if parameter is None:
                entry.parameters.pop(name, None)
                continue
            parameter.home = "" if each == own else each.home
            entry.parameters[name] = parameter
            if _is_keyword_only(each.node):
                by_keyword.add(name)
    ordered = sorted(entry.parameters, key=by_keyword.__contains__)
    entry.parameters = {name: entry.parameters[name] for name in ordered}
    entry.positional = len(entry.parameters) - len(by_keyword & set(entry.parameters))


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
    match value:
        case ast.Call(func=function, keywords=keywords) if (dotted(function) or "").rpartition(".")[2] == "field":
            given = {each.arg: each.value for each in keywords if each.arg}
            if isinstance(no := given.get("init"), ast.Constant) and no.value is False:
                return None
            default = scope.text(given["default"]) if "default" in given else None
            default = factory(scope, given["default_factory"]) if "default_factory" in given else default
            return ParameterEntry(
                default, annotation(note), _listed(scope, given.get("metadata")) or literal_choices(note)
            )
        case None:
            return ParameterEntry(None, annotation(note), literal_choices(note))
        case _:
            return ParameterEntry(scope.text(value), annotation(note), literal_choices(note))


def _listed(scope: ConstantFolder, metadata: ast.expr | None) -> list[object] | None:
    if isinstance(metadata, ast.Dict):
        for key, value in zip(metadata.keys, metadata.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "choices":
                return constants(scope.rewritten(value))
    return None


def _add_checks_of_fields(entry: ClassEntry, line: list[Ancestor], scopes: dict[str, ConstantFolder]) -> None:
    """Add what `__post_init__` says of single fields: warnings, and values that it refuses."""
    for each in line:
        if not isinstance(each, ClassStatement):
            continue
        for name in ("__post_init__", "validate", "__setattr__"):
            node = _method(each.node, name)
            if node is None:
                continue
            for field, warned in find_warnings(scopes[each.home], node, entry.parameters, owners=("self",)):
                entry.parameters[field].warnings.append(warned)
            for field, choices in enforced_choices(scopes[each.home], node):
                if field in entry.parameters and not entry.parameters[field].enforced:
                    entry.parameters[field].choices, entry.parameters[field].enforced = choices, True


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
    for each in node.decorator_list:
        if decorator(each) == "dataclass":
            keywords = each.keywords if isinstance(each, ast.Call) else []
            return not any(
                k.arg == "init" and isinstance(k.value, ast.Constant) and not k.value.value for k in keywords
            )
    return False


def _is_keyword_only(node: ast.ClassDef) -> bool:
    calls = [each for each in node.decorator_list if isinstance(each, ast.Call) and decorator(each) == "dataclass"]
    keywords = [each for call in calls for each in call.keywords]
    return any(k.arg == "kw_only" and isinstance(k.value, ast.Constant) and bool(k.value.value) for k in keywords)


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
