"""The names of benchmark tasks, found before anything is downloaded or loaded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from holdfast.adapters.evaluation.benchmarks import BenchmarkSession, HarnessError, TaskProblem, open_session
from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.local.task_folders import is_task_folder
from holdfast.app.evaluate.asking import BenchmarkTasks
from holdfast.app.models.near_files import suggest_path
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.evaluation import is_task_path

OPTION: Final = "--task"
FIXES: Final[Mapping[str, str]] = {
    "broken": "correct the file; lm-eval's task guide describes its keys",
    "none": "name a file with `task: NAME`, or a folder of such files",
    "code": "allow it with --allow-code, on a machine where nothing can be lost",
    "unknown": "name a task, a group or a tag of lm-eval, or a YAML file; `lm-eval ls tasks` lists them",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTasks:
    """The benchmark tasks that were named.

    Attributes:
        names: Tasks, groups, files and folders.
        few_shot: How many examples precede each row; None if the tasks say it.
        limit: The first rows that are evaluated; None for all.
        allow_code: Whether tasks may run code that the model writes.
        offline: Whether the Hub is left alone.
    """

    names: Sequence[str]
    few_shot: int | None
    limit: int | None
    allow_code: bool
    offline: bool


@contextmanager
def found_tasks(
    named: NamedTasks, errors: list[HoldfastError], on_progress: Callable[[str], None] = lambda _: None
) -> Iterator[BenchmarkTasks | None]:
    """Yield the tasks, with the process of lm-eval, which ends after the block; add an error for each name that is none."""
    if named.names:
        on_progress("lm-eval looks for the tasks")
    specs = [spec for name in dict.fromkeys(named.names) if (spec := _spec(name, errors))]
    _want_numbers(named, errors)
    if not specs:
        yield None
        return
    with open_session(offline=named.offline, allow_code=named.allow_code) as session:
        yield BenchmarkTasks(
            session=session, version=_find(session, specs, errors), few_shot=named.few_shot, limit=named.limit
        )


def _want_numbers(named: NamedTasks, errors: list[HoldfastError]) -> None:
    """Add an error for a number that lm-eval would take for another: of it, a limit of 0 is none."""
    if named.limit is not None and named.limit < 1:
        errors.append(UsageError(f"a limit of {named.limit} rows", where="--limit", fix="name a number from 1"))
    if named.few_shot is not None and named.few_shot < 0:
        errors.append(UsageError(f"{named.few_shot} examples", where="--few-shot", fix="name a number from 0"))
    for option, value, fix in (
        ("--few-shot", named.few_shot, "name tasks with --task"),
        ("--limit", named.limit, "name tasks with --task; of datasets, --rows draws some"),
    ):
        if value is not None and not named.names:
            errors.append(UsageError(f"{option} is for benchmark tasks", where=option, fix=fix))


def _spec(name: str, errors: list[HoldfastError]) -> dict[str, str] | None:
    """Return a name, with its path if it is that of a file or a folder; None if the file is not there."""
    path = expanded(name)
    is_path = is_task_path(name)
    if is_there(path) and (is_path or is_task_folder(path)):
        return {"name": name, "path": str(path.absolute())}
    if not is_path:
        return {"name": name}
    fix = suggest_path(path, FIXES["unknown"])
    errors.append(UsageError(f"no such file or folder: {name}", where=OPTION, fix=fix))
    return None


def _find(session: BenchmarkSession, specs: Sequence[Mapping[str, str]], errors: list[HoldfastError]) -> str:
    """Return lm-eval's version; add an error for each name that is none."""
    try:
        found = session.find(specs)
    except HarnessError as error:
        errors.append(UsageError(f"lm-eval cannot be used: {error}", where=OPTION, fix="`pip check` shows why"))
        return ""
    errors += (UsageError(each.what, where=f"{OPTION} {each.name}", fix=_fix(each)) for each in found.problems)
    return found.version


def _fix(problem: TaskProblem) -> str:
    return f"did you mean {', '.join(problem.near)}?" if problem.near else FIXES[problem.kind]
