"""Calls one reward function as TRL's trainers do, or a job's `map`, in a process of its own, and writes down what it gave.

    python ask_reward.py QUESTION ANSWER

QUESTION is a JSON file: `function`, `prompts`, `completions`, `completion_ids`, and `columns`, each a list with a value for
each completion; or `function`, `predictions`, `references` and `columns`, where it is a metric; or `function` and `rows`, where it is to
rewrite rows. ANSWER is written twice: with `imported` when the function is found, and again with what came of the call.

Source: `_calculate_rewards` of `GRPOTrainer` and `RLOOTrainer`, TRL 1.16.
"""

import asyncio
import functools
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TRL = "trl.rewards"
NUMBERS_END = 3.4028235677973366e38
"""What is greater is infinite as a 32-bit float, which is what the trainer keeps rewards in."""
STARRED = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Parameters = Mapping[str, inspect.Parameter]


class UnusableError(Exception):
    """Why the trainer could not use the function, in words."""


def main(question: Path, answer: Path) -> None:
    """Ask the function, and write the answer."""
    # Whatever the function or its imports print goes nowhere; so does what libraries print past Python.
    quiet = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(quiet, stream)
    work = json.loads(question.read_text(encoding="utf-8"))
    outcome: dict[str, Any] = {}
    try:
        function = find(work["function"])
        write(answer, {"imported": True})
        outcome = ask(function, work)
    except UnusableError as error:
        outcome["problem"] = str(error)
    except ModuleNotFoundError as error:
        outcome["absent" if work["function"].startswith(f"{TRL}:") else "problem"] = describe_error(
            error, work["function"]
        )
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a function may raise what it likes, and leave the program too
        outcome["problem"] = describe_error(error, work["function"])
    write(answer, {"imported": True, **outcome})
    os._exit(0)  # threads that the function left behind are not waited for


def ask(function: Any, work: dict[str, Any]) -> dict[str, Any]:
    """Return what came of the call: rows, or the results of a metric or of a reward function."""
    if "rows" in work:
        return {"rows": [rewritten(function, row) for row in work["rows"]]}
    return {"rewards": measured(function, work) if "predictions" in work else call(function, work)}


def find(name: str) -> Any:
    """Import the function that is named `file.py:function` or `module:function`."""
    home, _, function = name.rpartition(":")
    if home.endswith(".py"):
        path = Path(home).resolve()
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise UnusableError(f"there is no file {home}")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    else:
        sys.path.insert(0, "")
        module = importlib.import_module(home)
    if not hasattr(module, function):
        raise UnusableError(f"{home} has no `{function}`")
    return getattr(module, function)


def rewritten(function: Any, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as `dataset.map` would have it from the function."""
    given_back = function(row)
    if not isinstance(given_back, dict):
        raise UnusableError(f"it returns {article(given_back)}, not a row")
    return given_back


def measured(function: Any, request: dict[str, Any]) -> list[float | None]:
    """Return the values of a metric, which gets those arguments that it names."""
    if not callable(function):
        raise UnusableError(f"it is {article(function)}, and no function")
    given = {**request["columns"], "predictions": request["predictions"], "references": request["references"]}
    parameters = inspect.signature(function).parameters
    if not takes_any(parameters):
        given = {name: value for name, value in given.items() if name in parameters}
    if lacking := [name for name in required(parameters) if name not in given]:
        raise UnusableError(f"it asks for {spell(lacking)}: the data has no such column")
    return read(function(**given), len(request["predictions"]), "value")


def takes_any(parameters: Parameters) -> bool:
    """True if a function takes keywords of any name."""
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())


def required(parameters: Parameters) -> list[str]:
    """Return the names of the parameters that have no default."""
    return [name for name, each in parameters.items() if each.default is each.empty and each.kind not in STARRED]


def call(function: Any, request: dict[str, Any]) -> list[float | None]:
    """Return the function's results, a number or None for each completion."""
    if not callable(function):
        raise UnusableError(f"it is {article(function)}, and no function")
    state = SimpleNamespace(
        global_step=0, max_steps=1, epoch=0.0, num_train_epochs=1, log_history=[], is_world_process_zero=True
    )
    given = {
        "prompts": request["prompts"],
        "completions": request["completions"],
        "completion_ids": request["completion_ids"],
        **request["columns"],
        "trainer_state": state,
        "log_extra": lambda _column, _values: None,
        "log_metric": lambda _name, _value: None,
    }
    check_signature(function, given)
    given_back = asyncio.run(waited(function, given)) if is_async(function) else function(**given)
    return read(given_back, len(request["prompts"]))


async def waited(function: Any, given: dict[str, Any]) -> Any:
    """Return the result of a function, awaited if it is async."""
    return await function(**given)


def is_async(function: Any) -> bool:
    """Whether the trainer awaits it."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(function.__call__)


def check_signature(function: Any, given: dict[str, Any]) -> None:
    """Refuse a function that does not take what the trainer gives, with all that is wrong at once."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return  # written in C; calling it will tell
    if problems := list(misfits(parameters, given)):
        raise UnusableError("; ".join(problems))


def misfits(parameters: Parameters, given: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with parameters that get arguments by keyword."""
    named = {name for name, each in parameters.items() if each.kind in BY_KEYWORD}
    taken = named & given.keys()
    if lacking := [name for name in required(parameters) if name not in taken]:
        yield f"it asks for {spell(lacking)}, which the trainer does not give it: the data has no such column"
    unasked = [] if takes_any(parameters) else sorted(given.keys() - named)
    if unasked:
        yield f"it does not take {spell(unasked)}, which the trainer gives it: add `**kwargs`"


def spell(names: list[str]) -> str:
    """Return names as they stand in a sentence."""
    return ", ".join(f"`{name}`" for name in names)


def read(given_back: Any, count: int, what: str = "reward") -> list[float | None]:
    """Return what a function gave as numbers."""
    try:
        values = list(given_back)
    except TypeError:
        raise UnusableError(f"it returns {article(given_back)}, not a list of {what}s") from None
    if len(values) != count:
        raise UnusableError(f"it returns {len(values)} {what}s for {count} completions")
    return [None if value is None else number(value, f"{what} {at}") for at, value in enumerate(values)]


def number(given: Any, what: str) -> float:
    """Return one value as a number."""
    wrong = UnusableError(f"its {what} is {article(given)}, and no number")
    if isinstance(given, str | bytes):  # which `float` would read
        raise wrong
    try:
        value = float(given)
    except (TypeError, ValueError):
        raise wrong from None
    return value if abs(value) < NUMBERS_END or value != value else float("inf") * (1 if value > 0 else -1)  # noqa: PLR0124 - NaN


def article(value: Any) -> str:
    """Return the kind of a value, in words with its article."""
    kind = "None" if value is None else type(value).__name__
    return kind if value is None else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def describe_error(error: BaseException, name: str) -> str:
    """Return an error with the place in the user's own file that it came from."""
    home = Path(name.rpartition(":")[0]).resolve()
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() == home]
    place = f" ({Path(own[-1].filename).name}, line {own[-1].lineno})" if own else ""
    if isinstance(error, SyntaxError) and error.lineno and not own:
        place = f" ({Path(error.filename or '').name}, line {error.lineno})"
    words = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
    return f"it raises {type(error).__name__}{': ' if words else ''}{words}{place}"


def write(path: Path, value: object) -> None:
    """Write JSON so that a reader sees all of it or nothing."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value, default=str), encoding="utf-8")
    partial.replace(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
