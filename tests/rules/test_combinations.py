"""What the checks of a release's constructors come to is what its real classes do, on the versions that are installed.

The programs are taken here from the installed sources, as they are from the wheels, so that this says of the reduction and of
its running what holds, whatever the history holds.
"""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.job.constructor_checks import KnownValue, MethodChecks, Outcome, construct
from holdfast.core.job.expressions import UNKNOWN
from holdfast.history.checks.reducing import reduce_checks
from holdfast.history.modules import PackageModules
from holdfast.history.values import ConstantFolder
from tests.helpers.combination_table import REFUSED

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

PLAIN = (str, int, float, bool, list, tuple, dict, set, type(None))
LIBRARIES = ("trl", "transformers", "peft")
# Where nobody has a GPU, and nobody is to be told.
QUIET = {"use_cpu": True, "report_to": "none", "output_dir": "out"}
VALUE = re.compile(r"…|\w+\.\w+(?=[\s,.]|$)")


@cache
def package(name: str) -> PackageModules:
    root = Path(str(importlib.import_module(name).__file__)).parent
    files = {f"{name}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in root.rglob("*.py")}
    return PackageModules(name, files)


@cache
def real_class(path: str) -> type:
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, type)
    return found


@cache
def programs(path: str) -> tuple[MethodChecks, ...]:
    return tuple(each for cls in real_class(path).__mro__ for each in own_programs(cls))


def own_programs(cls: type) -> Iterator[MethodChecks]:
    library = cls.__module__.partition(".")[0]
    if library not in LIBRARIES:
        return
    tree = ast.parse(Path(str(inspect.getsourcefile(cls))).read_text(encoding="utf-8"))
    node = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == cls.__name__)
    scope = ConstantFolder(package(library), cls.__module__)
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in ("__init__", "__post_init__"):
            text = reduce_checks(node, method, scope)
            if text:
                yield MethodChecks(f"{cls.__module__}.{cls.__name__}", method.name, text)


@cache
def defaults(path: str) -> Mapping[str, Any]:
    cls = real_class(path)
    made = {each.name: each.default_factory for each in fields(cls)} if is_dataclass(cls) else {}
    found = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        factory = made.get(name)
        default = factory() if callable(factory) else parameter.default
        plain = default.value if isinstance(default, str) and hasattr(default, "value") else default
        found[name] = plain if isinstance(plain, PLAIN) else UNKNOWN
    return found


def outcome(path: str, given: Mapping[str, Any]) -> Outcome:
    """What the checks say."""
    written = {name: KnownValue(value, frozenset({name})) for name, value in given.items()}
    left = {name: KnownValue(value) for name, value in defaults(path).items()}
    of_class = programs(path)
    return construct(path, of_class, written if of_class[0].method == "__init__" else left | written)


def refusal(path: str, given: Mapping[str, Any]) -> Exception | None:
    """What the class itself says."""
    try:
        real_class(path)(**given)
    except (ValueError, TypeError, NotImplementedError) as error:
        return error
    return None


def spoken(path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {**(QUIET if "use_cpu" in defaults(path) else {}), **given}


def same_words(said: str, meant: str) -> bool:
    """Whether two messages differ in the values in them only: an enum's member is spelled by its class there."""
    return said[:15] == meant[:15] and VALUE.sub("", said)[:8] == VALUE.sub("", meant)[:8]


def cases() -> Sequence[Any]:
    return [pytest.param(*each, id=f"{each[0].rpartition('.')[2]}{index}") for index, each in enumerate(REFUSED)]


@pytest.mark.parametrize(("path", "refused", "taken"), cases())
def test_objects_where_the_class_does(path: str, refused: dict[str, Any], taken: dict[str, Any]) -> None:
    """What the class refuses is refused with the same words and by a condition on what was given; a near miss is not."""
    given = spoken(path, refused)
    error, raised = refusal(path, given), outcome(path, given).raised
    missed = spoken(path, {**refused, **taken})

    assert error is not None
    assert raised is not None
    assert type(error).__name__ == raised.exception
    assert same_words(str(error), raised.message), (str(error), raised.message)
    assert not raised.reads or raised.reads[0] <= set(given)
    assert refusal(path, missed) is None
    assert outcome(path, missed).raised is None


def test_no_check_is_known_of_what_is_hidden() -> None:
    """Where everything is unknown, nothing is refused."""
    for path in dict.fromkeys(path for path, _, _ in REFUSED):
        of_class = programs(path)
        hidden = {name: KnownValue(UNKNOWN, frozenset({name})) for name in defaults(path)}
        assert construct(path, of_class, hidden).raised is None, path


def pairs() -> Iterator[Any]:
    """Two faults of one class that no argument connects, neither in what is written nor in what would be right."""
    for (path, *one), (other_path, *other) in combinations(REFUSED, 2):
        touched = [set(refused) | set(taken) for refused, taken in (one, other)]
        given = spoken(path, {}) | {name: value for arguments in (*one, *other) for name, value in arguments.items()}
        if path == other_path and not touched[0] & touched[1] and refusal(path, given) is None:
            yield path, one, other


def test_no_error_hides_another() -> None:
    """Of two faults at once both are told, each as the class tells it where the other one is fixed."""
    told = hidden = 0
    for path, (refused, taken), (also, fixed) in pairs():
        given = spoken(path, refused | also)
        errors = outcome(path, given).errors
        left = [refusal(path, given | repair) for repair in (taken, fixed)]
        if not all(left):
            continue
        told, hidden = told + (len(errors) > 1), hidden + (len(errors) == 1)
        assert errors, (path, given)
        for each in left if len(errors) > 1 else ():
            assert any(same_words(str(each), error.message) for error in errors), (path, given, each)
    assert told > 20 * hidden
