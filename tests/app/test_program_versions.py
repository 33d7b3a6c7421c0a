"""The versions that a program gets, by what it declares and by what launches it."""

import shlex
from pathlib import Path

import pytest

from holdfast.adapters.targets.commands import read_line
from holdfast.app.check.programs import resolve_versions
from holdfast.engine.check.program import VersionContext


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
