"""A folder is walked as git would list it, and only what can be checked is taken from it."""

import errno
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.adapters.targets.folders import (
    FolderContents,
    OtherUse,
    PassedOver,
    find_files,
    judge_named,
    parse_patterns,
)
from holdfast.core.errors import UsageError
from tests.helpers.files import lay_out

GIT = shutil.which("git") or "git"
USES = "from trl import SFTTrainer\n"
JOB = "method: sft\nmodel: m\ndataset: d\n"


def names(found: FolderContents, folder: Path) -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in found.files]


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("run.sh", "accelerate launch train.py\n", True),
        ("job.sbatch", "#SBATCH -N 1\nsrun python -u -m trl.scripts.sft\n", True),
        ("job.slurm", "axolotl train recipe.yaml\n", True),
        ("setup.sh", "pip install torch\nmkdir out\n", False),
        ("run.fish", "trl sft\n", False),
        ("Makefile", "all:\n\ttrl sft\n", False),
        ("recipe.yaml", "base_model: m\ndatasets: []\n", True),
        ("misspelt.yaml", "metod: sft\nmodel: m\ndataset: d\n", True),
        ("capitals.yaml", "Method: sft\nmodel: m\ndataset: d\n", True),
        ("misspelt2.yaml", "method: sft\nmodle: m\ndataset: d\ntrain: {}\n", True),
        ("hydra.yaml", "model: m\ndataset: d\noptimizer: adam\nname: a\n", False),
    ],
)
def test_a_shell_script_may_be_worth_checking(name: str, text: str, *, found: bool, tmp_path: Path) -> None:
    """By the commands that start a training; others are ignored, and not counted."""
    lay_out(tmp_path, {name: text})
    listed = find_files(str(tmp_path))
    assert (names(listed, tmp_path), listed.others) == ([name] if found else [], 0)


def test_scripts_notebooks_and_jobs_are_found_in_order(tmp_path: Path) -> None:
    """By what they hold, not by their name alone; what uses none of the libraries is counted."""
    lay_out(
        tmp_path,
        {
            "b.py": USES,
            "a/z.py": "import os, transformers as tf\n",
            "a/notebook.ipynb": '{"cells": [{"cell_type": "code", "source": ["from peft import LoraConfig\\n"]}]}',
            "job.yaml": JOB,
            "other.yml": "model: m\ndataset: d\n",
            "setup.py": "import setuptools\n",
            "words.py": "x = 'we use trl'  # import nothing\n",
            "header.py": '# /// script\n# dependencies = ["trl==1.0.0"]\n# ///\n',
            "README.md": USES,
        },
    )
    found = find_files(str(tmp_path))

    assert names(found, tmp_path) == ["a/notebook.ipynb", "a/z.py", "b.py", "header.py", "job.yaml"]
    assert (found.others, found.passed_over) == (2, ())


def test_paths_are_told_as_the_folder_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`.` adds nothing; another name stands before each file."""
    lay_out(tmp_path, {"sub/a.py": USES})
    monkeypatch.chdir(tmp_path)

    assert find_files(".").files == ("sub/a.py",)
    assert find_files("sub").files == find_files("sub/").files == ("sub/a.py",)
    assert find_files("../" + tmp_path.name).files == (f"../{tmp_path.name}/sub/a.py",)


def test_what_git_ignores_is_not_checked(tmp_path: Path) -> None:
    """Nested files, negations, folders, and the files above the folder up to the repository's root."""
    lay_out(
        tmp_path,
        {
            ".gitignore": "*_old.py\n/scratch/\n!keep_old.py\n!scratch/b.py\n",
            "a_old.py": USES,
            "keep_old.py": USES,
            "scratch/a.py": USES,
            "scratch/b.py": USES,  # in a folder that is left out nothing can be taken back
            "sub/scratch/a.py": USES,
            "sub/.gitignore": "!b_old.py\nlocal.py\n",
            "sub/b_old.py": USES,
            "sub/c_old.py": USES,
            "sub/local.py": USES,
            "local.py": USES,
        },
    )
    (tmp_path / ".git").mkdir()

    assert names(find_files(str(tmp_path)), tmp_path) == [
        "keep_old.py",
        "local.py",
        "sub/b_old.py",
        "sub/scratch/a.py",
    ]
    assert names(find_files(str(tmp_path / "sub")), tmp_path) == ["sub/b_old.py", "sub/scratch/a.py"]


NAMES = st.sampled_from(["a", "b", "cc", "build1"])
FILES = st.lists(NAMES, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + ".py")
LINES = st.sampled_from(
    [
        "*.py",
        "/a",
        "a/",
        "b",
        "!b",
        "!*.py",
        "a/**",
        "a/**/",
        "**/cc",
        "cc.py",
        "!a/b.py",
        "/a/*",
        "!/a/b/",
        "!a/**",
        "# a",
    ]
)


@settings(max_examples=40, deadline=None)
@example(files={"a/a.py"}, ignores={"": ["a/**", "!*.py"]})
@given(
    files=st.sets(FILES, max_size=8),
    ignores=st.dictionaries(st.sampled_from(["", "a/", "a/b/"]), st.lists(LINES, min_size=1, max_size=3), max_size=3),
)
def test_git_itself_lists_the_same(
    tmp_path_factory: pytest.TempPathFactory, files: set[str], ignores: dict[str, list[str]]
) -> None:
    """Whatever stands in the `.gitignore` files."""
    folder = tmp_path_factory.mktemp("repository")
    lay_out(folder, dict.fromkeys(files, USES))
    lay_out(folder, {f"{where}.gitignore": "\n".join(lines) for where, lines in ignores.items()})
    subprocess.run([GIT, "init", "-q"], cwd=folder, check=True)
    words = [GIT, "ls-files", "-z", "--others", "--exclude-standard", "*.py"]
    listed = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout

    assert sorted(names(find_files(str(folder)), folder)) == sorted(listed.split("\0")[:-1])


