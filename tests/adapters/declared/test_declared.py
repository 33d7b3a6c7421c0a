"""What a script's project declares that it needs: which file counts, and what it says, and where."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.declared import find_declared
from holdfast.adapters.declared.lines import read_requirement
from holdfast.adapters.declared.requirements_file import logical_lines
from holdfast.adapters.declared.uv import ask_uv
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.errors import SourceError
from holdfast.core.text.places import Place
from holdfast.engine.resolve import resolve

NOWHERE = "/nonexistent"


def declare(root: Path, files: Mapping[str, str], script: str = "train.py", **environ: str) -> ProjectRequirements:
    """Return what a script declares in a repository of these files."""
    (root / ".git").mkdir(parents=True, exist_ok=True)
    for name, text in {script: "", **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    path = root / script
    return find_declared(str(path), path.read_text(encoding="utf-8"), environ=environ, prefix=NOWHERE)


def said(declared: ProjectRequirements) -> dict[str, str]:
    return {each.name: each.specifier or each.url for each in declared.requirements}


def header(*lines: str) -> str:
    return "".join(f"{line}\n" for line in ("# /// script", *(f"# {line}" for line in lines), "# ///"))


def requirement(text: str) -> Requirement:
    found = read_requirement(text, Place("r"))
    assert isinstance(found, Requirement)
    return found


def environment(root: Path, *distributions: str) -> None:
    site = root / "lib" / "python3.11" / "site-packages"
    for name in distributions:
        (site / f"{name}.dist-info").mkdir(parents=True)
    (root / "pyvenv.cfg").write_text("")


# Which file counts


def test_a_header_counts_before_everything_else(tmp_path: Path) -> None:
    """`uv run` reads nothing else."""
    found = declare(
        tmp_path,
        {
            "train.py": "#!/usr/bin/env python\n"
            + header('requires-python = ">=3.10"', 'dependencies = ["trl>=0.12"]'),
            "requirements.txt": "trl==0.9.6\n",
        },
    )

    assert (found.kind, found.origin, found.python) == ("header", "script header", ">=3.10")
    assert said(found) == {"trl": ">=0.12"}
    assert found.requirements[0].place == Place(str(tmp_path / "train.py"), 4, 19, 4, 30)


def test_a_lock_counts_before_requirements(tmp_path: Path) -> None:
    """It names exact versions."""
    lock = 'requires-python = ">=3.11"\n[[package]]\nname = "trl"\nversion = "1.0.0"\nsource = { registry = "r" }\n'
    found = declare(tmp_path, {"uv.lock": lock, "requirements.txt": "trl==0.9.6\n", "pyproject.toml": ""})

    assert (found.kind, found.exact, found.python) == ("lock", True, ">=3.11")
    assert said(found) == {"trl": "==1.0.0"}


def test_the_nearest_folder_counts(tmp_path: Path) -> None:
    """Whatever kind of file it has; one that names none of the libraries says nothing."""
    files = {
        "requirements.txt": "trl==0.9.6\n",
        "examples/pyproject.toml": '[project]\ndependencies = ["transformers>=4.50"]\n',
        "examples/sft/requirements.txt": "tqdm\n",
    }
    found = declare(tmp_path, files, "examples/sft/train.py")

    assert (found.kind, found.origin, said(found)) == ("project", "pyproject.toml", {"transformers": ">=4.50"})


def test_nothing_outside_the_repository_counts(tmp_path: Path) -> None:
    """It belongs to somebody else."""
    (tmp_path / "requirements.txt").write_text("trl==0.9.6\n")

    assert declare(tmp_path / "repository", {}).kind == "nothing"


def test_requirements_txt_counts_before_its_kin(tmp_path: Path) -> None:
    """The others are for developers."""
    found = declare(tmp_path, {"requirements.txt": "trl==0.9.6\n", "requirements-dev.txt": "trl\n"})

    assert (said(found), found.unsure) == ({"trl": "==0.9.6"}, "")


def test_another_requirements_file_counts_where_it_is_the_only_one(tmp_path: Path) -> None:
    """Or where all say the same of the libraries."""
    alone = {
        "requirements-train.txt": "trl==0.9.6\n",
        "requirements.txt": "tqdm\n",
        "requirements/docs.txt": "sphinx\n",
    }
    alike = {**alone, "requirements/gpu.txt": "numpy\ntrl == 0.9.6\n"}

    assert said(declare(tmp_path / "a", alone)) == {"trl": "==0.9.6"}
    assert declare(tmp_path / "b", alike).unsure == ""


def test_requirements_files_that_disagree_are_in_doubt(tmp_path: Path) -> None:
    """Nobody knows which was installed."""
    found = declare(tmp_path, {"requirements-a.txt": "trl==0.9.6\n", "requirements-b.txt": "trl==1.0.0\n"})

    assert "requirements-a.txt and requirements-b.txt" in found.unsure


def test_what_is_installed_counts_where_nothing_is_declared(tmp_path: Path) -> None:
    """The project's own environment before the activated one; it is read, not imported."""
    environment(tmp_path / "active", "trl-0.9.6", "Huggingface_Hub-0.30.0")
    environment(tmp_path / "project" / ".venv", "trl-1.16.0", "torch-2.13.0+cpu")
    activated = declare(tmp_path / "other", {}, VIRTUAL_ENV=str(tmp_path / "active"))
    own = declare(tmp_path / "project", {}, VIRTUAL_ENV=str(tmp_path / "active"))

    assert (activated.kind, activated.exact, activated.python) == ("environment", True, "==3.11.*")
    assert said(activated) == {"trl": "==0.9.6", "huggingface-hub": "==0.30.0"}
    assert said(own)["trl"] == "==1.16.0"


