"""Variables that a launcher sets for each process, and whether a script can do without them.

A script that reads `os.environ["RANK"]` wants `torchrun`: it is rehearsed as the only process, rank 0 of 1.
"""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

ALONE: Final[Mapping[str, Mapping[str, str]]] = {
    "torchrun": {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
    },
    "srun": {
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NTASKS": "1",
        "SLURM_NNODES": "1",
        "SLURM_NODEID": "0",
    },
    "mpirun": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"},
}
"""What each launcher tells a process that is the only one. `MASTER_PORT` is chosen where the process starts."""
TORCHRUN: Final = frozenset({"torchrun", "accelerate", "deepspeed"})
"""Launchers that set what `torchrun` does."""
PORT: Final = "MASTER_PORT"
GROUP: Final = "init_process_group"
WORDS: Final = (GROUP, PORT, *(name for variables in ALONE.values() for name in variables))
"""A script that holds none of these needs no launcher."""
NUMBERED: Final = frozenset({"rank", "world_size", "store"})
"""Arguments of `init_process_group` that take the place of variables."""
CATCHES: Final = frozenset({"KeyError", "LookupError", "ValueError", "TypeError", "Exception"})


@dataclass(frozen=True, slots=True)
class NeededLauncher:
    """What a script has to be started by.

    Attributes:
        name: `torchrun`, `srun` or `mpirun`.
        variable: The first of its variables that the script cannot do without.
        line: Where the script reads it, counted from 1.
    """

    name: str
    variable: str
    line: int


@lru_cache(maxsize=1)  # it is asked of one script in a row, and parses it
def wanted_launcher(source: str) -> NeededLauncher | None:
    r"""Return the launcher whose variables a script reads without saying what holds where there are none.

    >>> wanted_launcher('import os\nrank = int(os.environ["RANK"])')
    NeededLauncher(name='torchrun', variable='RANK', line=2)
    >>> wanted_launcher('import os\nrank = int(os.environ.get("RANK", 0))')
    """
    if not any(word in source for word in WORDS):
        return None
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    return next(_needed_launchers(tree), None)


def _needed_launchers(tree: ast.Module) -> Iterator[NeededLauncher]:
    """Yield the launcher of each variable that a script needs and does not set itself."""
    reads = list(_reads(tree.body, branched=False, guarded=False))
    copes = any(each.copes for each in reads)
    for read in reads:
        names = _launchers_of(read.name)
        if names and read.is_strict(elsewhere_copes=copes) and not _sets(tree, read.name):  # which walks the whole tree
            yield from (NeededLauncher(name, read.name, read.line) for name in names)


def _launchers_of(variable: str) -> list[str]:
    return [name for name, variables in ALONE.items() if variable in variables or variable == PORT]


def alone(launched_by: Collection[str], source: str) -> dict[str, str]:
    """Return the variables of the only process of a script: those of its launchers, or of the one that it wants.

    >>> alone(["torchrun"], "")["WORLD_SIZE"], alone([], "")
    ('1', {})
    """
    if TORCHRUN & set(launched_by):
        return dict(ALONE["torchrun"])
    launcher = wanted_launcher(source)
    return dict(ALONE[launcher.name]) if launcher else {}


@dataclass(frozen=True, slots=True)
class VariableRead:
    """A place where a script reads a variable.

    Attributes:
        name: The variable.
        line: Where, counted from 1.
        copes: Whether the script says what holds where it is not set.
        branched: Whether the place is in a branch, which may never be reached.
        guarded: Whether it is in a branch, or in a function, which may be called in one.
    """

    name: str
    line: int
    copes: bool
    branched: bool
    guarded: bool

    def is_strict(self, *, elsewhere_copes: bool) -> bool:
        """True if the script cannot do without the variable, given whether it copes without one at another place."""
        return not (self.copes or self.branched or (self.guarded and elsewhere_copes))


