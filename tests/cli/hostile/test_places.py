"""Places that cannot be read or written are told with what to do, and end with the exit code of the contract."""

import os
from errno import EIO
from pathlib import Path

import pytest

from holdfast.cli.main import run_command
from holdfast.cli.pages import require_page, write_page

LONG = {
    "check": ["check"],
    "inspect": ["inspect"],
    "inspect --html": ["inspect", "rows.jsonl", "--html"],
    "inspect --save": ["inspect", "job.yaml", "--save"],
    "plan": ["plan"],
    "plan --prices": ["plan", "job.yaml", "--prices"],
    "plan --html": ["plan", "job.yaml", "--trace", "--html"],
    "render": ["render"],
    "render --output": ["render", "job.yaml", "--output"],
    "rehearse": ["rehearse"],
    "run": ["run"],
    "runs --runs": ["runs", "--runs"],
    "show --runs": ["show", "x", "--runs"],
    "study": ["study"],
    "evaluate": ["evaluate", "--on", "rows.jsonl"],
    "evaluate --on": ["evaluate", "builtin:tiny-chat", "--on"],
    "export": ["export"],
    "export --out": ["export", "builtin:tiny-chat", "--out"],
    "diagnose": ["diagnose"],
    "verify": ["verify"],
}
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\n"
WRONG = {
    "a folder that is not there": (["render", "job.yaml", "--output", "none/x.py"], 2, "cannot be written"),
    "a device that is full": (["render", "job.yaml", "--output", "/dev/full"], 2, "cannot be written"),
    "a link to itself": (["evaluate", "loop", "--on", "rows.jsonl", "--offline"], 2, "loop"),
    "a page in no folder": (["inspect", "rows.jsonl", "--html", "none/x.html"], 2, "the page cannot be written"),
    "a page of a trace in no folder": (["plan", "none.yaml", "--trace", "--html", "none/x.html"], 2, "the page cannot"),
    "a number that is too long": (["render", "job.yaml", "--set", "seed=0x" + "f" * 5000], 2, "`seed`"),
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB)
    Path("rows.jsonl").write_text('{"text": "a"}\n')
    Path("loop").symlink_to("loop")
    return tmp_path


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, code, what = WRONG[name]

    assert run_command(words) == code
    told = capsys.readouterr()
    assert what in told.err
    assert "fix:" in told.err


def test_a_folder_that_was_deleted(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (gone := place / "gone").mkdir()
    os.chdir(gone)
    gone.rmdir()

    assert run_command(["check", "x.py"]) == 2
    assert "the current folder was deleted" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000, "a" * 5000])
@pytest.mark.parametrize("command", LONG)
def test_a_name_that_is_too_long(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of what is read, and of what would be written at the end."""
    assert run_command([*LONG[command], name]) == 2
    told = capsys.readouterr()
    assert f"no file can have a name of {len(name):,} characters" in told.err
    assert "fix:" in told.err


def test_a_long_name_in_the_environment(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_RUNS", "a" * 300)
    assert run_command(["runs"]) == 2
    assert "no file can have a name of 300 characters" in capsys.readouterr().err


def test_the_place_of_a_page_is_looked_at_before_the_work(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look leaves nothing behind, and changes nothing that is there."""
    monkeypatch.setattr("holdfast.cli.verbs.plan.plan", lambda *_, **__: pytest.fail("it is planned"))
    (place / "kept.html").write_text("before")
    for page in ("none/x.html", "job.yaml/x.html", "loop"):
        assert run_command(["plan", "job.yaml", "--trace", "--html", page]) == 2
        assert "the page cannot be written" in capsys.readouterr().err
    for page in ("kept.html", "new.html"):
        require_page(page)
    assert (place / "kept.html").read_text() == "before"
    assert not (place / "new.html").exists()


@pytest.mark.parametrize("page", ["page.html", "linked/page.html"])
def test_a_link_to_a_page_that_is_not_there_yet_stays(place: Path, page: str) -> None:
    """The look leaves the link, and the page is written where it leads."""
    Path("pages").mkdir()
    Path("linked").symlink_to("pages")
    Path(page).symlink_to(place / "target.html")

    require_page(page)
    assert Path(page).is_symlink()
    assert not Path("target.html").exists()
    write_page(page, "text")
    assert Path("target.html").read_text() == "text"


def test_an_address_may_be_long(capsys: pytest.CaptureFixture[str]) -> None:
    """A signed one is."""
    run_command(["check", f"https://localhost:1/{'a' * 500}.py", "--offline"])
    assert "characters" not in capsys.readouterr().err


def test_any_other_file_that_fails_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it is used."""

    def fail(*_: object, **__: object) -> object:
        raise OSError(EIO, "Input/output error", "job.yaml")

    monkeypatch.setattr("holdfast.cli.verbs.verify.verify", fail)
    assert run_command(["verify", "."]) == 1
    assert "job.yaml cannot be used: Input/output error" in capsys.readouterr().err
