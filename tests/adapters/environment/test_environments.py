"""Which Python a script gets: one at hand that has what its header or its project declares, else one that uv makes."""

import json
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast import rehearse
from holdfast.adapters.environment.interpreters import (
    find_modules_elsewhere,
    is_made,
    reason_for_uv,
    select_interpreter,
)
from holdfast.adapters.rehearsal.programs import read_program
from holdfast.core.errors import UsageError

OURS = (sys.executable,)
HEADER = '# /// script\n# dependencies = ["{}"]\n# ///\nimport trl\n'
OLD = "transformers==4.46.3"


def chosen(folder: Path, source: str = "import trl\n", added: tuple[str, ...] = (), **files: str) -> tuple[str, ...]:
    """Return the words that run a script beside some files, without the path of uv."""
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    words = select_interpreter(str(folder / "train.py"), source, {}, added)
    return words if words == OURS else words[1:]


@pytest.mark.parametrize(
    "text", ["trl\npeft\n", f"transformers=={version('transformers')}\n", "trl\nsurely-not-installed==1\n"]
)
def test_this_environment_serves_where_it_has_what_a_training_needs(tmp_path: Path, text: str) -> None:
    """What no line imports and is no library of trainings need not be there: linters, say."""
    assert chosen(tmp_path, requirements_txt=text) == OURS


@pytest.mark.parametrize(
    ("declared", "because"),
    [
        (OLD, f"{OLD} ({version('transformers')} is installed)"),
        ("surely-not-installed==1", "surely-not-installed==1"),
        (f"transformers=={version('transformers')}", ""),
    ],
)
def test_it_is_said_what_this_environment_lacks_and_what_it_has_instead(declared: str, because: str) -> None:
    source = HEADER.format(declared)
    words = select_interpreter("train.py", source, {})
    assert reason_for_uv("train.py", source, words, added=()) == because


def test_a_project_gets_what_it_declares(tmp_path: Path) -> None:
    words = chosen(tmp_path, requirements_txt=f"{OLD}\nsurely-not-installed\n")

    assert words == (
        *("run", "--no-project", "--isolated"),
        *("--with", OLD, "--with", "surely-not-installed", "python"),
    )
    assert is_made(words)


def test_what_a_script_imports_is_needed(tmp_path: Path) -> None:
    source = "import trl\nimport os, surely_not_installed.parts\n"
    assert "surely-not-installed==1" in chosen(tmp_path, source, requirements_txt="trl\nsurely-not-installed==1\n")


def test_a_notebook_gets_what_its_cells_install_and_what_its_host_has(tmp_path: Path) -> None:
    """Colab has pandas, and no vLLM: what nobody installs stays missing."""
    source = "import pandas as pd\nimport vllm\nimport transformers\n"
    cells = [f"!pip install -q {OLD}\n", source]
    told = {"nbformat": 4, "metadata": {}, "cells": [{"cell_type": "code", "source": each} for each in cells]}
    (tmp_path / "train.ipynb").write_text(json.dumps(told))

    words = select_interpreter(str(tmp_path / "train.ipynb"), source, {})

    assert words[3:] == ("--isolated", "--with", OLD, "--with", "pandas", "python")


def test_a_projects_python_and_its_last_day_count(tmp_path: Path) -> None:
    project = '[project]\nname = "a"\nrequires-python = ">=3.99"\ndependencies = ["trl"]\n[tool.uv]\nexclude-newer = "2025-06-01"\n'
    words = chosen(tmp_path, pyproject_toml=project)
    assert words[3:] == ("--exclude-newer", "2025-06-01", "--python", ">=3.99", "--with", "trl", "python")


def test_a_header_counts_before_the_project(tmp_path: Path) -> None:
    assert chosen(tmp_path, HEADER.format("trl"), requirements_txt=OLD) == OURS
    words = chosen(tmp_path, HEADER.format(OLD))
    assert (words, is_made(words)) == (("run", "--no-project", "--script"), False)


def test_what_a_launcher_adds_is_installed_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import trl\n")
    program = read_program("--", ["uv", "run", "--with", OLD, "train.py", "--fast"], ())

    assert program.added == (OLD,)
    assert chosen(tmp_path, HEADER.format("trl"), program.added)[2:] == ("--with", OLD, "--script")
    assert chosen(tmp_path, "import trl\n", program.added)[-3:] == ("--with", OLD, "python")


def test_an_environment_of_the_projects_own_is_used(tmp_path: Path) -> None:
    """It is found by its `pyvenv.cfg`, as `check` finds it, and has to have what is asked for."""
    python = tmp_path / ".venv" / "bin" / "python"
    site = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "trl-0.12.0.dist-info"
    for folder in (python.parent, site):
        folder.mkdir(parents=True)
    python.touch()
    (tmp_path / ".venv" / "pyvenv.cfg").touch()

    assert select_interpreter(str(tmp_path / "train.py"), "import trl\n", {}) == (str(python),)


def test_the_jobs_own_choice_comes_first(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text(OLD)
    assert select_interpreter(str(tmp_path / "train.py"), "", {"python": "/opt/python"}) == ("/opt/python",)


def test_without_uv_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.adapters.environment.interpreters.find_uv", lambda: None)
    with pytest.raises(UsageError, match=r"lacks transformers==4\.46\.3"):
        chosen(tmp_path, requirements_txt=OLD)


@pytest.mark.long
def test_a_project_is_rehearsed_with_its_own_releases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is made by uv, of the registry."""
    monkeypatch.chdir(tmp_path)
    Path("requirements.txt").write_text(OLD)
    Path("train.py").write_text('import transformers\nassert transformers.__version__ == "4.46.3"\n')
    assert rehearse("train.py", offline=True)["verdict"] == "pass"
    assert rehearse("train.py", offline=True, here=True)["verdict"] == "fail"


@pytest.mark.long
@pytest.mark.train
def test_what_cannot_be_made_here_is_told_and_this_environment_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel that there is for no such machine says nothing about the job."""
    monkeypatch.chdir(tmp_path)
    Path("requirements.txt").write_text(
        f"transformers=={version('transformers')}\nunreachable @ file:///none/here.whl\n"
    )
    Path("train.py").write_text("import transformers\nimport unreachable\n")
    told = rehearse("train.py", offline=True)
    assert [each["what"] for each in told["not_rehearsed"]] == ["the environment that the project declares"]
    assert told["failure"]["class"] == "missing-module"


@pytest.mark.parametrize(
    ("dependencies", "modules"),
    [
        ('trl", "no-such-package', ["no_such_package"]),
        ("python-no-such", ["python_no_such", "no_such"]),
        ("trl[no-such-extra]", []),
        ("no-such-package>=2; sys_platform == 'nowhere'", []),
    ],
)
def test_declared_packages_that_this_environment_lacks_are_known_by_their_modules(
    dependencies: str, modules: list[str]
) -> None:
    """With `--here`, or where the declared environment cannot be made, the job has them and this machine has not."""
    assert list(find_modules_elsewhere("train.py", HEADER.format(dependencies), added=())) == modules


@pytest.mark.train
@pytest.mark.skipif(find_spec("vllm") is not None, reason="this environment has it")
def test_extras_name_packages_too() -> None:
    """`trl[vllm]` asks for vllm."""
    assert "vllm" in find_modules_elsewhere("train.py", HEADER.format("trl[vllm]"), added=())