def test_an_environment_without_the_libraries_is_not_the_one(tmp_path: Path) -> None:
    """Then nothing is declared."""
    environment(tmp_path / "active", "numpy-2.0.0")

    assert declare(tmp_path / "project", {}, VIRTUAL_ENV=str(tmp_path / "active")) == ProjectRequirements()


# Headers


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (header('dependencies = ["trl"'), "not valid TOML", None),
        (header("x = 1", 'dependencies = ["trl" "peft"]'), "not valid TOML", 3),
        ('# /// script\n# dependencies = ["trl"]\nimport trl\n', "not closed", 1),
        (header('dependencies = ["trl"]') + "\n" + header("dependencies = []"), "second header", 5),
    ],
)
def test_a_broken_header_is_a_problem_with_a_place(tmp_path: Path, text: str, what: str, line: int | None) -> None:
    """And nothing is known of the versions."""
    found = declare(tmp_path, {"train.py": text, "requirements.txt": "trl==0.9.6\n"})

    assert found.kind == "header"
    assert found.requirements == ()
    assert found.unsure
    assert what in found.problems[0].what
    assert line is None or found.problems[0].place.line == line


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ('dependencies = "trl"', "`dependencies` is not a list"),
        ('dependencies = ["trl", 3]', "3 in `dependencies` is not a string"),
        ('dependencies = ["trl", "trl=>1"]', "'trl=>1' is not a requirement"),
        ('dependencies = ["trl", ""]', "'' is not a requirement"),
    ],
)
def test_a_malformed_entry_is_a_problem_beside_the_others(tmp_path: Path, lines: str, what: str) -> None:
    """The others count."""
    found = declare(tmp_path, {"train.py": header(lines)})

    assert [what in each.what for each in found.problems] == [True]
    assert found.problems[0].place.line == 2


def test_a_header_may_take_packages_from_elsewhere(tmp_path: Path) -> None:
    """Of these nobody knows the version; nor does what was released later count."""
    found = declare(
        tmp_path,
        {
            "train.py": header(
                'dependencies = ["trl", "transformers"]',
                "[tool.uv]",
                "exclude-newer = 2025-06-01T00:00:00Z",
                'constraint-dependencies = ["datasets<4"]',
                "[tool.uv.sources]",
                'trl = { git = "https://github.com/huggingface/trl", rev = "abc" }',
            )
        },
    )

    assert said(found) == {
        "trl": "git+https://github.com/huggingface/trl@abc",
        "transformers": "",
        "datasets": "<4",
    }
    assert [each.constraint for each in found.requirements] == [False, False, True]
    assert found.before == "2025-06-01"


# Requirements files


