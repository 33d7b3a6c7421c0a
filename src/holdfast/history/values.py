"""Defaults, annotations and choices as plain text: what a source writes with names, by their values."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Final

from holdfast.history.modules import ClassStatement, Constant, Elsewhere, PackageModules

LONGEST: Final = 120
"""Characters of a default or an annotation; what is longer (a chat template) is no value that a rule would compare."""
MOST_CHOICES: Final = 120

FACTORIES: Final[Mapping[str, str]] = {"list": "[]", "dict": "{}", "set": "set()", "tuple": "()"}
GENERICS: Final[Mapping[str, str]] = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Type": "type"}
TYPING: Final = frozenset({"typing", "typing_extensions", "t", "T", "collections.abc"})
ENUMS: Final = frozenset({"Enum", "StrEnum", "ExplicitEnum", "BaseEnum"})


class ConstantFolder(ast.NodeTransformer):
    """Rewrites expressions of one module so that they hold values instead of names, where these are known."""

    def __init__(self, package: PackageModules, module: str) -> None:
        self.package, self.module = package, module

    def text(self, node: ast.expr) -> str:
        """Return an expression as source, with constants and members of enums by their values; `...` if too long."""
        text = ast.unparse(self.rewritten(node))
        return text if len(text) <= LONGEST else "..."

    def rewritten(self, node: ast.expr) -> ast.expr:
        """Return an expression with constants and members of enums by their values."""
        copy: ast.expr = self.visit(ast.parse(ast.unparse(node), mode="eval").body)
        return copy

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Replace the name of a constant; by its capitals, so that no parameter is taken for one."""
        if not node.id.isupper():
            return node
        found = self.package.resolve(self.module, node.id)
        return found.value if isinstance(found, Constant) and _is_literal(found.value) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Replace the member of an enum."""
        member = node.value if node.attr == "value" and isinstance(node.value, ast.Attribute) else node
        members = self.enum(member.value) or {}
        return ast.Constant(members[member.attr]) if member.attr in members else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        """Leave it: its names are its own."""
        return node

    def enum(self, node: ast.expr) -> dict[str, str] | None:
        """Return the members of the enum of strings that an expression names."""
        found = self.package.resolve(self.module, node.id) if isinstance(node, ast.Name) else None
        return enum_members(self.package, found) if isinstance(found, ClassStatement) else None


def enum_members(package: PackageModules, cls: ClassStatement) -> dict[str, str] | None:
    """Return an enum's strings by the names of its members; None if a class is no enum of strings."""
    if not any(last_name(base) in ENUMS for base in cls.node.bases):
        return None
    return _assigned_strings(ConstantFolder(package, cls.module), cls.node.body) or None


def _assigned_strings(scope: ConstantFolder, body: Iterable[ast.stmt]) -> dict[str, str]:
    """Return the strings that a class assigns to its names; a name may repeat an earlier one."""
    strings: dict[str, str] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if other in strings:
                strings[name] = strings[other]
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if (text := string_of(scope.rewritten(value))) is not None:
                    strings[name] = text
            case _:
                pass
    return strings


def string_of(node: ast.expr | None) -> str | None:
    """Return the value of a string literal; None of anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def factory(scope: ConstantFolder, node: ast.expr) -> str:
    """Return the value of a `default_factory`, as source."""
    match node:
        case ast.Lambda(body=body):
            return scope.text(body)
        case ast.Name(id=name) if name in FACTORIES:
            return FACTORIES[name]
        case _:
            return scope.text(ast.Call(node, [], []))


def annotation(node: ast.expr | None) -> str | None:
    """Return an annotation in the newer spelling, so that a change of style is no change.

    >>> annotation(ast.parse("Optional[Union[str, List[int]]]", mode="eval").body)
    'str | list[int] | None'
    """
    if node is None:
        return None
    text = " | ".join(_unique(_alternatives(node)))
    return text if len(text) <= LONGEST else "..."


def literal_choices(node: ast.expr | None) -> list[Any] | None:
    """Return the values of a `Literal`, if nothing but None may stand beside it.

    >>> literal_choices(ast.parse("Optional[Literal['a', 'b']]", mode="eval").body)
    ['a', 'b']
    """
    values: list[Any] = []
    for each in _alternatives(node) if node else ():
        match ast.parse(each, mode="eval").body:
            case ast.Subscript(value=base, slice=inner) if last_name(base) == "Literal":
                values += constants(ast.Tuple(_elements(inner))) or []
            case ast.Constant(value=None):
                pass
            case _:
                return None
    return values or None


def constants(node: ast.expr | None) -> list[Any] | None:
    """Return the values of a list or tuple of plain constants."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set) or len(node.elts) > MOST_CHOICES:
        return None
    values = [each.value for each in node.elts if isinstance(each, ast.Constant)]
    plain = all(isinstance(each, str | int | float | None) for each in values)
    return values if plain and len(values) == len(node.elts) else None


