"""Files that others put there are opened in one place, which waits for none and reads none without an end."""

import ast
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import holdfast
from holdfast.adapters.foreign_files import expanded, is_there, open_foreign, read_foreign, read_foreign_text

SOURCES: Final = Path(holdfast.__file__).parent
OURS: Final = ("payload", "catalog", "history", "signatures", "rules")
"""What runs elsewhere, and what reads only files that came with it."""
OPENING: Final = frozenset({"open", "read_text", "read_bytes", "fromfile", "fdopen"})
ALLOWED: Final[Mapping[str, str]] = {
    "adapters/foreign_files.py": "it is the one place",
    "adapters/rows/images.py": "Pillow opens the bytes that `read_foreign` has read",
    "adapters/backends/hf_jobs/bucket.py": "it sends `attempt.py`, which holdfast has written",
    "adapters/rows/sources.py": "archives are opened by their own modules, after `open_foreign` has looked at their beginning",
    "adapters/storage/log_files.py": "a log may be a FIFO, or standard input; it is read in pieces",
    "adapters/storage/journal.py": "appending; lines are read by `open_foreign`",
    "adapters/storage/locks.py": "locks, whose content is not read",
    "adapters/storage/private_files.py": "files of ours are written, with the mode that they need",
    "adapters/storage/run_folder.py": "the tail of a file that this process's attempt writes",
    "adapters/storage/check_cache.py": "entries that holdfast wrote, each with its checksum",
    "adapters/environment/extras.py": "what pip wrote beside holdfast's own package",
    "adapters/environment/guarded.py": "what the guard of an attempt, and the attempt's processes, wrote",
    "adapters/storage/shared_output.py": "what the attempt of a run wrote",
    "adapters/storage/retrieved_copies.py": "what holdfast noted of the files that it fetched",
    "adapters/backends/fake.py": "what the guard and the store of an attempt of its own wrote",
    "adapters/evaluation/process.py": "what the process of an evaluation wrote",
    "adapters/evaluation/benchmarks.py": "what the process of lm-eval wrote",
    "adapters/prepared_rows.py": "the log of a script that it starts is written",
    "adapters/tracing.py": "what the process of a trace wrote",
    "adapters/storage/scratch.py": "locks, whose content is not read",
    "app/run/backends.py": "`open` of a backend",
    "cli/pages.py": "a page that is to be written, before the work that it shows",
    "cli/terminal/streams.py": "the null device, in place of a stream that is closed",
    "cli/output.py": "the null device, in place of an output that cannot be written",
    "adapters/export/converter.py": "the archive that pip fetched, and its copy in the cache, which has a digest",
    "adapters/export/process.py": "what the process of an export wrote",
    "adapters/rehearsal/gate.py": "the folder of a socket of ours",
    "adapters/rehearsal/server.py": "what the processes of a rehearsal wrote",
    "adapters/rehearsal/rewards.py": "what the process that asks a reward wrote",
    "adapters/environment/history_files.py": "releases' history, which came with the package",
    "adapters/environment/machine.py": "files of the kernel",
    "adapters/environment/wheels.py": "wheels that the user named, and metadata of installed packages",
    "adapters/payload.py": "a file of the package",
    "app/rehearse/isolating.py": "what the processes of a rehearsal wrote",
    "app/rehearse/observing.py": "what the processes of a rehearsal wrote",
    "mcp/verb_process.py": "its own standard input and output",
}
METHODS_OF_OURS: Final = frozenset({"self", "source", "self._question", "self._keys", "record"})
"""What has a method `open` and is no path."""


def openings(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Attribute(attr=name, value=of) if name in OPENING and ast.unparse(of) not in METHODS_OF_OURS:
                yield f"line {node.lineno}: {ast.unparse(node)[:80]}"
            case ast.Name(id="open"):
                yield f"line {node.lineno}: {ast.unparse(node)[:80]}"
            case _:
                pass


def test_foreign_files_are_opened_in_one_place() -> None:
    """Whatever opens a file elsewhere says here why nothing foreign can be in it; an exception that is needed no more goes."""
    found: dict[str, list[str]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if not name.startswith(OURS) and (opened := list(openings(path))):
            found[name] = opened

    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() - found.keys() == set()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["FIFO", "device", "folder", "circle", "zero byte", "half of a character", "long"])
def test_what_is_no_file_raises_an_error_at_once(tmp_path: Path, kind: str) -> None:
    """A FIFO is not waited for and a device is not read; a name that no file can have is an error like any other."""
    path = tmp_path / "x"
    match kind:
        case "FIFO":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "folder":
            path.mkdir()
        case "circle":
            path.symlink_to("x")
        case _:
            path = tmp_path / {"zero byte": "a\0b", "half of a character": "\ud83d", "long": "a" * 10_000}[kind]

    for read in (read_foreign, read_foreign_text, open_foreign):
        with pytest.raises(OSError, match=r".+"):
            read(path)


@pytest.mark.parametrize("size", [0, 1, 99, 100])
def test_no_more_is_read_than_its_kind_needs(tmp_path: Path, size: int) -> None:
    """A file of the largest size is read, and one byte more is too much, also where the file says that it is empty."""
    path = tmp_path / "x"
    path.write_bytes(b"a" * size)

    assert read_foreign(path, 100) == b"a" * size
    path.write_bytes(b"a" * 101)
    with pytest.raises(OSError, match="larger than"):
        read_foreign(path, 100)


@pytest.mark.parametrize("name", ["a" * 10_000, "a\0b", "\ud83d", "no-such-file"])
def test_a_name_that_no_file_can_have_is_not_there(tmp_path: Path, name: str) -> None:
    """It is asked about like any other."""
    assert not is_there(tmp_path / name)
    assert is_there(tmp_path)


def test_nobody_has_no_home() -> None:
    """A path with the home of a user that does not exist stays as it is."""
    assert expanded("~nobody-at-all/x") == Path("~nobody-at-all/x")
    assert expanded("~/x") == Path.home() / "x"
