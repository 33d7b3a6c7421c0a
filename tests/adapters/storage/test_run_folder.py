"""Run folders: no run gets another's, no reader sees half a file, and one process supervises a run."""

import os
import re
from errno import ENOSPC
from pathlib import Path
from string import ascii_lowercase, digits

import pytest

from holdfast.adapters.storage.private_files import partial_of
from holdfast.adapters.storage.run_folder import (
    Tail,
    is_supervised,
    load_plan,
    make_run_folder,
    save_plan,
    supervising,
    write_whole,
)
from holdfast.core.errors import LedgerError, UsageError
from holdfast.core.run.plan import Plan

PLAN = Plan(name="jöb", script="print('trained')\n", script_name="train.py", cwd="/", arguments=("--a", "b c"))


def write_nothing(draft: Path, folder: Path) -> None:
    """Leave a run's folder empty."""


def test_a_folder_appears_with_its_first_files_or_not_at_all(tmp_path: Path) -> None:
    """While they are written no run is there, and after an error neither a run nor a remainder."""

    def write(draft: Path, folder: Path) -> None:
        assert [path.name for path in folder.parent.iterdir() if not path.name.startswith(".")] == []
        (draft / "request.json").write_text(str(folder))
        if folder.parent.name == "full":
            raise OSError(ENOSPC, "No space left on device")

    folder = make_run_folder(tmp_path / "runs", "sft", "now", write)
    assert (folder / "request.json").read_text() == str(folder)
    assert [*folder.parent.iterdir()] == [folder]

    with pytest.raises(UsageError, match="No space left"):
        make_run_folder(tmp_path / "full", "sft", "now", write)
    assert [*(tmp_path / "full").iterdir()] == []


def test_each_run_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named by job and time, absolute, in a runs folder that is made with the first."""
    monkeypatch.chdir(tmp_path)
    folders = {make_run_folder(Path("deep/runs"), "sft", "20261123-120000", write_nothing) for _ in range(20)}

    assert len(folders) == 20
    assert {folder.parent for folder in folders} == {tmp_path / "deep" / "runs"}
    assert all(folder.is_dir() and re.fullmatch(r"sft-20261123-120000-[a-z0-9]{2}", folder.name) for folder in folders)


def test_a_run_folder_that_cannot_be_written_is_said_by_whoever_would_supervise_it(tmp_path: Path) -> None:
    """A folder that is gone stands for one without permission: tests may run as root."""
    with pytest.raises(LedgerError, match=r"supervisor\.lock cannot be written"), supervising(tmp_path / "gone"):
        pass


def test_a_runs_folder_in_which_no_name_is_free_is_said(tmp_path: Path) -> None:
    """No folder is used twice: the run would write over another one's files."""
    for one in ascii_lowercase + digits:
        for two in ascii_lowercase + digits:
            (tmp_path / f"sft-now-{one}{two}").mkdir()

    with pytest.raises(LedgerError) as full:
        make_run_folder(tmp_path, "sft", "now", write_nothing)
    assert (full.value.what, full.value.where) == ("no free name for the run", str(tmp_path))
    assert full.value.fix == "try again in a second"


def test_a_runs_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    """What, where and how to fix it."""
    (tmp_path / "runs").write_text("")

    with pytest.raises(UsageError) as refused:
        make_run_folder(tmp_path / "runs", "sft", "now", write_nothing)
    assert (refused.value.what, refused.value.where) == (f"{tmp_path / 'runs'} is a file", "the runs folder")
    assert refused.value.fix == "choose another with --runs"


def test_a_runs_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """With the reason of the operating system."""
    with pytest.raises(UsageError) as refused:
        make_run_folder(tmp_path, "x" * 300, "now", write_nothing)

    assert refused.value.what == "the runs folder cannot be written: File name too long"
    assert refused.value.where == str(tmp_path)
    assert refused.value.fix == "choose another with --runs, or free disk space"


def test_a_file_is_there_as_a_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    """In a folder that is made where it is missing, and in the place of the file before."""
    path = tmp_path / "deep" / "deeper" / "report.html"
    for text in ("größer", "new"):
        write_whole(path, text)
        assert path.read_bytes() == text.encode()
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]


def test_a_file_that_cannot_be_written_is_said_and_the_one_before_stays(tmp_path: Path) -> None:
    """Half a file would be worse than an old one."""
    path = tmp_path / "report.html"
    write_whole(path, "old")
    partial_of(path).mkdir()

    with pytest.raises(LedgerError) as refused:
        write_whole(path, "new")
    assert refused.value.what == "report.html cannot be written: Is a directory"
    assert refused.value.where == str(tmp_path)
    assert refused.value.fix == "free some disk space, or check permissions"
    assert path.read_text() == "old"


def test_a_resumed_run_has_the_plan_of_the_first_attempt(tmp_path: Path) -> None:
    """To the last value."""
    save_plan(tmp_path, PLAN)

    assert load_plan(tmp_path) == PLAN


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"name": "x"}', '{"arguments": 1, "secrets": 2}'])
def test_a_plan_that_is_not_whole_is_said(tmp_path: Path, text: str | None) -> None:
    """And nothing is run from it."""
    if text is not None:
        (tmp_path / "plan.json").write_text(text)

    with pytest.raises(LedgerError, match="the run's plan cannot be read: ") as refused:
        load_plan(tmp_path)
    assert refused.value.where == str(tmp_path / "plan.json")
    assert refused.value.fix == "start the job again with `holdfast run`"


def test_one_process_supervises_a_run(tmp_path: Path) -> None:
    """A second one is told no, asking disturbs nobody, and the right is free again afterwards."""
    assert not is_supervised(tmp_path)
    for _ in range(2):
        with supervising(tmp_path) as first, supervising(tmp_path) as second:
            assert (first, second) == (True, False)
            assert is_supervised(tmp_path)
            assert is_supervised(tmp_path)
        assert not is_supervised(tmp_path)
    assert (tmp_path / "supervisor.lock").stat().st_mode & 0o777 == 0o600


def test_a_growing_file_is_read_once(tmp_path: Path) -> None:
    """Each call gives what came since the last one; before there is a file, nothing."""
    path = tmp_path / "log"
    tail = Tail(path, past=True)
    read = [tail.read()]
    for text in (b"one\n", b"", b"two", b"\n"):
        with path.open("ab") as file:
            file.write(text)
        read.append(tail.read())

    assert read == [b"", b"one\n", b"", b"two", b"\n"]


def test_what_a_file_held_already_is_read_only_if_that_is_asked_for(tmp_path: Path) -> None:
    """A file that comes later is read from its beginning."""
    path, later = tmp_path / "log", tmp_path / "later"
    path.write_bytes(b"old\n")
    tails = [Tail(path, past=True), Tail(path, past=True), Tail(path, past=False), Tail(later, past=False)]
    for each in (path, later):
        with each.open("ab") as file:
            file.write(b"new\n")

    assert [tail.read() for tail in tails] == [b"old\nnew\n", b"old\nnew\n", b"new\n", b"new\n"]


def test_a_name_that_is_no_text_can_be_written(tmp_path: Path) -> None:
    """A folder's name may be any bytes, and stands in reports."""
    write_whole(tmp_path / "report.html", f"<p>{os.fsdecode(b'd' + bytes([0xE4]))}</p>")

    assert (tmp_path / "report.html").read_text(encoding="utf-8") == "<p>d\\udce4</p>"
