"""What one release of a package offers."""

import ast
import re
from collections.abc import Mapping
from email.parser import HeaderParser
from typing import Final

from holdfast.history.classes import body_of, lineage, read_class
from holdfast.history.commands import read_commands
from holdfast.history.coverage import PACKAGES, is_covered, is_described, is_extra, is_listed, is_model
from holdfast.history.entries import ModuleEntry, Release
from holdfast.history.functions import is_overload, read_function
from holdfast.history.modules import (
    Binding,
    ClassStatement,
    Constant,
    Elsewhere,
    Found,
    From,
    FunctionStatement,
    PackageModules,
    Submodule,
)
from holdfast.history.values import ConstantFolder, dotted, enum_members

TESTS: Final = re.compile(r"\.(tests?|test_utils|testing_utils)(\.|$)")
EXTRA: Final = re.compile(r"""\s*(?:and\s*)?\(?\s*extra\s*==\s*['"]([\w.-]+)['"]\s*\)?""")
REPORTERS: Final = "INTEGRATION_TO_CALLBACK"
"""transformers' table of what `report_to` may name."""


def read_release(package: str, version: str, date: str, metadata: str, sources: Mapping[str, bytes]) -> Release:
    """Return the API of one release.

    Args:
        package: Its import name.
        version: As released.
        date: Of the release, `2026-11-20`.
        metadata: Its METADATA or PKG-INFO.
        sources: The bytes of each of its modules by path, `trl/trainer/sft_config.py`.
    """
    headers = HeaderParser().parsestr(metadata)
    requires, extras = _requirements([str(line) for line in headers.get_all("Requires-Dist", [])])
    release = Release(
        package=package,
        version=version,
        date=date,
        python=headers.get("Requires-Python"),
        requires=requires,
        extras=extras,
    )
    describer = Describer(PackageModules(package, sources), release)
    describer.read_modules()
    if package == "trl":
        release.commands = read_commands(describer.package)
    return release


def _requirements(lines: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    """Return the requirements of a release, and those that each of its extras adds."""
    always: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in lines:
        extra = EXTRA.search(line)
        if extra is None:
            always.append(line)
        elif is_extra(extra.group(1)):
            rest = EXTRA.sub("", line).strip().rstrip(";").strip()
            extras.setdefault(extra.group(1), []).append(rest)
    return sorted(always), {name: sorted(extras[name]) for name in sorted(extras)}


def _is_in_covered_package(path: str) -> bool:
    """True of a path below a package that the history covers."""
    package, _, name = path.partition(".")
    return package in PACKAGES and bool(name)


class Describer:
    """Goes through the modules of a release and describes what their names stand for."""

    def __init__(self, package: PackageModules, release: Release) -> None:
        self.package, self.release = package, release

    def read_modules(self) -> None:
        """Describe every module."""
        for module in (*self.package.files, *self.package.aliases):
            if not TESTS.search(module.rpartition(".")[0]) and is_covered(self.package.name, module):
                listed = is_listed(self.package.name, module) and not TESTS.search(module)
                self.release.modules[module] = self._module(module) if listed else ModuleEntry(dynamic=True)

    def _module(self, module: str) -> ModuleEntry:
        there = self.package.aliases.get(module, module)
        entry = ModuleEntry(dynamic=self.package.is_dynamic(there))
        for name, binding in (self.package.bindings(there) or {}).items():
            home = self._home(there, name, binding)
            if home is not None:
                entry.names[name] = "" if home == f"{module}.{name}" else home
        return entry

    def _home(self, module: str, name: str, binding: Binding) -> str | None:
        """Return the path that a module's name is described under, empty if it is not; None of a name that is not listed."""
        match binding:
            case Submodule(path=path) if path == f"{module}.{name}":
                return None  # it has an entry of its own
            case From(module=origin) if is_model(self.package.name, origin):
                return ""  # thousands of files that would have to be parsed
            case _ if name.startswith("__") and name != "__version__":
                return None
            case _:
                return self._describe(name, self.package.resolve(module, name))

    def _describe(self, name: str, found: Found | None) -> str:
        """Describe what a name stands for, where that is covered; return its home, empty if it is not covered."""
        match found:
            case ClassStatement():
                return self._class(found)
            case FunctionStatement():
                return self._function(found)
            case Elsewhere(path=path) if _is_in_covered_package(path):
                return path
            case Constant():
                return self._constant(name, found)
            case _:
                return ""

    def _constant(self, name: str, constant: Constant) -> str:
        """Describe a value that is a method of an instance, or the table of reporters; return the home of the method."""
        match constant.value:
            case ast.Attribute(value=ast.Name(id=instance), attr=method) if method == name:
                bound = self._method_of(constant.module, instance, method)
                return self._function(bound) if bound else ""
            case ast.Dict(keys=keys) if name == REPORTERS:
                names = [str(each.value) for each in keys if isinstance(each, ast.Constant)]
                self.release.enums[f"{constant.module}.{name}"] = names
                return ""
            case _:
                return ""

    def _class(self, cls: ClassStatement) -> str:
        home = cls.home
        if home in self.release.classes or home in self.release.enums:
            return home
        members = enum_members(self.package, cls)
        if members:
            self.release.enums[home] = sorted(set(members.values()))
            return home
        if not is_described(self.package.name, home):
            return ""
        for each in lineage(self.package, cls):  # an ancestor's methods are its descendants'
            if isinstance(each, ClassStatement) and each.home not in self.release.classes:
                self.release.classes[each.home] = read_class(self.package, each)
        return home

    def _function(self, function: FunctionStatement) -> str:
        if not is_described(self.package.name, function.home):
            return ""
        if function.home not in self.release.functions:
            scope = ConstantFolder(self.package, function.module)
            self.release.functions[function.home] = read_function(scope, function.node, bound=function.bound)
        return function.home

    def _method_of(self, module: str, instance: str, method: str) -> FunctionStatement | None:
        """Return the method behind `create_repo = api.create_repo`, where `api = HfApi()`."""
        found = self.package.resolve(module, instance)
        if not isinstance(found, Constant) or not isinstance(found.value, ast.Call):
            return None
        cls = self.package.resolve(found.module, dotted(found.value.func) or "")
        for statement in body_of(cls.node) if isinstance(cls, ClassStatement) else ():
            if isinstance(statement, ast.FunctionDef) and statement.name == method and not is_overload(statement):
                return FunctionStatement(module, statement, bound=True)
        return None
