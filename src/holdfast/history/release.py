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


class Describer:
    """Goes through the modules of a release and describes what their names stand for."""

    def __init__(self, package: PackageModules, release: Release) -> None:
        self.package, self.release = package, release

    def read_modules(self) -> None:
        """Describe every module."""
        for module in (*self.package.files, *self.package.aliases):
            if not TESTS.search(module.rpartition(".")[0]) and is_covered(self.package.name, module):
                self.release.modules[module] = self._module(module)

    def _module(self, module: str) -> ModuleEntry:
        there = self.package.aliases.get(module, module)
        if not is_listed(self.package.name, module) or TESTS.search(module):
            return ModuleEntry(dynamic=True)
        entry = ModuleEntry(dynamic=self.package.is_dynamic(there))
        for name, binding in (self.package.bindings(there) or {}).items():
            if isinstance(binding, Submodule) and binding.path == f"{there}.{name}":
                continue  # its own line tells of it
            if isinstance(binding, From) and is_model(self.package.name, binding.module):
                entry.names[name] = ""  # thousands of files that would have to be parsed
            elif not name.startswith("__") or name == "__version__":
                home = self._describe(name, self.package.resolve(there, name))
                entry.names[name] = "" if home == f"{module}.{name}" else home
        return entry

    def _describe(self, name: str, found: Found | None) -> str:
        """Describe what a name stands for, where that is covered; return its home, empty if it is not covered."""
        match found:
            case ClassStatement():
                return self._class(found)
            case FunctionStatement():
                return self._function(found)
            case Elsewhere(path=path):
                return path if path.partition(".")[0] in PACKAGES and "." in path else ""
            case Constant(value=ast.Attribute(value=ast.Name(id=instance), attr=method)) if method == name:
                bound = self._method_of(found.module, instance, method)
                return self._function(bound) if bound else ""
            case Constant(value=ast.Dict() as table) if name == REPORTERS:
                names = [each.value for each in table.keys if isinstance(each, ast.Constant)]
                self.release.enums[f"{found.module}.{name}"] = [str(each) for each in names]
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
