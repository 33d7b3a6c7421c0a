"""What a function takes."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.history.deprecations import find_warnings, whole_deprecation
from holdfast.history.entries import Callee, ParameterEntry
from holdfast.history.values import ConstantFolder, annotation, dotted, literal_choices, message_text

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
READS: Final = frozenset({"pop", "get", "setdefault"})
VALIDATORS: Final = "huggingface_hub.utils._validators"
RENAMING: Final = "smoothly_deprecate_use_auth_token("
REPORTING: Final = frozenset({"info", "warning", "warn", "debug", "warning_once"})


def read_function(scope: ConstantFolder, node: FunctionNode, *, bound: bool) -> Callee:
    """Return a function's parameters; the first parameter of a bound one is left out."""
    arguments = node.args
    positional = list(_with_defaults(arguments))[int(bound) :]
    callee = Callee(
        parameters={
            name.arg: _parameter(scope, name.annotation, default)
            for name, default in (*positional, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        },
        positional=None if arguments.vararg else len(positional),
    )
    _read_keywords(callee, node, scope)
    _read_decorators(callee, node)
    if _takes_older_token(scope, node):
        callee.shims.setdefault("use_auth_token", "token")
    for name, warned in find_warnings(scope, node, callee.parameters, owners=()):
        callee.parameters[name].warnings.append(warned)
    callee.deprecated = callee.deprecated or whole_deprecation(scope, node)
    return callee


def _parameter(scope: ConstantFolder, note: ast.expr | None, default: ast.expr | None) -> ParameterEntry:
    text = None if default is None else scope.text(default)
    return ParameterEntry(text, annotation(note), literal_choices(note))


def _with_defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    """Yield the parameters that may be given by position, each with its default; None if it is required."""
    names = [*arguments.posonlyargs, *arguments.args]
    required = len(names) - len(arguments.defaults)
    yield from zip(names, [*[None] * required, *arguments.defaults], strict=True)


def forwards(node: FunctionNode) -> bool:
    """True if an `__init__` gives its `**kwargs` to that of the next class."""
    name = node.args.kwarg.arg if node.args.kwarg else ""
    return any(_is_super_init(call) and _unpacks(call, name) for call in ast.walk(node) if isinstance(call, ast.Call))


def decorator(node: ast.expr) -> str:
    """Return the last name of a decorator."""
    path = dotted(node.func if isinstance(node, ast.Call) else node) or ""
    return path.rpartition(".")[2]


def is_overload(node: FunctionNode) -> bool:
    """True if a definition is only for type checkers."""
    return any(decorator(each) == "overload" for each in node.decorator_list)


def _read_keywords(callee: Callee, node: FunctionNode, scope: ConstantFolder) -> None:
    if node.args.kwarg is None:
        return
    name = node.args.kwarg.arg
    read = dict(_read_from(node, name))
    for each, default in read.items():
        if each.isidentifier():
            callee.parameters.setdefault(each, ParameterEntry("..." if default is None else scope.text(default)))
    callee.keywords = "swallow" if not read and _is_idle(node, name) else "open"


def _read_from(node: FunctionNode, kwargs: str) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each name that a function takes out of its `**kwargs`, and what it takes for it otherwise."""
    for inner in ast.walk(node):
        match inner:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr=how), args=[ast.Constant(value=str(name)), *rest]
            ) if owner == kwargs and how in READS:
                yield name, rest[0] if rest else None
            case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In()], comparators=[ast.Name(id=owner)]) if (
                owner == kwargs
            ):
                yield name, None
            case _:
                pass


def _is_idle(node: FunctionNode, kwargs: str) -> bool:
    """True if `**kwargs` goes nowhere: it is never used, or only to say that it was not.

    Source: BitsAndBytesConfig, `if kwargs: logger.info(f"Unused kwargs: ...")` (transformers 4.36 to 5.23).
    """
    reported = {id(name) for call in ast.walk(node) if _raises_or_warns(call) for name in ast.walk(call)}
    tested = {id(name) for test in ast.walk(node) if isinstance(test, ast.If) for name in ast.walk(test.test)}
    uses = [name for name in ast.walk(node) if isinstance(name, ast.Name) and name.id == kwargs]
    return all(id(name) in reported | tested for name in uses)


def _raises_or_warns(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in REPORTING


def _is_super_init(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return True
        case _:
            return False


def _unpacks(call: ast.Call, name: str) -> bool:
    return any(
        each.arg is None and isinstance(each.value, ast.Name) and each.value.id == name for each in call.keywords
    )


def _read_decorators(callee: Callee, node: FunctionNode) -> None:
    """Read the decorators that let a call give more than the signature says, or that warn of what it gives.

    Source: transformers.utils.deprecation.deprecate_kwarg (4.46 to 5.23), huggingface_hub.utils._deprecation and
    _validators (0.16 to 2.4), trl's deprecate_kwarg (0.12 to 0.15).
    """
    for each in node.decorator_list:
        name = decorator(each)
        given = _given(each)
        if name == "deprecate_kwarg" and "old_name" in given:
            _shim(callee, given)
        elif name in {"_deprecate_arguments", "deprecate_arguments"}:
            _warn_of(callee, each, given)
        elif name == "_deprecate_positional_args":
            callee.positional = len(callee.parameters)
        elif name == "deprecated":
            callee.deprecated = given.get("old_name") or "deprecated"


def _takes_older_token(scope: ConstantFolder, node: FunctionNode) -> bool:
    """True if a function takes `use_auth_token` for `token` by its decorator.

    Source: huggingface_hub.utils._validators.validate_hf_hub_args (0.16 to 0.36).
    """
    names = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
    if "token" not in names or "use_auth_token" in names:
        return False
    validated = any(decorator(each) == "validate_hf_hub_args" for each in node.decorator_list)
    return validated and VALIDATORS in scope.package.files and RENAMING in scope.package.source(VALIDATORS)


def _shim(callee: Callee, given: Mapping[str, str]) -> None:
    old, new = given["old_name"], given.get("new_name")
    if new:
        callee.shims[old] = new
    elif old in callee.parameters:
        callee.parameters[old].warnings.append((given.get("additional_message", f"`{old}` is deprecated"), "", False))


def _warn_of(callee: Callee, node: ast.expr, given: Mapping[str, str]) -> None:
    listed = [each.value for each in getattr(node, "keywords", ()) if each.arg == "deprecated_args"]
    names = [leaf.value for each in listed for leaf in ast.walk(each) if isinstance(leaf, ast.Constant)]
    for name in names:
        if name in callee.parameters:
            message = given.get("custom_message", f"`{name}` is deprecated")
            callee.parameters[str(name)].warnings.append((message, "", False))


def _given(node: ast.expr) -> dict[str, str]:
    """Return a decorator's arguments by the names that `deprecate_kwarg` has for them."""
    if not isinstance(node, ast.Call):
        return {}
    pairs = [
        *zip(("old_name", "version", "new_name"), node.args, strict=False),
        *((each.arg, each.value) for each in node.keywords if each.arg),
    ]
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
    return {
        name: message_text(value)
        for name, value in pairs
        if isinstance(value, texts) and not (isinstance(value, ast.Constant) and value.value is None)
    }
