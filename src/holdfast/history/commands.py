"""The command lines of trl: each sub-command with the dataclasses whose fields are its flags."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from holdfast.history.modules import ClassStatement, Elsewhere, PackageModules

SCRIPTS: Final = re.compile(r"trl\.(?:scripts|commands\.scripts)\.(\w+)")
PARSERS: Final = frozenset({"TrlParser", "HfArgumentParser"})
SUPPORTED: Final = re.compile(r"SUPPORTED_COMMANDS\s*=\s*\[([^\]]*)\]")
WORDS: Final = re.compile(r"[\"']([\w-]+)[\"']")


def read_commands(package: PackageModules) -> dict[str, list[str]]:
    """Return the homes of each sub-command's dataclasses, in the order in which the parser takes them."""
    supported = _supported(package)
    commands = {}
    for module in sorted(package.files):
        script = SCRIPTS.fullmatch(module)
        name = script.group(1).replace("_", "-") if script else ""
        if name and (supported is None or name in supported):
            classes = list(_classes(package, module))
            if classes:
                commands[name] = classes
    return commands


def _supported(package: PackageModules) -> set[str] | None:
    """Return the sub-commands that older releases allow: they ship more scripts than that (trl 0.8 to 0.12)."""
    for module in ("trl.commands.cli",):
        if module in package.files:
            listed = SUPPORTED.search(package.source(module))
            return set(WORDS.findall(listed.group(1))) if listed else None
    return None


def _classes(package: PackageModules, module: str) -> Iterator[str]:
    read = package.module(module)
    if read is None or read.tree is None:
        return
    local = _imported_inside(read.tree)
    for node in ast.walk(read.tree):
        match node:
            case ast.Assign(targets=[ast.Name(id="dataclass_types")], value=ast.Tuple(elts=elements)):
                pass
            case ast.Call(func=ast.Name(id=parser), args=[ast.Tuple(elts=elements) | ast.List(elts=elements), *_]) if (
                parser in PARSERS
            ):
                pass
            case _:
                continue
        yield from (_home(package, module, local, each) for each in elements)
        return


def _imported_inside(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return the imports inside functions by name: parsers are made by functions that import what they need."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level
        for alias in node.names
    }


def _home(package: PackageModules, module: str, local: dict[str, tuple[str, str]], node: ast.expr) -> str:
    name = ast.unparse(node)
    found = package.resolve(module, name) or package.resolve(*local.get(name, (module, name)))
    match found:
        case ClassStatement():
            return found.home
        case Elsewhere(path=path):
            return path
        case _:
            return f"?{name}"
