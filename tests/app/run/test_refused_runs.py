"""A run that was refused: told apart from one that failed, with why it was refused and what to do about it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run.kept_results import save_result
from holdfast.app.run.observers import NullObserver
from holdfast.app.run.reporting import write_report
from holdfast.app.run.runs import Run
from holdfast.app.run.verb import run as start_run
from holdfast.cli.main import run_command
from holdfast.core.check.finding import Severity
from holdfast.core.run.event import Closed, RunRequested, RunStage
from holdfast.core.run.event_json import event_from_json, event_to_json
from holdfast.core.run.requested_job import RequestedJob
from holdfast.results import to_json
from tests.helpers.results import checked, finding, rehearsed, target

FAILURE = {
    "class": "user-code-error",
    "title": "The fault is in the user's own code",
    "stage": "step",
    "cause": "The callback `Log.on_log` raises KeyError: 'loss'.",
    "fix": "Correct `Log.on_log` at train.py:5.",
    "where": "train.py:5",
    "refuses": True,
}
FINDING = {
    "code": "ARG106",
    "severity": "error",
    "message": "`SFTConfig` takes no `learnin_rate`",
    "path": "train.py",
    "line": 3,
    "fix": {"title": "write `learning_rate`", "safe": False},
}


@pytest.fixture(name="run")
def asked_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run that was asked for, and not begun."""
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path))
    run = Run(name="train-1", folder=tmp_path / "train-1", ledger=Ledger(tmp_path))
    run.folder.mkdir()
    about = RequestedJob(job="train", target="train.py", backend="local")
    run.ledger.append(run.name, [RunRequested(at_s=1.0, folder=str(run.folder), about=about)])
    return run


def refused_by_rehearsal(run: Run) -> None:
    (run.folder / "rehearsal.json").write_text(json.dumps(to_json(rehearsed(FAILURE))))
    run.refuse("rehearsal", "refused by the rehearsal: user-code-error in `step`", ["user-code-error"])


def refused_by_check(run: Run) -> None:
    found = finding(**FINDING)
    warned = structs.replace(found, code="REP105", severity=Severity.WARNING)
    result = checked(target(warned, structs.replace(found, code="EVL101"), found))
    (run.folder / "check.json").write_text(json.dumps(to_json(result)))
    run.refuse("check", "refused by check: ARG106", ["ARG106"])


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    run_command([*words])
    return capsys.readouterr().out


