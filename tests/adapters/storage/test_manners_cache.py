"""What the cache says is what a check would find, and what it does not know is checked."""

from pathlib import Path

import pytest

from holdfast.adapters.storage.check_cache import (
    PACKAGE,
    CacheBasis,
    CheckCache,
    CheckEnvironment,
    cache_folder,
    digest,
    holdfast_stamp,
    package_stats,
)
from tests.helpers.results import finding, target

FOUND = target(finding(message="é"))
MODULES = {"settings": "SIZE = 1\n", "none": None}


def basis(name: str = "train.py", content: str = "c", **modules: str | None) -> CacheBasis:
    return CacheBasis(name=name, content=content, read_module={**MODULES, **modules}.get)


def kept(folder: Path) -> CheckCache:
    """Return a cache with one entry."""
    cache = CheckCache(folder)
    cache.save(basis(), FOUND, MODULES)
    return cache


def test_what_was_found_is_found_again(tmp_path: Path) -> None:
    """By another cache in the same folder; git sees none of it."""
    kept(tmp_path / "a" / "b")

    assert CheckCache(tmp_path / "a" / "b").load(basis()) == FOUND
    assert (tmp_path / "a" / "b" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "other",
    [
        basis(name="other.py"),
        basis(content="d"),
        basis(settings="SIZE = 2\n"),
        basis(settings=None),
        basis(none=""),
    ],
    ids=["name", "content", "module", "module gone", "module there"],
)
def test_a_change_of_anything_that_it_was_made_from_counts(other: CacheBasis, tmp_path: Path) -> None:
    """The file, its name, the modules beside it, and that there was none."""
    assert kept(tmp_path).load(other) is None


@pytest.mark.parametrize("cut", [0, 10, 70, 100])
def test_a_damaged_entry_is_none(cut: int, tmp_path: Path) -> None:
    """Cut off, changed, or no text at all."""
    cache = kept(tmp_path)
    (entry,) = tmp_path.glob("*.json")
    whole = entry.read_bytes()
    for damaged in (whole[:cut], whole[:cut] + b"\xff" + whole[cut + 1 :], whole[:cut] + b"{}", b"\n[]", b"3"):
        entry.write_bytes(damaged)
        assert cache.load(basis()) is None
    entry.write_bytes(whole)
    assert cache.load(basis()) == FOUND


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    """And nothing is lost: the folder is a file, or an entry's name is taken."""
    (tmp_path / "file").write_text("")
    kept(tmp_path / "file")
    cache = kept(tmp_path)
    (entry,) = tmp_path.glob("*.json")
    entry.unlink()
    entry.mkdir()
    cache.save(basis(), FOUND, ())

    assert cache.load(basis()) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([".gitignore", "file", entry.name])


def test_a_newer_entry_takes_the_place_of_the_old(tmp_path: Path) -> None:
    """So that the folder does not grow with every change."""
    cache = kept(tmp_path)
    cache.save(basis(content="d"), target(), ())

    assert cache.load(basis(content="d")) == target()
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_entries_lie_beside_the_projects_file_or_in_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """As other programs keep theirs."""
    monkeypatch.setenv("HOME", "/home/me")

    assert cache_folder(Path("/p"), {"XDG_CACHE_HOME": "/c"}) == Path("/p/.holdfast_cache")
    assert cache_folder(None, {"XDG_CACHE_HOME": ""}) == Path("/home/me/.cache/holdfast/check")


def test_another_holdfast_has_another_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule or the catalog was changed, added or taken away."""
    monkeypatch.setattr("holdfast.adapters.storage.check_cache.PACKAGE", tmp_path)

    def stamp(**files: str) -> str:
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        return holdfast_stamp.__wrapped__()

    stamps = [stamp(), stamp(rule="a"), stamp(rule="ab"), stamp(catalog="a")]

    assert len(set(stamps)) == 4
    assert stamp() == stamps[-1]
    assert digest("a") != digest("b")


def surroundings(project: Path, environ: dict[str, str] | None = None) -> str:
    return CheckEnvironment(environ or {}).stamp(project / "src")


@pytest.mark.parametrize(
    "name",
    [
        "requirements.txt",
        "src/dev-requirements.txt",
        "requirements/train.txt",
        "pyproject.toml",
        "uv.lock",
        "pylock.toml",
        "src/Dockerfile",
        "environment.yml",
        ".python-version",
        "included.txt",
        ".venv/lib/python3.12/site-packages/trl-1.0.dist-info",
    ],
)
def test_what_is_declared_or_installed_near_a_file_counts(name: str, tmp_path: Path) -> None:
    """A file of requirements that is new, or changed, and a library that is installed anew."""
    (tmp_path / "src").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "base-requirements.txt").write_text("-r included.txt\n")
    before = surroundings(tmp_path)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("trl==1.0\n")
    between = surroundings(tmp_path)
    path.write_text("trl==1.1\n")

    assert before != between
    assert (surroundings(tmp_path) != between) is not name.endswith(".dist-info")


def test_what_is_beyond_a_repository_or_no_declaration_does_not_count(tmp_path: Path) -> None:
    """Other files, files above the repository's root; a requirements file may take in itself."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "requirements.txt").write_text("-r requirements.txt\n-r none.txt\n")
    before = surroundings(project)
    (project / "README.md").write_text("trl")
    (tmp_path / "requirements.txt").write_text("trl")

    assert surroundings(project) == before


def test_the_activated_environment_counts(tmp_path: Path) -> None:
    """It is where a script without requirements takes its libraries from."""
    (tmp_path / "src").mkdir()
    packages = tmp_path / "environment" / "lib" / "python3.12" / "site-packages"
    (packages / "trl-1.0.dist-info").mkdir(parents=True)
    before = surroundings(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "environment")})
    (packages / "trl-1.0.dist-info").rename(packages / "trl-1.1.dist-info")

    assert surroundings(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "environment")}) != before
    assert surroundings(tmp_path) != before


def test_an_entry_rests_on_every_floor_of_holdfast() -> None:
    """A rule or a fact of the catalog that changes makes every entry stale."""
    floors = {name.partition("/")[0] for name, *_ in package_stats(PACKAGE)}

    assert floors >= {"adapters", "app", "catalog", "core", "engine", "payload", "rules", "signatures"}
