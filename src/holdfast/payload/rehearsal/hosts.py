"""What a notebook's host gives it: stand-ins for the modules of IPython, Colab and Kaggle that this environment lacks.

Covered: what shows something, asks somebody, or mounts something, none of which a rehearsal waits for. Not covered: what
somebody would have answered, such as files that are uploaded; a module that is imported within `try` stays missing, since the
notebook says itself what it does without.
"""

import ast
import builtins
import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .events import EventWriter
from .pushes.pretended import secret

HOSTS = ("IPython", "ipywidgets", "google.colab", "kaggle_secrets")
SECRETS = ("get", "get_secret")
"""What a host's store of secrets is asked by."""
BECAUSE = "the host of the notebook has it; here nothing was asked or shown"


class Nothing(str):
    """The answer to anything: false, empty, and it has and can do whatever it is asked for; it keeps what it is made with."""

    __slots__ = ("__dict__",)

    def __new__(cls, *_: Any, **__: Any) -> "Nothing":  # noqa: D102, PYI034 - Self came with Python 3.11
        return super().__new__(cls)

    def __init__(self, *_: Any, **given: Any) -> None:
        vars(self).update(given)

    def __call__(self, *_: Any, **__: Any) -> Any:  # noqa: D102 - as the class says
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return (lambda *_: secret()) if name in SECRETS else self

    def __getitem__(self, _: Any) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class _Module(ModuleType):
    """A module that has every name: classes, which libraries make others of, by their capital letter."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[:1].isupper():
            return type(name, (Nothing,), {"__slots__": ()})
        return print if name == "display" else Nothing()


class _Finder:
    """Finds the modules of hosts."""

    def __init__(self, missing: set[str]) -> None:
        self._missing = missing

    def find_spec(self, wanted: str, *_: Any) -> ModuleSpec | None:
        """Return the spec of a stand-in, also of a package that one is in."""
        if any(f"{wanted}.".startswith(f"{host}.") or host.startswith(f"{wanted}.") for host in self._missing):
            return ModuleSpec(wanted, self, is_package=True)  # type: ignore[arg-type] # a loader by its two functions
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the stand-in; a package that one is in has nothing else."""
        within = any(f"{spec.name}.".startswith(f"{host}.") for host in HOSTS)
        return _Module(spec.name) if within else ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it as it is."""


def stand_in(source: str, events: EventWriter) -> None:
    """Have a notebook find what its host gives it."""
    own: Any = builtins
    own.display = print  # which IPython gives to every cell
    own.get_ipython = Nothing
    missing = {host for host in HOSTS if not _is_installed(host)}
    try:
        tree = ast.parse(source)
    except SyntaxError:  # which running it shows
        return
    needed = missing - set(_tried(tree))
    sys.meta_path.append(_Finder(needed))
    for host in needed & set(_imported(tree)):
        events.not_rehearsed(host, BECAUSE)


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package that it would be in
        return False


def _tried(tree: ast.AST) -> Iterator[str]:
    """Yield the hosts whose modules are imported within `try`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            for each in node.body:
                yield from _imported(each)


def _imported(tree: ast.AST) -> Iterator[str]:
    """Yield the hosts whose modules are imported somewhere in a piece of a program."""
    for node in ast.walk(tree):
        names = [f"{name}." for name in _imported_names(node)]
        yield from (host for host in HOSTS if any(name.startswith(f"{host}.") for name in names))


def _imported_names(node: ast.AST) -> list[str]:
    """Return the names of the modules that a statement may import."""
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "", *(f"{node.module}.{each.name}" for each in node.names)]
    return []
