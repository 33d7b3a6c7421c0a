"""Wheels and installed packages as sources."""

import zipfile
from pathlib import Path

import pytest

from holdfast.adapters.environment.history_files import save_text, writable_folder
from holdfast.adapters.environment.wheels import read_installed, read_wheel
from holdfast.catalog.api.folders import newest_folder
from holdfast.core.errors import SourceError

METADATA = "Metadata-Version: 2.1\nName: trl\nVersion: 1.0.0\n"


def wheel(folder: Path, files: dict[str, str], name: str = "trl-1.0.0-py3-none-any.whl", year: int = 2026) -> Path:
    """Write a wheel."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in files.items():
            archive.writestr(zipfile.ZipInfo(file, (year, 2, 3, 4, 5, 6)), text)
    return path


def test_a_wheel_gives_its_modules_and_what_it_says_of_itself(tmp_path: Path) -> None:
    """Nothing but the package's own Python files; the date is that of its newest file."""
    files = {"trl/__init__.py": "x = 1", "trl/data.txt": "", "other/a.py": "", "trl-1.0.0.dist-info/METADATA": METADATA}
    found = read_wheel(wheel(tmp_path, files))

    assert (found.package, found.version, found.date) == ("trl", "1.0.0", "2026-02-03")
    assert dict(found.modules) == {"trl/__init__.py": b"x = 1"}
    assert found.metadata == METADATA


def test_a_builders_fixed_time_is_no_date(tmp_path: Path) -> None:
    """1980-01-01 and 2020-02-02 stand in wheels that can be built again bit by bit."""
    path = tmp_path / "trl-1.0.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("trl-1.0.0.dist-info/METADATA", (2020, 2, 2, 0, 0, 0)), METADATA)

    assert read_wheel(path).date == ""


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_what_is_no_wheel_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Empty, something else, not there, or without METADATA."""
    path = tmp_path / "trl-1.0.0-py3-none-any.whl"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SourceError, match="no wheel"):
        read_wheel(path)
    with pytest.raises(SourceError, match="no METADATA"):
        read_wheel(wheel(tmp_path, {"trl/__init__.py": ""}, "trl-2.0.0-py3-none-any.whl"))


def test_an_installed_package_gives_the_same(tmp_path: Path) -> None:
    """By the folder that it is installed in."""
    (tmp_path / "trl" / "inner").mkdir(parents=True)
    (tmp_path / "trl" / "inner" / "a.py").write_text("x = 1")
    (tmp_path / "trl-1.0.0.dist-info").mkdir()
    (tmp_path / "trl-1.0.0.dist-info" / "METADATA").write_text(METADATA)
    found = read_installed(tmp_path, "trl")

    assert (found.version, dict(found.modules)) == ("1.0.0", {"trl/inner/a.py": b"x = 1"})
    with pytest.raises(SourceError, match="peft is not installed"):
        read_installed(tmp_path, "peft")


def test_the_newer_histories_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in the user's cache, if they are dated later than those that came with holdfast."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    builtin, cached = tmp_path / "builtin", tmp_path / "cache" / "holdfast" / "api"
    save_text(builtin, "trl", '@\t{"package":"trl","made":"2026-02-01"}\n')

    assert newest_folder(builtin) == builtin
    save_text(cached, "trl", '@\t{"package":"trl","made":"2026-01-01"}\n')
    assert newest_folder(builtin) == builtin
    save_text(cached, "trl", '@\t{"package":"trl","made":"2026-03-01"}\n')
    assert newest_folder(builtin) == cached
    assert writable_folder(builtin) == builtin
    assert writable_folder(tmp_path / "missing") == cached