def test_a_requirements_file_says_what_pip_reads_in_it(tmp_path: Path) -> None:
    """Comments, continued lines, hashes, markers, options and includes."""
    text = (
        "# what it needs\n"
        "--index-url https://example.org/simple\n"
        "trl[peft] >= 0.12 ; python_version > '3.8'  # why\n"
        "transformers==4.46.3 \\\n    --hash=sha256:abc \\\n    --hash=sha256:def\n"
        "-r more/extra.txt\n"
        "-c limits.txt\n"
        "-e .\n"
        "\n"
        "no good\n"
    )
    files = {
        "requirements.txt": text,
        "more/extra.txt": "-r ../requirements.txt\npeft\n-r missing.txt\n",
        "limits.txt": "datasets<4\n",
    }
    found = declare(tmp_path, files)

    assert said(found) == {"trl": ">=0.12", "transformers": "==4.46.3", "peft": "", "datasets": "<4"}
    assert found.requirements[0].extras == {"peft"}
    assert found.requirements[0].place.line == 3
    assert [each.name for each in found.requirements if each.constraint] == ["datasets"]
    assert [each.what for each in found.problems] == ["missing.txt cannot be read", "'no good' is not a requirement"]
    assert found.problems[1].place.line == 11


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("git+https://github.com/huggingface/trl.git@main", "trl"),
        ("git+https://github.com/huggingface/transformers", "transformers"),
        ("git+ssh://git@github.com/me/fork.git#egg=trl", "trl"),
        ("https://example.org/wheels/trl-0.9.6-py3-none-any.whl", "trl"),
        ("./wheels/huggingface_hub-0.30.0-py3-none-any.whl", "huggingface-hub"),
        ("trl[peft] @ file:///wheels/fork.whl", "trl"),
        ("trl @ git+https://github.com/huggingface/trl", "trl"),
        ("../trl", "trl"),
        ("trl==${TRL_VERSION}", "trl"),
        ("transformers=={version}", "transformers"),
    ],
)
def test_what_comes_from_elsewhere_is_named_and_has_no_version(text: str, name: str) -> None:
    """A URL, a repository, a folder, a variable."""
    found = read_requirement(text, Place("r"))

    assert isinstance(found, Requirement)
    assert (found.name, found.specifier) == (name, "")
    assert found.url or found.unknown


@given(st.text(max_size=60))
def test_no_line_is_an_accident(text: str) -> None:
    """Whatever somebody wrote, it is a requirement, a problem or nothing."""
    read_requirement(text, Place("r"))
    list(logical_lines(text))


# Projects


def test_a_pyproject_says_what_it_needs(tmp_path: Path) -> None:
    """The main dependencies, and of the optional ones those libraries that are not declared anyway."""
    text = (
        '[project]\nname = "x"\nrequires-python = ">=3.10"\ndependencies = ["trl>=1"]\n'
        '[project.optional-dependencies]\ntrain = ["trl==0.9", "peft>=0.8", "rich"]\n'
        '[dependency-groups]\ndev = ["pytest", {include-group = "x"}, "accelerate"]\n'
    )
    found = declare(tmp_path, {"pyproject.toml": text})

    assert said(found) == {"trl": ">=1", "peft": ">=0.8", "accelerate": ""}
    assert found.python == ">=3.10"
    assert found.requirements[0].place.line == 4


def test_poetry_spells_versions_its_own_way(tmp_path: Path) -> None:
    """A caret admits what does not change the first number that is not zero."""
    text = (
        '[tool.poetry.dependencies]\npython = "^3.10"\ntrl = "^0.12.1"\n'
        'transformers = { version = "~4.46", extras = ["torch"] }\npeft = "*"\n'
        'datasets = { git = "https://github.com/huggingface/datasets" }\n'
    )
    found = declare(tmp_path, {"pyproject.toml": text})

    assert said(found) == {
        "trl": ">=0.12.1,<0.13",
        "transformers": ">=4.46,<4.47",
        "peft": "",
        "datasets": "git+https://github.com/huggingface/datasets",
    }
    assert found.python == ">=3.10,<4"


