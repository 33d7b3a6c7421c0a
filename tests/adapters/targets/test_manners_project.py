"""A project's settings: the nearest file holds, and a mistake in it is said with the way out."""

from pathlib import Path

import pytest

from holdfast.adapters.targets.project import Project, Projects
from holdfast.core.errors import HoldfastError, flatten

ALL = """\
[tool.holdfast]
select = ["ARG", "IMP"]
ignore = ["ARG104"]
exclude = ["old/"]
strict = true
resolve = "uv"

[tool.holdfast.per-file-ignores]
"tests/*" = ["REP"]
"legacy.py" = ["ARG"]
"""


def project(text: str, tmp_path: Path, name: str = "pyproject.toml") -> Project:
    (tmp_path / name).write_text(text)
    return Projects().find(str(tmp_path / "train.py"))


def mistakes(text: str, tmp_path: Path, name: str = "pyproject.toml") -> list[HoldfastError]:
    with pytest.raises(ExceptionGroup) as caught:
        project(text, tmp_path, name)
    return flatten(caught.value)


def test_every_setting_is_read(tmp_path: Path) -> None:
    """From a pyproject.toml, and from a file of its own, where no table is needed."""
    expected = Project(
        folder=tmp_path,
        file=tmp_path / "pyproject.toml",
        select=("ARG", "IMP"),
        ignore=("ARG104",),
        per_file_ignores=(("tests/*", ("REP",)), ("legacy.py", ("ARG",))),
        exclude=("old/",),
        strict=True,
        resolve="uv",
    )

    assert project(ALL, tmp_path) == expected
    assert project('select = ["DEP"]', tmp_path, "holdfast.toml").select == ("DEP",)


def test_the_nearest_file_that_says_anything_holds(tmp_path: Path) -> None:
    """A pyproject.toml without the table is passed by; one further up is not mixed in."""
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(ALL)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.ruff]\nselect = ['ALL']\n")
    projects = Projects()

    assert projects.find(str(inner / "train.py")).folder == projects.find(str(inner)).folder == tmp_path
    (inner / "holdfast.toml").write_text("strict = true")
    assert Projects().find(str(inner / "train.py")) == Project(folder=inner, file=inner / "holdfast.toml", strict=True)


def test_without_a_file_there_are_no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns then speak of the target's own folder; standard input belongs to the working folder."""
    monkeypatch.chdir(tmp_path)

    assert Projects().find("none/train.py") == Project(folder=tmp_path / "none")
    (tmp_path / "holdfast.toml").write_text("strict = true")
    assert Projects().find("-").strict


def test_codes_are_left_out_of_files_that_match(tmp_path: Path) -> None:
    """By path from the project's folder, or by name; `*` matches folders too."""
    found = project(ALL, tmp_path)

    assert found.ignored_in(str(tmp_path / "tests/a/b.py")) == ("REP",)
    assert found.ignored_in(str(tmp_path / "src/legacy.py")) == ("ARG",)
    assert found.ignored_in(str(tmp_path / "src/tests.py")) == ()


@pytest.mark.parametrize(
    ("line", "what", "fix"),
    [
        ("selct = []", "no setting `selct`", "did you mean `select`?"),
        ("per_file_ignores = {}", "no setting `per_file_ignores`", "did you mean `per-file-ignores`?"),
        ("jobs = 3", "no setting `jobs`", "its keys are select, ignore"),
        ('select = "ARG"', "`select` cannot be 'ARG'", "select = ["),
        ("select = [1]", "`select` cannot be [1]", "select = ["),
        ("ignore = ['']", "`ignore` cannot be ['']", "ignore = ["),
        ('strict = "yes"', "`strict` cannot be 'yes'", "strict = true"),
        ("strict = 1", "`strict` cannot be 1", "strict = true"),
        ('resolve = "pip"', "`resolve` cannot be 'pip'", "resolve = "),
        ('per-file-ignores = {"a.py" = "ARG"}', "`per-file-ignores` cannot be", "per-file-ignores = {"),
    ],
)
def test_a_mistake_is_said_with_its_line_and_the_way_out(line: str, what: str, fix: str, tmp_path: Path) -> None:
    """An unknown key with the nearest known one, a wrong type with an example."""
    (error,) = mistakes(f"[project]\nname = 'x'\n\n[tool.holdfast]\n{line}\n", tmp_path)

    assert what in error.what
    assert fix in error.fix
    assert (error.spot.path, error.spot.line) == (str(tmp_path / "pyproject.toml"), 5)


def test_all_mistakes_are_said_at_once(tmp_path: Path) -> None:
    """Each with its own line."""
    errors = mistakes("selct = []\nstrict = 3\n", tmp_path, "holdfast.toml")

    assert [error.spot.line for error in errors] == [1, 2]


@pytest.mark.parametrize(
    "text", ["[tool.holdfast]\nselect = [\n", "[tool]\nholdfast = 3\n# tool.holdfast\n", "# tool.holdfast\n[tool"]
)
def test_a_broken_file_is_said_clearly(text: str, tmp_path: Path) -> None:
    """Where it is not valid TOML, or holdfast's part is not a table."""
    (error,) = mistakes(text, tmp_path)

    assert error.spot.path == str(tmp_path / "pyproject.toml")
    assert error.fix


def test_what_other_tools_broke_is_none_of_ours(tmp_path: Path) -> None:
    """A file that never names holdfast is not read further; nor is a `tool` that is not a table."""
    assert project("[tool", tmp_path).file is None
    assert project("tool = 3 # tool.holdfast", tmp_path).file is None
