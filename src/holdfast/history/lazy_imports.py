"""What packages list that import their parts only when these are used.

Source: `_import_structure` of transformers and trl, `_SUBMOD_ATTRS` of huggingface_hub, in whatever way they are filled.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import Final

TABLES: Final = frozenset({"_import_structure", "_SUBMOD_ATTRS", "import_structure"})
LEGACY_TABLE: Final = "_LEGACY_MODULE_ALIASES"

Listed = tuple[str, str]
"""A submodule, and a name in it; an empty name for the submodule itself."""


def lazy_names(tree: ast.Module) -> Iterator[Listed]:
    """Yield everything that the lists of a lazy package name."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=table)], value=ast.Dict() as value) if table in TABLES:
                yield from _of_dict(value)
            case ast.AnnAssign(target=ast.Name(id=table), value=ast.Dict() as value) if table in TABLES:
                yield from _of_dict(value)
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                yield from _of_entry(target, value)
            case ast.Call(func=ast.Attribute(value=target, attr="extend"), args=[value]):
                yield from _of_entry(target, value)
            case ast.Call(func=ast.Attribute(value=target, attr="append"), args=[value]):
                yield from _of_entry(target, ast.List([value]))
            case _:
                pass


def legacy_aliases(package: str, tree: ast.Module | None) -> dict[str, str]:
    """Return the modules that a package answers for under older names, by these (transformers 5)."""
    for node in ast.walk(tree) if tree else ():
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as table)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Dict() as table)
            ) if name == LEGACY_TABLE:
                pairs = zip(table.keys, table.values, strict=True)
                return {f"{package}.{old}": f"{package}.{new}" for old, new in _texts(pairs)}
            case _:
                pass
    return {}


def _texts(pairs: Iterable[tuple[ast.expr | None, ast.expr]]) -> Iterator[tuple[str, str]]:
    for key, value in pairs:
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
            yield str(key.value), str(value.value).lstrip(".")


def _of_dict(table: ast.Dict) -> Iterator[Listed]:
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value, ""
            yield from ((key.value, name) for name in _strings(value))


def _of_entry(target: ast.expr, value: ast.expr) -> Iterator[Listed]:
    match target:
        case ast.Subscript(value=ast.Name(id=table), slice=ast.Constant(value=str(submodule))) if table in TABLES:
            yield submodule, ""
            yield from ((submodule, name) for name in _strings(value))
        case _:
            pass


def _strings(value: ast.expr) -> list[str]:
    elements = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else []
    return [each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str)]