def message_text(node: ast.expr) -> str:
    """Return a message's words; what is computed stands in braces."""
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(map(message_text, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return message_text(left) + message_text(right)
        case ast.BinOp(left=words, op=ast.Mod()) | ast.Call(func=ast.Attribute(value=words, attr="format" | "strip")):
            return message_text(words)
        case _:
            return f"{{{ast.unparse(node.value if isinstance(node, ast.FormattedValue) else node)}}}"


def dotted(node: ast.expr) -> str | None:
    """Return `a.b.c` of a name or attribute; None of anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            owner = dotted(value)
            return f"{owner}.{attribute}" if owner else None
        case _:
            return None


def external_path(package: PackageModules, module: str, node: ast.expr) -> str:
    """Return the dotted path of something that the package does not define; `?Name` where it is not known."""
    path = dotted(node)
    if path is None:
        return f"?{type(node).__name__}"
    first, _, rest = path.partition(".")
    found = package.resolve(module, first)
    if isinstance(found, Elsewhere):
        return f"{found.path}.{rest}" if rest else found.path
    return f"builtins.{path}" if path in {"dict", "list", "str", "int", "object", "tuple", "set"} else f"?{path}"


def _alternatives(node: ast.expr) -> list[str]:
    """Return the types that an annotation allows, each in the newer spelling."""
    match node:
        case ast.Constant(value=str(text)):
            return _quoted(text)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_alternatives(left), *_alternatives(right)]
        case ast.Subscript(value=base, slice=inner):
            return _subscripted(base, inner)
        case ast.List(elts=parts):
            return [f"[{_listed(parts)}]"]
        case _:
            return [_plain(node)]


def _quoted(text: str) -> list[str]:
    try:
        return _alternatives(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError:
        return [text]


def _subscripted(base: ast.expr, inner: ast.expr) -> list[str]:
    parts = _elements(inner)
    match last_name(base):
        case "Optional":
            return [*_alternatives(inner), "None"]
        case "Union":
            return [each for part in parts for each in _alternatives(part)]
        case "Literal":
            return [f"Literal[{', '.join(map(ast.unparse, parts))}]"]
        case _:
            return [f"{_plain(base)}[{_listed(parts)}]"]


def _elements(inner: ast.expr) -> list[ast.expr]:
    """Return what stands between the brackets of a subscript."""
    return inner.elts if isinstance(inner, ast.Tuple) else [inner]


def _listed(parts: Iterable[ast.expr]) -> str:
    return ", ".join(" | ".join(_unique(_alternatives(part))) for part in parts)


def _plain(node: ast.expr) -> str:
    path = dotted(node)
    if path is None:
        return ast.unparse(node)
    owner, _, last = path.rpartition(".")
    return GENERICS.get(last, last) if owner in TYPING or not owner else path


def _unique(parts: Iterable[str]) -> list[str]:
    """Drop repeats; None comes last, so that `Optional[X]` and `None | X` read alike."""
    seen = dict.fromkeys(parts)
    none = [seen.pop("None")] if "None" in seen else None
    return [*seen, *(["None"] if none else [])]


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name; nothing for another expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_literal(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_literal, parts))
        case _:
            return False
