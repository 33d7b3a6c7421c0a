"""`holdfast catalog update`: from the registry, and from a folder of wheels."""

import json
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from holdfast.adapters.environment.registry import Registry
from holdfast.app.catalog import verb
from holdfast.app.catalog.verb import catalog
from holdfast.catalog.api import Api
from holdfast.catalog.messages import load_messages
from holdfast.cli.main import run_command
from holdfast.core.errors import UsageError

PIP = """
import pathlib, shutil, sys
words, shelf = sys.argv[1:], pathlib.Path({shelf!r})
if words[0] == "index":
    found = sorted((path.name.split("-")[1] for path in shelf.glob(words[2] + "-*.whl")), reverse=True)
    if not found:
        sys.exit("ERROR: No matching distribution found for " + words[2])
    print(words[2] + " (" + found[0] + ")")
    print("Available versions: " + ", ".join(found))
else:
    name, version = words[-1].split("==")
    folder = words[words.index("--dest") + 1]
    if "3.12" in words and version == "0.9.0":
        sys.exit("ERROR: Could not find a version")
    shutil.copy(next(shelf.glob(name + "-" + version + "-*.whl")), folder)
"""


def put_wheel(shelf: Path, version: str, fields: str, package: str = "trl") -> None:
    """Put a release on the registry's shelf."""
    shelf.mkdir(exist_ok=True)
    with zipfile.ZipFile(shelf / f"{package}-{version}-py3-none-any.whl", "w") as archive:
        files = {
            f"{package}/__init__.py": f"from dataclasses import dataclass\n@dataclass\nclass Config:\n    {fields}\n",
            f"{package}-{version}.dist-info/METADATA": f"Name: {package}\nVersion: {version}\n",
        }
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, int(version[0]) + 1, 0, 0, 0)), text)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry's shelf, and a program that stands for pip."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    program = tmp_path / "pip.py"
    program.write_text(PIP.format(shelf=str(folder)))
    monkeypatch.setattr(verb, "Registry", lambda: Registry((sys.executable, str(program))))
    monkeypatch.setattr(verb, "BUILTIN", tmp_path / "builtin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def update(tmp_path: Path, shelf: Path) -> Callable[[], Mapping[str, Sequence[str]]]:
    """Update a folder's history of trl from the shelf; gives what was added."""
    assert shelf.is_dir()

    def run() -> Mapping[str, Sequence[str]]:
        return catalog(["trl"], target=str(tmp_path / "api")).added

    return run


def test_new_releases_are_added_and_nothing_twice(
    tmp_path: Path, shelf: Path, update: Callable[[], Mapping[str, Sequence[str]]]
) -> None:
    """Oldest first; a patch of an older line too; one that only an older Python may install too."""
    put_wheel(shelf, "0.9.0", "a: int = 1")
    put_wheel(shelf, "1.0.0", "a: int = 1")
    assert update() == {"trl": ["0.9.0", "1.0.0"]}

    put_wheel(shelf, "2.0.0", "b: int = 1")
    assert update() == {"trl": ["2.0.0"]}
    assert update() == {}

    put_wheel(shelf, "1.0.1", "a: int = 2")
    put_wheel(shelf, "0.1.0", "older: int = 1")
    assert update() == {"trl": ["1.0.1"]}

    defaults = {}
    for version in ("1.0.0", "1.0.1", "2.0.0"):
        found = Api({"trl": version}, folder=tmp_path / "api").signature("trl.Config")
        assert found is not None
        defaults[version] = {name: each.default for name, each in found.parameters.items()}
    assert defaults == {"1.0.0": {"a": 1}, "1.0.1": {"a": 2}, "2.0.0": {"b": 1}}


def test_an_update_gives_what_a_build_from_the_same_wheels_gives(
    tmp_path: Path, shelf: Path, update: Callable[[], Mapping[str, Sequence[str]]]
) -> None:
    """But for the date: a build is dated by its newest wheel, so that it can be done again."""
    put_wheel(shelf, "1.0.0", "a: int = 1")
    update()
    put_wheel(shelf, "2.0.0", "b: int = 1")
    update()
    first = catalog(source=str(shelf), target=str(tmp_path / "built"))
    built = (tmp_path / "built" / "trl.history").read_bytes()
    catalog(source=str(shelf), target=str(tmp_path / "again"))

    assert first.added == {"trl": ["1.0.0", "2.0.0"]}
    assert built == (tmp_path / "again" / "trl.history").read_bytes()
    assert json.loads(built.split(b"\n")[0].split(b"\t")[1])["made"] == "2026-01-03"
    assert built.split(b"\n")[1:] == (tmp_path / "api" / "trl.history").read_bytes().split(b"\n")[1:]


def test_what_releases_say_is_kept_with_what_they_take(
    tmp_path: Path, shelf: Path, update: Callable[[], Mapping[str, Sequence[str]]]
) -> None:
    """Whether they come one by one from the registry, or all from a folder of wheels."""
    put_wheel(shelf, "1.0.0", "def f(self): raise ValueError('This was said before')")
    update()
    put_wheel(shelf, "2.0.0", "def f(self): raise ValueError('This is said since then')")
    update()
    catalog(source=str(shelf), target=str(tmp_path / "built"))
    updated, built = (
        {said.template: said.places[0].releases for said in load_messages("trl", tmp_path / name).all()}
        for name in ("api", "built")
    )

    assert updated == built == {"This was said before": 0b01, "This is said since then": 0b10}


def test_what_an_environment_has_and_no_registry_is_added(tmp_path: Path, shelf: Path) -> None:
    put_wheel(shelf, "1.0.0", "a: int = 1")
    target = tmp_path / "history"
    catalog(["trl"], target=str(target))
    put_wheel(tmp_path / "own", "1.1.0", "a: int = 1\n    ours: int = 2")
    site = tmp_path / "site-packages"
    with zipfile.ZipFile(next((tmp_path / "own").glob("*.whl"))) as wheel:
        wheel.extractall(site)
    answer = catalog(["trl"], source=str(site), target=str(target))
    assert answer.added == {"trl": ["1.1.0"]}
    assert answer.releases["trl"] == 2
    found = Api({"trl": "1.1.0"}, folder=target).signature("trl.Config")
    assert found is not None
    assert "ours" in found.parameters
    assert catalog(["trl"], source=str(site), target=str(target)).added == {}


def test_a_registry_that_cannot_be_asked_is_told_of(
    tmp_path: Path, shelf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what it said, and exit code 2; nothing is written."""
    assert shelf.is_dir()
    code = run_command(["catalog", "update", "trl", "--to", str(tmp_path / "api")])
    said = capsys.readouterr().err

    assert code == 2
    assert "No matching distribution found for trl" in said
    assert "--from" in said
    assert not (tmp_path / "api").exists()


def test_a_program_that_is_not_there_is_told_of() -> None:
    """The same words as for a registry out of reach."""
    with pytest.raises(UsageError, match="could not be queried"):
        Registry(("no-such-program-anywhere",)).versions("trl")


@pytest.mark.parametrize(("words", "says"), [(["tensorflow"], "does not cover"), (["--from", "."], "no wheel")])
def test_a_wrong_question_is_refused(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that the history does not cover; a folder without wheels."""
    monkeypatch.chdir(tmp_path)

    assert run_command(["catalog", "update", *words]) == 2
    assert says in capsys.readouterr().err


def test_where_the_catalog_may_not_be_written_the_cache_is(tmp_path: Path, shelf: Path) -> None:
    """All its histories, so that the folder is whole."""
    put_wheel(shelf, "1.0.0", "a: int = 1")
    answer = catalog(["trl"])

    assert answer.folder == str(tmp_path / "cache" / "holdfast" / "api")
    assert answer.releases == {"trl": 1}