def test_environments_and_builds_are_left_out(tmp_path: Path) -> None:
    """Under their usual names, and a virtual environment under any; unless it is the folder that was named."""
    for name in (".venv", "venv", "node_modules", "build", "dist", "__pycache__", "lib/site-packages", ".git"):
        lay_out(tmp_path, {f"{name}/a.py": USES})
    lay_out(tmp_path, {"my-env/pyvenv.cfg": "", "my-env/a.py": USES, "builder/a.py": USES})

    assert names(find_files(str(tmp_path)), tmp_path) == ["builder/a.py"]
    assert names(find_files(str(tmp_path / "my-env")), tmp_path) == ["my-env/a.py"]
    assert names(find_files(str(tmp_path / "build")), tmp_path) == ["build/a.py"]


def test_folders_of_runs_are_left_out(tmp_path: Path) -> None:
    """What a run keeps are copies of what was run, whatever its folder is called; a plan of one's own is none."""
    run = {"job.yaml": JOB, "job.resolved.yaml": JOB, "ledger.jsonl": "{}", "attempts/1/attempt.py": USES}
    lay_out(tmp_path, {f"experiments/sft-20261120/{name}": text for name, text in run.items()})
    lay_out(tmp_path, {"mine/job.yaml": JOB, "mine/ledger.jsonl": "{}"})

    assert names(find_files(str(tmp_path)), tmp_path) == ["mine/job.yaml"]


def test_a_projects_own_patterns_leave_out_more(tmp_path: Path) -> None:
    """They speak of paths from the project's folder, and no `.gitignore` takes them back."""
    lay_out(tmp_path, {"a.py": USES, "old/b.py": USES, "sub/old/c.py": USES, ".gitignore": "!a.py\n"})
    exclude = parse_patterns(["/old", "a.py"], str(tmp_path))

    assert names(find_files(str(tmp_path), exclude), tmp_path) == ["sub/old/c.py"]
    assert names(find_files(str(tmp_path / "sub"), exclude), tmp_path) == ["sub/old/c.py"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    """A link to a folder is not entered; a link to a file is read; a broken one is told."""
    lay_out(tmp_path, {"a.py": USES})
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b.py").symlink_to(tmp_path / "a.py")
    (tmp_path / "c.py").symlink_to(tmp_path / "none.py")

    assert names(find_files(str(tmp_path)), tmp_path) == ["a.py", "b.py"]
    assert names(find_files(str(tmp_path / "again")), tmp_path / "again") == ["a.py", "b.py"]


def test_what_cannot_be_checked_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binary and very large files; a pipe is not waited for."""
    monkeypatch.setattr("holdfast.adapters.targets.folders.MOST_BYTES", {".py": 100})
    (tmp_path / "binary.py").write_bytes(b"from trl import x\n\0")
    (tmp_path / "large.py").write_text(USES * 10)
    os.mkfifo(tmp_path / "pipe.py")
    found = find_files(str(tmp_path))

    assert found.files == ()
    assert [(Path(one.path).name, one.because.split(":")[0]) for one in found.passed_over] == [
        ("binary.py", "is binary"),
        ("large.py", "is too large"),
    ]


def test_an_unreadable_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside another it is told; named itself, it is a wrong question."""
    lay_out(tmp_path, {"closed/a.py": USES, "open.py": USES})
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr("holdfast.adapters.targets.folders.os.scandir", refuse)
    found = find_files(str(tmp_path))

    assert names(found, tmp_path) == ["open.py"]
    assert found.passed_over == (PassedOver(str(tmp_path / "closed"), "cannot be read: Permission denied"),)
    with pytest.raises(UsageError, match="Permission denied"):
        find_files(str(tmp_path / "closed"))


def test_a_folder_that_is_not_there_is_a_wrong_question(tmp_path: Path) -> None:
    """It is said, not taken for an empty one."""
    with pytest.raises(UsageError, match="No such file"):
        find_files(str(tmp_path / "none"))


def test_named_files_can_be_judged_as_if_found(tmp_path: Path) -> None:
    """As a hook needs it that names every file of a commit."""
    lay_out(tmp_path, {"a.py": USES, "plain.py": "", "old/b.py": USES, "ci.yml": "on: push\n", "job.yml": JOB})
    exclude = parse_patterns(["old/"], str(tmp_path))
    judged = {
        name: judge_named(str(tmp_path / name), exclude)
        for name in ("a.py", "plain.py", "old/b.py", "ci.yml", "job.yml")
    }

    assert judged == {
        "a.py": str(tmp_path / "a.py"),
        "plain.py": OtherUse(),
        "old/b.py": None,
        "ci.yml": None,
        "job.yml": str(tmp_path / "job.yml"),
    }
    assert isinstance(judge_named(str(tmp_path / "none.py")), PassedOver | None)


def test_a_folder_that_holds_more_than_any_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home or a whole disk is not walked to its end."""
    monkeypatch.setattr("holdfast.adapters.targets.folders.MOST_FILES", 3)
    for number in range(3):
        (tmp_path / f"{number}.py").write_text("import trl\n")
    assert len(find_files(str(tmp_path)).files) == 3
    (tmp_path / "another.py").write_text("import os\n")
    with pytest.raises(UsageError, match="more than 3 scripts") as caught:
        find_files(str(tmp_path))
    assert "name the folder of a project" in caught.value.fix
