"""The tasks that names, files and folders stand for."""

from pathlib import Path
from typing import Any

import pytest

from tests.helpers.benchmark_tasks import CORPUS, GROUP, UNSAFE, task_text, write_tasks

pytest.importorskip("lm_eval", reason="lm-eval is not installed: holdfast[benchmarks]")
pytestmark = pytest.mark.train


@pytest.fixture(autouse=True)
def without_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of lm-eval's own tasks only two are there: to read all of them takes seconds."""
    from lm_eval.tasks import TaskManager
    from lm_eval.tasks._index import Entry, Kind

    class FewTasks(TaskManager):  # type: ignore[misc]  # lm-eval has no types here
        def __init__(self, *, include_defaults: bool) -> None:
            super().__init__(include_defaults=False)
            if include_defaults:
                for name in ("arc_easy", "arc_challenge"):
                    self.task_index[name] = Entry(name=name, kind=Kind.TASK, yaml_path=None, cfg={"task": name})
                self._all_tasks = sorted(self.task_index)

    monkeypatch.setattr("holdfast.payload.benchmarks.finding.TaskManager", FewTasks)


def find(*specs: dict[str, Any], allow_code: bool = False) -> tuple[dict[str, list[str]], list[dict[str, Any]]]:
    from holdfast.payload.benchmarks.finding import find_tasks

    registry, problems = find_tasks(list(specs), allow_code=allow_code)
    return registry.wanted, problems


def local(path: Path) -> dict[str, Any]:
    return {"name": path.name, "path": str(path)}


def test_a_folder_is_all_its_tasks_without_the_members_of_its_groups(tmp_path: Path) -> None:
    write_tasks(tmp_path)

    wanted, problems = find(local(tmp_path / "tasks"), local(tmp_path / "tasks" / "parity.yaml"), {"name": "arc_easy"})

    assert problems == []
    assert wanted == {
        "tasks": ["parity", "parity_plain", "sums_choice", "sums_corpus", "sums_text", "sums_written"],
        "parity.yaml": ["parity"],
        "arc_easy": ["arc_easy"],
    }


def test_a_name_that_does_not_exist_gets_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP.replace("NAME", "mine").replace("sums_even, sums_odd", "arc_eazy"))

    _, problems = find({"name": "arc_esy"}, local(tmp_path / "group.yaml"))

    assert [(each["name"], each["kind"], each["near"][0]) for each in problems] == [
        ("arc_esy", "unknown", "arc_easy"),
        ("group.yaml", "unknown", "arc_easy"),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("task: [a\nx: ]", "broken", "broken.yaml cannot be read: while parsing"),
        ("- task: a\n", "broken", "Expected YAML dict"),
        ("include: gone.yaml\ntask: a\n", "broken", "gone.yaml"),
        ("output_type: multiple_choice\n", "none", "it has no `task` and no `group`"),
        ("group: 5\ntask: [a]\n", "broken", "`group` is 5, and not a name"),
        ("task: [a, b]\n", "broken", "`task` is ['a', 'b'], and not a name"),
        ("class: own.Task\n", "broken", "`task` is None, and not a name"),
        ("group: a\ntask: [a]\n", "broken", "the group a contains itself"),
    ],
)
def test_a_file_that_is_no_task_is_a_problem(tmp_path: Path, text: str, kind: str, what: str) -> None:
    """By itself, and in a folder that was named with others."""
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "broken.yaml").write_text(text)

    for path in (tmp_path / "tasks", tmp_path / "tasks" / "broken.yaml"):
        _, (problem,) = find(local(path))
        assert problem["kind"] == kind
        assert what in problem["what"]


def test_a_task_that_runs_code_has_to_be_allowed(tmp_path: Path) -> None:
    """Also as a member of a group."""
    (tmp_path / "runs.yaml").write_text(task_text("runs", UNSAFE))
    (tmp_path / "safe.yaml").write_text(task_text("safe", CORPUS))
    group = GROUP.replace("NAME", "both").replace("sums_even, sums_odd", "runs, safe")
    (tmp_path / "both.yaml").write_text(group)

    for name, of in (("runs", "runs"), ("both", "both (runs)")):
        _, (problem,) = find(local(tmp_path / f"{name}.yaml"))
        assert problem == {
            "name": f"{name}.yaml",
            "what": f"{of} runs code that the model writes, on this machine",
            "kind": "code",
        }
        assert find(local(tmp_path / f"{name}.yaml"), allow_code=True)[1] == []
    assert find(local(tmp_path / "safe.yaml"))[1] == []