def test_a_library_s_own_repository_runs_its_own_source(tmp_path: Path) -> None:
    """Its version is none that was released."""
    found = declare(tmp_path, {"pyproject.toml": '[project]\nname = "trl"\ndependencies = ["transformers>=4.56"]\n'})

    assert said(found) == {"transformers": ">=4.56", "trl": ""}
    assert [each.name for each in found.requirements if each.unknown] == ["trl"]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("setup.cfg", "[options]\ninstall_requires =\n    trl>=0.9\n    tqdm\n", {"trl": ">=0.9", "tqdm": ""}),
        ("setup.py", "needs = ['trl' + '>=0.9']\nsetup(name='x', install_requires=needs)\n", {"trl": ">=0.9"}),
        (
            "setup.py",
            (
                "_deps = ['trl[vllm]==0.18', 'tqdm', 'ruff>=0.9']\ndeps = {x.split('=')[0]: x for x in _deps}\n"
                "install_requires = [deps['trl'], deps['tqdm']]\nsetup(name='x', install_requires=install_requires)\n"
            ),
            {"trl": "==0.18", "tqdm": ""},
        ),
        ("Pipfile", '[packages]\ntrl = "==0.9.6"\npeft = "*"\n', {"trl": "==0.9.6", "peft": ""}),
        (
            "environment.yml",
            "dependencies:\n  - python=3.10\n  - transformers=4.40.1=py_0\n  - pip:\n    - trl==0.9.6\n    - -r x.txt\n",
            {"python": "==3.10.*", "transformers": "==4.40.1.*", "trl": "==0.9.6"},
        ),
        (
            "Dockerfile",
            "FROM python:3.11-slim\nRUN apt-get update && \\\n    pip install --no-cache-dir -U \\\n  'trl>=0.9' peft==0.8 && echo done\n",
            {"trl": ">=0.9", "peft": "==0.8"},
        ),
    ],
)
def test_older_files_are_read_too(tmp_path: Path, name: str, text: str, expected: dict[str, str]) -> None:
    """As far as they say it in so many words."""
    found = declare(tmp_path, {name: text})

    assert said(found) == expected
    assert (found.origin, found.problems) == (name, ())


def test_a_python_version_file_says_which_python(tmp_path: Path) -> None:
    """Where nothing else does."""
    files = {"requirements.txt": "trl\n", ".python-version": "3.10\n"}

    assert declare(tmp_path, files).python == "==3.10.*"


def test_a_lock_with_several_versions_says_none(tmp_path: Path) -> None:
    """Which one counts depends on where it is installed."""
    rows = "".join(f'[[package]]\nname = "trl"\nversion = "{version}"\n' for version in ("0.9.6", "1.0.0"))
    git = '[[package]]\nname = "transformers"\nversion = "5.0.0"\nsource = { git = "https://x" }\n'
    found = declare(tmp_path, {"uv.lock": rows + git})

    assert [each.specifier for each in found.requirements] == ["", ""]
    assert all(each.unknown for each in found.requirements)


# Notebooks


def notebook(*cells: str) -> str:
    markdown = {"cell_type": "markdown", "source": ["pip install trl==0.1"]}
    code = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [markdown, *code], "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


@pytest.mark.parametrize(
    "cell",
    [
        "!pip install -q trl==0.9.6 peft",
        "%pip install trl==0.9.6 peft --quiet",
        "%%capture\n!uv pip install --system trl==0.9.6 peft",
        "%%bash\npip3 install trl==0.9.6 \\\n  peft",
        "import os\n! python -m pip install 'trl==0.9.6' peft  # why",
        "!pip install --index-url https://example.org trl==0.9.6 peft; echo done trl==1",
    ],
)
def test_a_notebook_s_install_lines_are_its_requirements(tmp_path: Path, cell: str) -> None:
    """However they call pip; the place names the cell."""
    found = declare(tmp_path, {"train.ipynb": notebook(cell), "requirements.txt": "trl==1.0.0\n"}, "train.ipynb")

    assert (found.kind, said(found)) == ("notebook", {"trl": "==0.9.6", "peft": ""})
    assert found.requirements[0].place.cell == 2
    assert [each.unknown for each in found.requirements] == ["", ""]


@pytest.mark.parametrize(
    ("lines", "known"),
    [
        (("!pip install trl==0.9.6", "!pip install transformers"), set()),
        (("!pip install transformers", "!pip install trl==0.9.6"), {"trl"}),
        (("!pip install --no-deps trl peft", "!pip install --no-deps trl==0.9.6"), {"trl"}),
        (("!pip install trl==0.9.6", "!pip install transformers==4.42.4"), {"trl", "transformers"}),
        (("!pip install trl", "!pip install transformers"), {"trl", "transformers"}),
        (("!pip install numpy==1.26", "!pip install trl"), {"trl"}),
    ],
)
def test_several_install_commands_may_undo_one_another(tmp_path: Path, lines: tuple[str, ...], known: set[str]) -> None:
    """Then it is in doubt what is there in the end; what is pinned last is certain."""
    found = declare(tmp_path, {"train.ipynb": notebook(*lines)}, "train.ipynb")
    ours = [each for each in found.requirements if each.name in {"trl", "transformers", "peft"}]

    assert {each.name for each in ours if not each.unknown} == known


