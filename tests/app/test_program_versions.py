"""The versions that a program gets, by what it declares and by what launches it."""

import shlex
from pathlib import Path

import pytest

import holdfast
from holdfast.adapters.targets.commands import read_line
from holdfast.app.check.programs import resolve_versions
from holdfast.engine.check.program_facts import VersionContext


def launched(folder: Path, command: str, *requirements: str) -> VersionContext:
    """What a script with requirements in its header gets when a command starts it."""
    listed = ", ".join(f'"{each}"' for each in requirements)
    path = folder / "train.py"
    path.write_text(f"# /// script\n# dependencies = [{listed}]\n# ///\nfrom trl import SFTTrainer\n", encoding="utf-8")
    documents = read_line(shlex.split(command.replace("train.py", str(path)))).documents
    return resolve_versions(documents[0].path, documents, "catalog")


def test_what_uv_is_told_to_add_takes_the_place_of_the_header_s(tmp_path: Path) -> None:
    """Source: tried with wheels of our own, the header asking for 1.0 and `--with` for 2.0: the script imports 2.0."""
    found = launched(tmp_path, "uv run --with trl==0.19.1 train.py", "trl==0.16.0")
    assert found.resolution.conflict is None
    assert found.versions["trl"] == "0.19.1"


def test_what_uv_is_told_to_add_may_replace_more_than_it_names(tmp_path: Path) -> None:
    """It is resolved after the header, without its limits, and brings what it needs itself."""
    found = launched(tmp_path, "uv run --with trl==1.16.0 train.py", "trl==0.16.0", "datasets==3.0.0")
    assert found.resolution.conflict is None
    assert found.versions["trl"] == "1.16.0"
    assert found.versions["datasets"] != "3.0.0"


@pytest.mark.parametrize(
    ("command", "conflict"),
    [
        ("uv run --with peft train.py", "datasets==3.0.0"),
        ("uv run --with trl==1.16.0 --with datasets==2.0.0 train.py", "datasets==2.0.0"),
    ],
)
def test_a_header_or_an_addition_that_excludes_itself_does_so_still(
    tmp_path: Path, command: str, conflict: str
) -> None:
    """Each of the two is resolved, so each has to be possible."""
    header = ("trl==1.16.0", "datasets==3.0.0") if "peft" in command else ("trl==0.16.0", "datasets==3.0.0")
    found = launched(tmp_path, command, *header)
    assert conflict in (found.resolution.conflict or "")


@pytest.mark.parametrize(
    ("requirements", "versions"),
    [
        (("trl==1.16.0", "transformers<4.50"), {"trl": "1.16.0", "transformers": "4.49.0"}),
        (("trl>=1.16", "transformers<4.50"), {"transformers": "4.49.0"}),
        (("trl==1.16.0", "datasets==3.0.0"), {"trl": "1.16.0", "datasets": "3.0.0"}),
    ],
)
def test_requirements_that_exclude_one_another_are_taken_each_for_itself(
    tmp_path: Path, requirements: tuple[str, ...], versions: dict[str, str]
) -> None:
    """So that one pair turns off no rule; nothing is unknown of what the script uses."""
    (tmp_path / "requirements.txt").write_text("\n".join(requirements))
    (tmp_path / "train.py").write_text("from trl import SFTTrainer\n", encoding="utf-8")
    documents = read_line(["python", str(tmp_path / "train.py")]).documents
    found = resolve_versions(documents[0].path, documents, "catalog")
    assert found.resolution.conflict
    assert versions.items() <= found.versions.items()
    assert not found.unknown


@pytest.mark.parametrize("script", ["train.py", "sub/train.py"])
def test_a_conflict_is_named_by_the_path_from_here(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the script itself is; absolute only if that is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "sub").mkdir()
    Path("requirements.txt").write_text("trl==1.16.0\ntransformers==4.40.0\n")
    Path(script).write_text("from trl import SFTTrainer\n")
    for given, path in ((script, "requirements.txt"), (str(tmp_path / script), str(tmp_path / "requirements.txt"))):
        (answer,) = holdfast.check(given, offline=True, select=["DEP109"])["targets"]
        assert [each["path"] for each in answer["findings"]] == [path]