def _reads(nodes: Collection[ast.AST], *, branched: bool, guarded: bool) -> Iterator[VariableRead]:
    """Yield the variables that some nodes read."""
    for node in nodes:
        found = _variable_read(node)
        if found:
            name, line, copes = found
            yield VariableRead(name, line, copes=copes, branched=branched, guarded=branched or guarded)
        else:
            within = branched or _is_branch(node)
            in_function = guarded or isinstance(node, ast.FunctionDef)
            yield from _reads(list(ast.iter_child_nodes(node)), branched=within, guarded=in_function)


def _variable_read(node: ast.AST) -> tuple[str, int, bool] | None:
    """Return the variable that a node itself reads, its line, and whether it says what holds where there is none."""
    match node:
        case ast.Subscript(value=held, slice=ast.Constant(value=str(name)), ctx=ast.Load()) if _is_environ(held):
            return name, node.lineno, False
        case ast.Compare(left=ast.Constant(value=str(name)), comparators=[held]) if _is_environ(held):
            return name, node.lineno, True
        case ast.Call(func=ast.Name(id="int"), args=[ast.Call(args=[ast.Constant(value=str(name))]) as read]) if (
            _asks_environ(read)
        ):
            return name, node.lineno, False  # int(None) raises
        case ast.Call(args=[ast.Constant(value=str(name)), *_]) if _asks_environ(node):
            return name, node.lineno, True
        case ast.Call(func=ast.Attribute(attr=attr)) if attr == GROUP and not _is_numbered(node):
            return "RANK", node.lineno, False
        case _:
            return None


def _is_numbered(call: ast.Call) -> bool:
    """True if `init_process_group` is given its rank, or where to meet."""
    given = {each.arg: each.value for each in call.keywords}
    by_address = "init_method" in given and not _is_env(given["init_method"])
    return bool(given.keys() & NUMBERED) or by_address


def _asks_environ(call: ast.Call) -> bool:
    """True if a call is `os.environ.get` or `os.getenv`."""
    match call.func:
        case ast.Attribute(value=held, attr="get"):
            return _is_environ(held)
        case ast.Attribute(attr="getenv") | ast.Name(id="getenv"):
            return True
        case _:
            return False


def _is_environ(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="environ") | ast.Name(id="environ"):
            return True
        case _:
            return False


def _is_env(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (None, "env://")


def _is_branch(node: ast.AST) -> bool:
    """True if what stands in a node may be left out."""
    match node:
        case ast.If():
            return not _is_main(node)
        case ast.IfExp() | ast.BoolOp():
            return True
        case _:
            return _is_caught(node)


def _is_main(node: ast.If) -> bool:
    """True if a branch is `if __name__ == "__main__"`."""
    return (
        isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Name) and node.test.left.id == "__name__"
    )


def _is_caught(node: ast.AST) -> bool:
    """True if a `try` goes on where a variable is not set."""
    if not isinstance(node, ast.Try):
        return False
    kinds = [each.type for each in node.handlers]
    return any(
        kind is None or CATCHES & {each.id for each in ast.walk(kind) if isinstance(each, ast.Name)} for kind in kinds
    )


def _sets(tree: ast.AST, name: str) -> bool:
    """True if a script sets a variable itself."""
    return any(_set_by(node, name) for node in ast.walk(tree))


def _set_by(node: ast.AST, name: str) -> bool:
    match node:
        case (
            ast.Subscript(value=held, slice=ast.Constant(value=key), ctx=ast.Store())
            | ast.Call(func=ast.Attribute(value=held, attr="setdefault"), args=[ast.Constant(value=key), *_])
        ):
            return key == name and _is_environ(held)
        case ast.Call(func=ast.Attribute(value=held, attr="update")) if _is_environ(held):
            return name in _updated_names(node)
        case _:
            return False


def _updated_names(call: ast.Call) -> set[Any]:
    """Return the names that a call of `update` gives values."""
    keys = [key for each in call.args if isinstance(each, ast.Dict) for key in each.keys]
    return {key.value for key in keys if isinstance(key, ast.Constant)} | {each.arg for each in call.keywords}