def test_a_notebook_that_installs_nothing_stands_on_its_project(tmp_path: Path) -> None:
    """As a script does."""
    found = declare(
        tmp_path, {"train.ipynb": notebook("import trl"), "requirements.txt": "trl==1.0.0\n"}, "train.ipynb"
    )

    assert found.kind == "requirements"


# uv


def test_uv_is_asked_in_the_words_it_knows() -> None:
    """And its answer is read by name."""
    asked: list[tuple[list[str], str, str]] = []

    def run(command: list[str], given: str) -> tuple[int, str, str]:
        limits = Path(command[command.index("--constraint") + 1]).read_text()
        asked.append((command[1:], given, limits))
        return 0, "huggingface-hub==2.4.0\ntrl==1.16.0 ; python_version > '3'\n", ""

    requirements = (
        requirement('trl[peft]>=1; python_version > "3.8"'),
        requirement("peft @ git+https://github.com/huggingface/peft"),
        replace(requirement("datasets<4"), constraint=True),
    )
    declared = ProjectRequirements(kind="header", requirements=requirements, before="2026-01-01")
    found = ask_uv(declared, "3.11", lowest=True, run=run)

    assert found == {"huggingface_hub": "2.4.0", "trl": "1.16.0"}
    [(command, given, limits)] = asked
    assert {"lowest-direct", "3.11", "2026-01-01"} <= set(command)
    assert given.splitlines() == [
        'trl[peft]>=1 ; python_version > "3.8"',
        "peft @ git+https://github.com/huggingface/peft",
    ]
    assert limits == "datasets<4"


def test_what_uv_cannot_resolve_is_told_in_its_words() -> None:
    """On one line, without its drawing."""
    declared = ProjectRequirements(kind="header", origin="script header", requirements=(requirement("trl"),))

    with pytest.raises(SourceError, match="No solution found: trl is too old"):
        ask_uv(
            declared,
            "3.11",
            run=lambda _command, _given: (
                1,
                "",
                "  \u00d7 No solution found:\n  \u2570\u2500\u25b6 trl is\n too old\n",
            ),
        )


# Bad input


@pytest.mark.parametrize(
    "name",
    [
        "uv.lock",
        "requirements.txt",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
        "Pipfile",
        "environment.yml",
        "Dockerfile",
    ],
)
@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00\x01", b"[[[", b"a = [1,\n'''", b"", b"[project]\ndependencies = 3\n"]
)
def test_a_file_that_is_not_what_it_is_called_is_no_accident(tmp_path: Path, name: str, content: bytes) -> None:
    """It declares nothing of the libraries; where it cannot be read at all, nobody knows what it would."""
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_bytes(content)
    found = find_declared(str(tmp_path / "train.py"), "", environ={}, prefix=NOWHERE)

    assert found.requirements == ()
    assert found.kind == "nothing" or found.unsure


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "trl==0.15.2\ntransformers==4.4x\n"),
        ("requirements.txt", "trl=0.15.2\n"),
        ("requirements.txt", "trl==0.15.2\n-r other.txt\n"),
        ("pyproject.toml", '[project\ndependencies = ["trl==0.15.2"]\n'),
        ("uv.lock", "version = [\n"),
    ],
)
def test_a_file_that_cannot_be_understood_is_no_other_file(tmp_path: Path, name: str, text: str) -> None:
    """The script is not judged by the environment at hand, nor by the newest releases, as if the file said nothing."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    declared = find_declared(str(tmp_path / "train.py"), "import trl", environ={})

    assert Path(declared.path or tmp_path / name) == tmp_path / name
    assert declared.unsure
    assert resolve(declared).newest == {}


@pytest.mark.parametrize("text", ["trl==1.16.0\nsome package of mine\n", "trl==1.16.0\n-r https://example.org/r.txt\n"])
def test_a_line_about_something_else_leaves_the_versions_known(tmp_path: Path, text: str) -> None:
    """What cannot be understood names neither library."""
    (tmp_path / "requirements.txt").write_text(text, encoding="utf-8")
    declared = find_declared(str(tmp_path / "train.py"), "import trl", environ={})

    assert resolve(declared).newest["trl"] == "1.16.0"
