"""The tasks that names, files and folders stand for, found in lm-eval's registry and in what the user has written."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from lm_eval.tasks import TaskManager
from lm_eval.tasks._index import Kind, TaskIndex
from lm_eval.tasks._yaml_loader import load_yaml

from ..calls import RaisedCall, attempt, shorten_error

NEAR = 3
"""Names that are proposed for one that does not exist."""
NAMING = ("task", "group", "class")
"""Keys of a file that defines a task or a group."""
Problem = dict[str, Any]


class CircularGroupError(Exception):
    """A group contains itself."""


@dataclass
class TaskRegistry:
    """What names stand for.

    Attributes:
        manager: lm-eval's own registry, with the user's tasks in it.
        wanted: For each name, file or folder, the names of the tasks, groups or tags.
    """

    manager: Any
    wanted: dict[str, list[str]] = field(default_factory=dict)

    def members(self, name: str) -> list[Any]:
        """Return the direct members of a group or a tag: names, or tasks that are written out."""
        entry = self.manager.task_index[name]
        return sorted(entry.tags) if entry.kind is Kind.TAG else _listed(entry)

    def configs(self, name: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the names and settings of the tasks that a name stands for.

        Args:
            name: A task, a group or a tag.
            above: The groups that it is in.

        Raises:
            CircularGroupError: A group contains itself.
        """
        if name in above:
            raise CircularGroupError(f"the group {name} contains itself")
        entry = self.manager.task_index.get(name)
        if entry is None:
            return
        if entry.kind in (Kind.TASK, Kind.PY_TASK):
            yield name, entry.cfg or {}
        for member in self.members(name):
            named = _name_of(member)
            if not isinstance(member, str):
                yield str(named), member
            if isinstance(named, str):
                yield from self.configs(named, (*above, name))


def find_tasks(specs: list[dict[str, Any]], *, allow_code: bool) -> tuple[TaskRegistry, list[Problem]]:
    """Return the registry, and what is wrong.

    Args:
        specs: What was named: `name` as it was written, and `path` where it is a file or a folder.
        allow_code: Whether tasks may run code that the model writes.
    """
    problems: list[Problem] = []
    wanted: dict[str, list[str]] = {}
    local: dict[str, Any] = {}
    for spec in specs:
        if path := spec.get("path"):
            wanted[spec["name"]] = _read_local(spec["name"], Path(path), local, problems)
        else:
            wanted[spec["name"]] = [spec["name"]]
    names = {name for found in wanted.values() for name in found} | set(_named_members(local))
    manager: Any = TaskManager(include_defaults=not names <= local.keys())
    manager.task_index.update(local)
    registry = TaskRegistry(manager, wanted)
    for name, found in wanted.items():
        problems += (each for task in found for each in _problems_of(name, task, registry, allow_code=allow_code))
    return registry, problems


def _read_local(name: str, path: Path, local: dict[str, Any], problems: list[Problem]) -> list[str]:
    """Add the tasks of a file or a folder; return those that are meant: of a folder, all that are in no group of it."""
    files = [path] if path.is_file() else sorted(path.rglob("*.yaml"))
    index: dict[str, Any] = {}
    problems += _read_files(name, files, index)
    if path.is_file() and index:
        _add_neighbours(path, local)
    local.update(index)
    if not index and name not in map(itemgetter("name"), problems):
        problems.append(
            {"name": name, "what": f"{name} names no task: it has no `task` and no `group`", "kind": "none"}
        )
    return _outermost(index)


def _read_files(name: str, files: list[Path], index: dict[str, Any]) -> Iterator[Problem]:
    """Add the tasks of files to an index, and yield what is wrong with the files."""
    for file in files:
        config = attempt(partial(load_yaml, file, resolve_func=False))
        if isinstance(config, RaisedCall):
            because = shorten_error(config.error) or type(config.error).__name__
            yield {"name": name, "what": f"{file} cannot be read: {because}", "kind": "broken"}
        elif what := _misnamed(config):
            yield {"name": name, "what": f"{file}: {what}", "kind": "broken"}
        elif not config.keys().isdisjoint(NAMING):
            TaskIndex.process_cfg(config, file, index)


def _outermost(index: dict[str, Any]) -> list[str]:
    """Return the tasks and groups that are in no group; of groups that contain one another, all."""
    members = set(_named_members(index))
    tasks = [each for each, entry in index.items() if entry.kind is not Kind.TAG]
    return [each for each in tasks if each not in members] or tasks


def _misnamed(config: dict[str, Any]) -> str:
    """Return what is wrong with the name of a task or a group; empty if nothing is."""
    key = "group" if "group" in config and "class" not in config else "task"
    meant = not config.keys().isdisjoint(NAMING)
    name = config.get(key)
    return f"`{key}` is {name!r}, and not a name" if meant and not isinstance(name, str) else ""


def _add_neighbours(path: Path, local: dict[str, Any]) -> None:
    """Add the tasks in the same folder as a file, which a group may name; one that cannot be read is none."""
    for file in sorted(path.parent.glob("*.yaml")):
        attempt(partial(_add_tasks, file, local))


def _add_tasks(file: Path, index: dict[str, Any]) -> None:
    TaskIndex.process_cfg(load_yaml(file, resolve_func=False), file, index)


def _named_members(index: dict[str, Any]) -> Iterator[str]:
    """Yield the names that groups give to their members."""
    for entry in index.values():
        yield from (named for member in _listed(entry) if isinstance(named := _name_of(member), str))


def _listed(entry: Any) -> list[Any]:
    """Return the members that a group lists; none of anything else."""
    listed = (entry.cfg or {}).get("task") if entry.kind is Kind.GROUP else None
    return listed if isinstance(listed, list) else []


def _name_of(member: Any) -> Any:
    """Return the name of a member, which is a name or a task that is written out."""
    return member if isinstance(member, str) else member.get("task") or member.get("group")


def _problems_of(name: str, task: str, registry: TaskRegistry, *, allow_code: bool) -> Iterator[Problem]:
    """Yield what is wrong with a task or a group; `name` is how the user named it."""
    if task not in registry.manager.task_index:
        near = get_close_matches(task, registry.manager.all_tasks, n=NEAR)
        yield {"name": name, "what": f"lm-eval has no task {task!r}", "kind": "unknown", "near": near}
        return
    yield from _unknown_members(name, task, registry)
    try:
        unsafe = [each for each, config in registry.configs(task) if config.get("unsafe_code")]
    except CircularGroupError as error:
        yield {"name": name, "what": str(error), "kind": "broken"}
        return
    if unsafe and not allow_code:
        of = "" if unsafe == [task] else f" ({', '.join(dict.fromkeys(unsafe))})"
        yield {"name": name, "what": f"{task}{of} runs code that the model writes, on this machine", "kind": "code"}


def _unknown_members(name: str, group: str, registry: TaskRegistry) -> Iterator[Problem]:
    """Yield the members of a group that do not exist."""
    index = registry.manager.task_index
    for member in registry.members(group):
        if isinstance(member, str) and member not in index:
            near = get_close_matches(member, list(index), n=NEAR)
            what = f"the group {group} names a task that does not exist: {member!r}"
            yield {"name": name, "what": what, "kind": "unknown", "near": near}
