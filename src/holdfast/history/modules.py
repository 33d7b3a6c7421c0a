"""The modules of one package: what names each binds, and what stands behind a name."""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.history.lazy_imports import lazy_names, legacy_aliases

DEPTH: Final = 12
"""Steps from a re-export to its definition; a longer chain is a cycle."""

EXPORTS: Final = re.compile(r"^__all__\s*(?:\+)?=\s*\[(.*?)\]", re.DOTALL | re.MULTILINE)
WORDS: Final = re.compile(r"[\"'](\w+)[\"']")


@dataclass(frozen=True, slots=True)
class ClassStatement:
    """A class statement."""

    module: str
    node: ast.ClassDef

    @property
    def home(self) -> str:
        """Its path where it is defined."""
        return f"{self.module}.{self.node.name}"


@dataclass(frozen=True, slots=True)
class FunctionStatement:
    """A function statement.

    Attributes:
        module: The module that it stands in.
        node: The statement.
        bound: Whether a module offers it as a function, although it is a bound method.
    """

    module: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    bound: bool = False

    @property
    def home(self) -> str:
        """Its path where it is defined."""
        return f"{self.module}.{self.node.name}"


@dataclass(frozen=True, slots=True)
class Constant:
    """A value."""

    module: str
    value: ast.expr


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Something of another package, by its dotted path."""

    path: str


@dataclass(frozen=True, slots=True)
class Submodule:
    """A module of the package."""

    path: str


@dataclass(frozen=True, slots=True)
class From:
    """`from module import name`."""

    module: str
    name: str


Found = ClassStatement | FunctionStatement | Constant | Elsewhere | Submodule
Binding = Found | From


@dataclass(slots=True)
class Module:
    """One module.

    Attributes:
        name: Its dotted path.
        is_package: Whether it is an `__init__.py`.
        tree: What it says; None where Python could not parse it.
        bindings: What its names stand for.
        stars: Modules whose names it takes over.
        exports: Its `__all__`, if that is a plain list.
        dynamic: Whether it may have names that nobody can list.
    """

    name: str
    is_package: bool
    tree: ast.Module | None
    bindings: dict[str, Binding] = field(default_factory=dict[str, Binding])
    stars: list[str] = field(default_factory=list[str])
    exports: frozenset[str] | None = None
    dynamic: bool = False


class PackageModules:
    """The modules of one package, each parsed when it is requested."""

    def __init__(self, name: str, sources: Mapping[str, bytes]) -> None:
        """Take the sources.

        Args:
            name: The import name.
            sources: Each file's bytes by its path, `trl/trainer/sft_config.py`.
        """
        self.name = name
        self._sources = sources
        self._parsed: dict[str, Module] = {}
        self._names: dict[str, dict[str, Binding]] = {}
        self.files: dict[str, str] = {}
        for path in sources:
            if path.startswith(f"{name}/") and path.endswith(".py"):
                module = path[: -len(".py")].replace("/", ".")
                if module.endswith(".__init__"):
                    self.files[module.removesuffix(".__init__")] = path
                else:
                    self.files.setdefault(module, path)
        self.aliases = legacy_aliases(name, self._tree(name))
        self._inside: dict[str, list[str]] = {}
        for module in self.files:
            self._inside.setdefault(module.rpartition(".")[0], []).append(module)

    def source(self, module: str) -> str:
        """Return a module's text."""
        return self._sources[self.files[module]].decode("utf-8", "replace")

    def module(self, name: str) -> Module | None:
        """Return a module, or None if the package has none of that name."""
        if name not in self._parsed:
            if name not in self.files:
                return None
            self._parsed[name] = self._read(name)
        return self._parsed[name]

    def resolve(self, module: str, name: str, depth: int = DEPTH) -> Found | None:
        """Return the object that a name of a module stands for; None if it is unknown."""
        if module.partition(".")[0] != self.name:
            return Elsewhere(f"{module}.{name}".removeprefix("."))
        module = self.aliases.get(module, module)
        bindings = self.bindings(module) or {}
        binding = bindings.get(name) if depth else None
        if not isinstance(binding, From):
            return binding
        return None if binding == From(module, name) else self._imported(binding, depth - 1)

    def _imported(self, origin: From, depth: int) -> Found | None:
        """Return what an import binds: a name of the module, or else a module below it."""
        found = self.resolve(origin.module, origin.name, depth)
        path = f"{origin.module}.{origin.name}"
        return Submodule(path) if found is None and path in self.files else found

    def bindings(self, module: str) -> dict[str, Binding] | None:
        """Return every name that can be imported from a module, those of its `import *` among them."""
        if module not in self._names:
            read = self.module(module)
            if read is None:
                return None
            self._names[module] = names = dict(read.bindings)  # before its stars are followed: these may come round
            for star in read.stars:
                for name in self._starred(star):
                    names.setdefault(name, From(star, name))
        return self._names[module]

    def is_dynamic(self, module: str) -> bool:
        """True if a module may have names that are not listed."""
        read = self.module(module)
        return read is None or read.dynamic or any(star.partition(".")[0] != self.name for star in read.stars)

    def _starred(self, module: str) -> Iterable[str]:
        names = self.bindings(module) or {}
        read = self._parsed.get(module)
        if read is not None and read.exports is not None:
            return [name for name in names if name in read.exports]
        return [name for name in names if not name.startswith("_")]

    def _tree(self, name: str) -> ast.Module | None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence": theirs to fix
            try:
                return ast.parse(self._sources[self.files[name]])
            except (KeyError, SyntaxError, ValueError):
                return None

    def _read(self, name: str) -> Module:
        tree = self._tree(name)
        module = Module(name, self.files[name].endswith("/__init__.py"), tree, dynamic=tree is None)
        if tree is None:
            return module
        ModuleReader(module).read(tree.body)
        if module.is_package:
            self._add_lazy(module, tree)
            for inside in self._inside.get(name, ()):
                module.bindings.setdefault(inside.rpartition(".")[2], Submodule(inside))
            for alias in self.aliases:
                if alias.rpartition(".")[0] == name:
                    module.bindings.setdefault(alias.rpartition(".")[2], Submodule(alias))
        return module

    def _add_lazy(self, module: Module, tree: ast.Module) -> None:
        for submodule, name in lazy_names(tree):
            path = f"{module.name}.{submodule}" if submodule else module.name
            if name:
                module.bindings.setdefault(name, From(path, name))
            elif "." not in submodule:
                module.bindings.setdefault(submodule, Submodule(path))
        if "define_import_structure(" in self.source(module.name):
            module.stars = []  # `from .models import *` for type checkers: all of it stands in the `__all__`s below
            for name, inside in self._exported(module.name):
                module.bindings.setdefault(name, From(inside, name))

    def _exported(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield each name in the `__all__` of a model's file, and the file: what `define_import_structure` collects."""
        prefix = f"{name}.models." if name == self.name else f"{name}."
        for inside in self.files:
            if inside.startswith(prefix):
                for listed in EXPORTS.findall(self.source(inside)):
                    yield from ((word, inside) for word in WORDS.findall(listed))


class ModuleReader:
    """Reads the statements of a module into what they bind."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def read(self, body: Iterable[ast.stmt], *, nested: bool = False) -> None:
        """Read statements; `nested` ones stand in a branch that may not be taken."""
        for statement in body:
            self._read(statement, nested=nested)

    def _read(self, statement: ast.stmt, *, nested: bool) -> None:
        match statement:
            case ast.ClassDef():
                self._bind(statement.name, ClassStatement(self.module.name, statement), nested=nested)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._define(statement, nested=nested)
            case ast.ImportFrom():
                self._import_from(statement, nested=nested)
            case ast.Import():
                self._import(statement, nested=nested)
            case ast.Assign() | ast.AnnAssign():
                self._assign(statement, nested=nested)
            case _:
                self._read_inside(statement)

    def _read_inside(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.For):
            self._assign(ast.Assign([statement.target], statement.iter), nested=True)
        for block in blocks(statement):
            self.read(block, nested=True)

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, *, nested: bool) -> None:
        if any(isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list):
            return
        if node.name == "__getattr__":
            self.module.dynamic = True
        self._bind(node.name, FunctionStatement(self.module.name, node), nested=nested)

    def _import_from(self, statement: ast.ImportFrom, *, nested: bool) -> None:
        source = self._absolute(statement.level, statement.module)
        for alias in statement.names:
            if alias.name == "*":
                self.module.stars.append(source)
            else:
                self._bind(alias.asname or alias.name, From(source, alias.name), nested=nested)

    def _import(self, statement: ast.Import, *, nested: bool) -> None:
        for alias in statement.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self._bind(alias.asname or path, self._module_of(path), nested=nested)

    def _assign(self, statement: ast.Assign | ast.AnnAssign, *, nested: bool) -> None:
        value = statement.value
        if value is None:
            return
        for name in _assigned_names(statement):
            if name == "__all__":
                self.module.exports = _strings(value)
            elif not self._is_wrapped(name, value):
                self._bind(name, self._value(name, value), nested=nested)

    def _is_wrapped(self, name: str, value: ast.expr) -> bool:
        """True for `AutoModel = auto_class_update(AutoModel)`, which leaves it what it is."""
        arguments = value.args if isinstance(value, ast.Call) else ()
        given = {each.id for each in arguments if isinstance(each, ast.Name)}
        return name in given and isinstance(self.module.bindings.get(name), ClassStatement | FunctionStatement)

    def _value(self, name: str, value: ast.expr) -> Binding:
        """Return what a name stands for: the same as another name, or a value."""
        if isinstance(value, ast.Name) and value.id != name:
            return From(self.module.name, value.id)
        return Constant(self.module.name, value)

    def _bind(self, name: str, binding: Binding, *, nested: bool) -> None:
        known = self.module.bindings.get(name)
        if nested and isinstance(known, ClassStatement | FunctionStatement):
            return  # a stub for when a package is missing never hides the real thing
        if nested and isinstance(known, From) and isinstance(binding, Constant):
            return  # likewise `X = None`
        self.module.bindings[name] = binding

    def _module_of(self, path: str) -> Found:
        inside = path.partition(".")[0] == self.module.name.partition(".")[0]
        return Submodule(path) if inside else Elsewhere(path)

    def _absolute(self, level: int, name: str | None) -> str:
        if not level:
            return name or ""
        parts = self.module.name.split(".")
        up = level - 1 if self.module.is_package else level
        return ".".join([*parts[: len(parts) - up], *([name] if name else [])])


def blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield the statements inside a statement that opens no scope of its own."""
    match statement:
        case ast.If() | ast.For() | ast.While():
            yield from (statement.body, statement.orelse)
        case ast.Try():
            yield from (statement.body, statement.orelse, *(each.body for each in statement.handlers))
            yield statement.finalbody
        case ast.With():
            yield statement.body
        case _:
            return


def _assigned_names(statement: ast.Assign | ast.AnnAssign) -> Iterator[str]:
    """Yield the names that an assignment binds; `Trainer.push_to_hub = ...` binds none."""
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        for leaf in ast.walk(target):
            if isinstance(leaf, ast.Name) and isinstance(leaf.ctx, ast.Store):
                yield leaf.id


def _strings(value: ast.expr) -> frozenset[str] | None:
    elements = value.elts if isinstance(value, ast.List | ast.Tuple) else [ast.Name("?")]
    texts = [each.value for each in elements if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return frozenset(texts) if len(texts) == len(elements) else None