def test_list_of_runs_tells_refused_from_failed(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that failed has cost something; the stage in JSON is that of the contract, the key beside it is new."""
    refused_by_rehearsal(run)

    line = typed(capsys, "runs").splitlines()[1]
    told = json.loads(typed(capsys, "runs", "--format", "json"))

    assert "refused" in line
    assert "failed" not in line
    assert (told["stage"], told["refused_by"]) == ("failed", "rehearsal")


def test_run_that_began_was_refused_by_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever became of it."""
    run.ledger.append(run.name, [Closed(at_s=2.0, stage=RunStage.FAILED, because="exit code 1 at step 3")])

    assert "failed" in typed(capsys, "runs").splitlines()[1]
    assert json.loads(typed(capsys, "runs", "--format", "json"))["refused_by"] is None


def test_show_says_why_the_rehearsal_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """The cause with its line, the fix, and what to type next."""
    refused_by_rehearsal(run)

    told = typed(capsys, "show", run.name)

    assert "train.py:5: user-code-error The callback `Log.on_log` raises KeyError: 'loss'." in told
    assert "fix: Correct `Log.on_log` at train.py:5." in told
    assert "holdfast rehearse train.py" in told


def test_show_tells_of_the_rehearsal_of_a_run_that_began(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """How it ended, or nothing if there was none."""
    assert "rehearsal" not in typed(capsys, "show", run.name)
    assert json.loads(typed(capsys, "show", run.name, "--format", "json"))["rehearsed"] is None

    save_result(run, rehearsed())

    assert "rehearsal  passes in " in typed(capsys, "show", run.name)
    assert json.loads(typed(capsys, "show", run.name, "--format", "json"))["rehearsed"].startswith("passes in ")


def test_show_says_which_findings_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither warnings, nor errors that were consented to."""
    refused_by_check(run)

    told: dict[str, Any] = json.loads(typed(capsys, "show", run.name, "--format", "json"))

    assert told["refusal"] == [
        {
            "code": "ARG106",
            "message": "`SFTConfig` takes no `learnin_rate`",
            "where": "train.py:3",
            "fix": "write `learning_rate`",
        }
    ]


def test_report_of_a_refused_run_has_the_cause(run: Run) -> None:
    """It is the first page that a person opens who was not there."""
    refused_by_rehearsal(run)

    page = write_report(run).read_text(encoding="utf-8")

    assert "Why it was refused" in page
    assert "The callback `Log.on_log` raises KeyError" in page
    assert "Correct `Log.on_log` at train.py:5." in page
    assert "holdfast rehearse train.py" in page


def test_event_of_an_older_holdfast_is_read_as_before() -> None:
    """It says nothing of who refused; one that says so is read as it was written."""
    closed = Closed(at_s=2.0, stage=RunStage.FAILED, because="x", refused_by="check", codes=("ARG106",))
    kind, fields = event_to_json(closed)

    assert event_from_json(kind, json.loads(json.dumps(fields))) == closed
    assert event_from_json("closed", {"at_s": 2.0, "stage": "failed", "because": "x"}) == Closed(
        at_s=2.0, stage=RunStage.FAILED, because="x"
    )


class Interrupting(NullObserver):
    """A person who presses Ctrl-C as soon as the rehearsal begins."""

    def on_rehearsal_progress(self, said: str) -> None:  # noqa: ARG002 - the signature of an observer
        raise KeyboardInterrupt


def test_run_whose_rehearsal_is_interrupted_is_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not a run that is queued for ever."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "train.py").write_text("print('trained')\n")

    told = start_run("train.py", offline=True, observer=Interrupting())

    assert (told.stage, told.because) == (RunStage.CANCELLED, "stopped before it was started")
    assert told.refused_by is None
    assert (Path(told.folder) / "report.html").exists()


def test_the_report_shows_no_token(run: Run) -> None:
    """Of a run that was refused for a token in clear, neither the report nor the kept result has the token."""
    token = "hf_" + "Zx9" * 12
    found = structs.replace(finding(**FINDING), message=f"the token {token} is in clear")
    save_result(run, checked(target(found)))
    run.refuse("check", f"refused by check: HUB103 {token}", ["ARG106"])
    write_report(run)

    kept = [path.read_text(encoding="utf-8") for path in run.folder.iterdir() if path.is_file()]
    assert any("the token hf_" in text for text in kept)
    assert not [text for text in kept if token in text]


def test_a_run_that_its_rehearsal_refused_is_diagnosed_as_the_rehearsal_said(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    """No log of it exists, and no other class is guessed from the line of the ledger."""
    refused_by_rehearsal(run)

    told = json.loads(typed(capsys, "diagnose", run.name, "--format", "json"))

    assert [each["class"] for each in told["causes"]] == ["user-code-error"]
    assert told["causes"][0]["confidence"] >= 0.9
    assert "`Log.on_log` raises KeyError" in told["causes"][0]["evidence"][0]["text"]


@pytest.mark.parametrize("refuse", [refused_by_check, refused_by_rehearsal])
def test_diagnosis_of_a_refused_run_says_what_show_says(
    run: Run, refuse: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """It never wrote a log. A rule that prevents several classes of failure names none of them."""
    refuse(run)

    told = json.loads(typed(capsys, "diagnose", run.name, "--format", "json"))
    shown = json.loads(typed(capsys, "show", run.name, "--format", "json"))
    text = typed(capsys, "diagnose", run.name)

    assert told["refusal"] == shown["refusal"] != []
    assert (told["verdict"], told["run"], told["refused_by"]) == ("diagnosed", run.name, shown["refused_by"])
    assert "transformers-arg-removed" not in [each["class"] for each in told["causes"]]
    assert f"{run.name} was refused by its {shown['refused_by']} before it started" in text
    assert all(each["fix"] in text and each["message"] in text for each in shown["refusal"])


def test_folder_of_a_refused_run_is_the_run(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no log in it."""
    refused_by_check(run)

    assert f"{run.name} was refused" in typed(capsys, "diagnose", str(run.folder))


def test_logs_of_a_run_that_never_started_name_no_attempt(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    refused_by_check(run)
    run_command(["logs", run.name])

    said = capsys.readouterr().err
    assert "it has not started" in said
    assert "attempt 0" not in said
    assert f"holdfast show {run.name}" in said


def test_a_folder_called_as_a_run_is_read_and_the_run_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With logs in it, and without any."""
    refused_by_check(run)
    folder = tmp_path / "here" / run.name
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)

    run_command(["diagnose", run.name])
    assert f"the run is {run.name}" in capsys.readouterr().err

    (folder / "train.log").write_text("Killed\n")
    told = json.loads(typed(capsys, "diagnose", run.name, "--format", "json"))
    assert told["namesake"] == run.name
    assert "run" not in told
    assert f"`holdfast show {run.name}`" in typed(capsys, "diagnose", run.name)


NAMES = ("sums-20261127-090000-x7", "sums-20261127-100000-aa", "sums-short-20261127-110000-bb")


@pytest.fixture(name="several")
def several_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of one job, and one of a job whose name begins so."""
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path))
    for at_s, name in enumerate(NAMES):
        (tmp_path / name).mkdir()
        about = RequestedJob(job="sums", target="train.py", backend="local")
        Ledger(tmp_path).append(name, [RunRequested(at_s=float(at_s), folder=str(tmp_path / name), about=about)])
    return tmp_path


@pytest.mark.usefixtures("several")
def test_name_of_a_job_shows_its_newest_run_and_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(typed(capsys, "show", "sums", "--format", "json"))

    assert (told["run"], told["others"]) == (NAMES[1], [NAMES[0]])
    assert f"holdfast show {NAMES[0]}" in typed(capsys, "show", "sums")
    assert "others" not in json.loads(typed(capsys, "show", NAMES[0], "--format", "json"))


@pytest.mark.usefixtures("several")
@pytest.mark.parametrize("words", [("stop", "sums"), ("evaluate", "sums", "--on", "builtin:x"), ("show", "sums-")])
def test_what_changes_a_run_wants_one(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """A job's name counts its own runs alone, the beginning of a name all that begin so."""
    code = run_command([*words])

    said = capsys.readouterr().err
    assert code == 2
    assert ("3 runs begin with 'sums-'" if words[1] == "sums-" else "2 runs are called 'sums'") in said
    assert f"{NAMES[2] if words[1] == 'sums-' else NAMES[1]} is the newest" in said
