"""What `rehearse` prints: short, in the order of the path, each skip with its reason."""

from typing import Any

import pytest
from click import unstyle
from msgspec import convert

from holdfast.cli.text.rehearsal import render_rehearsal
from holdfast.results.rehearse import RehearseResult

FAILURE: dict[str, Any] = {
    "class": "user-code-error",
    "title": "The fault is in the user's own code",
    "stage": "step",
    "where": "train.py:5",
    "function": "Log.on_log",
    "role": "callback",
    "code": 'self.history.append(logs["loss"])',
    "key": None,
    "evidence": [{"path": "stderr.log", "line": 9, "text": "KeyError: 'loss'"}],
    "cause": "The callback `Log.on_log` raises KeyError: 'loss'.",
    "fix": "Correct `Log.on_log` at train.py:5.",
    "confidence": 0.9,
    "over": None,
    "refuses": True,
    "prevented_by": [],
    "blame": "unknown",
    "blamed_because": "something else failed in their place",
}


def stage(name: str, status: str = "pass", because: str | None = None) -> dict[str, Any]:
    return {"name": name, "status": status, "elapsed_s": 0.5, "because": because}


def answer(**changes: Any) -> dict[str, Any]:
    failed = "the script failed at `step`"
    usual = {
        "schema": 1,
        "verb": "rehearse",
        "failure": None,
        "shrunk": [],
        "learnt": {},
        "versions": {},
        "verdict": "fail",
        "path": "train.py",
        "elapsed_s": 9.0,
        "stages": [
            stage("import"),
            stage("step", "fail", "KeyError: 'loss'."),
            *(stage(name, "not_rehearsed", failed) for name in ("evaluate", "save")),
            stage("push", "not_rehearsed", "the script pushes nothing"),
        ],
        "failures": [FAILURE],
        "warnings": [],
        "not_rehearsed": [],
        "isolated": False,
    }
    return usual | changes


def lines(told: dict[str, Any]) -> list[str]:
    return unstyle(render_rehearsal(convert(told, RehearseResult))).splitlines()


def test_stage_that_did_not_run_is_skipped_with_its_reason() -> None:
    """Neither `not` nor `pass`; those with one reason share a line."""
    told = lines(answer())[:4]

    assert told == [
        "  import    pass   0.50 s",
        "  step      FAIL   0.50 s",
        "  evaluate, save  skipped: the script failed at `step`",
        "  push      skipped: the script pushes nothing",
    ]


def test_failure_is_told_with_its_line_and_nothing_twice() -> None:
    """Evidence that the cause repeats is left out, and so is a blame that nobody could find."""
    told = lines(answer())

    at = told.index("user-code-error in `step` at train.py:5: The fault is in the user's own code")
    assert told[at + 1 : at + 5] == [
        '  5 | self.history.append(logs["loss"])',
        "  why The callback `Log.on_log` raises KeyError: 'loss'.",
        "  fix Correct `Log.on_log` at train.py:5.",
        "  more holdfast explain user-code-error",
    ]


def test_failure_of_a_job_names_the_key() -> None:
    """The line is that of the job file."""
    failed = FAILURE | {"where": "job.yaml:4", "key": "train.optim", "code": None}

    assert any("in `step` at job.yaml:4 (`train.optim`):" in line for line in lines(answer(failures=[failed])))


def test_rehearsal_of_nothing_says_so() -> None:
    """A script that only imports passes, and the last line does not hide how little that is."""
    skipped = [stage(name, "not_rehearsed", "there is none") for name in ("data", "model", "step")]
    told = answer(verdict="pass", failures=[], stages=[stage("import"), *skipped])

    assert lines(told)[-1] == "pass: train.py, rehearsed in 9.0 s, but only `import` was rehearsed"
    assert lines(answer(verdict="pass", failures=[], stages=[stage("import"), stage("data"), *skipped[1:]]))[
        -1
    ].endswith(" s")


@pytest.mark.parametrize(
    ("sandbox", "said"),
    [
        ({"active": True, "because": None}, "sandbox: the kernel confined the script"),
        (
            {"active": False, "because": "the system is not Linux"},
            "no sandbox: guards in Python alone confined the script (the system is not Linux)",
        ),
    ],
)
def test_the_answer_says_what_confined_the_script(sandbox: dict[str, Any], said: str) -> None:
    """Who rehearses a script that others wrote can see whether the kernel or Python alone held it."""
    assert lines(answer(sandbox=sandbox))[-2] == said


def test_a_stage_that_went_on_after_a_failure_says_so() -> None:
    """A `pass` below a `FAIL` is not read as though all were well."""
    stages = [
        stage("tokenize", "fail", "labels"),
        stage("step"),
        stage("push", "not_rehearsed", "nothing"),
        stage("export"),
    ]
    shown = unstyle(render_rehearsal(convert(answer(stages=[stage("data"), *stages]), RehearseResult))).splitlines()

    assert "although" not in shown[0] + shown[1] + shown[3]
    assert shown[2].endswith("although `tokenize` failed")
    assert shown[4].endswith("although `tokenize` failed")


@pytest.mark.parametrize(("stopped", "source"), [("pass", "`stop` saved"), ("not_rehearsed", "failed")])
def test_a_resume_where_nothing_was_saved_says_from_what(stopped: str, source: str) -> None:
    """A script that saves nothing resumes from the checkpoint of its stop, if it was stopped."""
    stages = [stage("save", "fail", "nothing was saved"), stage("stop", stopped, "it was over"), stage("resume")]
    resumed = unstyle(render_rehearsal(convert(answer(stages=stages), RehearseResult))).splitlines()[2]

    assert source in resumed
    assert resumed.endswith("although `save` failed")


def fault(name: str, status: str, **changes: Any) -> dict[str, Any]:
    struck = {} if status == "skipped" else {"step": 5, "steps": 8, "is_cause": True, "action": "stops"}
    return {"name": name, "status": status, **struck, **changes}


def test_each_fault_says_what_the_run_does_and_how_that_ends() -> None:
    """With the settings that are changed, the checkpoints that are passed over, and what was compared; a skip has its reason."""
    change = {"key": "train.per_device_train_batch_size", "before": 4, "after": 2}
    followed = {"resume_from": "checkpoint-4", "lost_steps": 0, "played": True}
    cut = "checkpoint-4: optimizer.pt is truncated"
    told = answer(
        verdict="pass",
        stages=[stage("import"), stage("step")],
        failures=[],
        faults=[
            fault(
                "oom-train", "recovers", action="changes", changes=[change], loss="rounded", said="no room", **followed
            ),
            fault(
                "kill",
                "resumes",
                verdict="SIGKILL killed it",
                loss="same",
                same_weights=True,
                passed_over=[cut],
                **followed,
            ),
            fault(
                "nan-gradients", "loses", action="finishes", because="nothing is finite", is_cause=False, diagnosis="x"
            ),
            fault("disk-full", "skipped", because="the job saves no checkpoint"),
        ],
    )
    words = " ".join(" ".join(lines(told)).split())

    assert "continues from checkpoint-4 with `train.per_device_train_batch_size` from 4 to 2" in words
    assert (
        "stops: SIGKILL killed it; ignores checkpoint-4: optimizer.pt is truncated; `holdfast resume` continues"
        in words
    )
    assert "with the losses and weights of the undisturbed training, bit for bit" in words
    assert "x, which is not what was injected" in words
    assert "does not notice; nothing is finite" in words
    assert "disk-full skipped: the job saves no checkpoint" in words
    assert "1 recovered, 1 resumable, 1 lost, 1 skipped; 2 of 3 diagnosed correctly" in words


def test_faults_of_a_failed_rehearsal_are_skipped() -> None:
    assert "  skipped: the rehearsal failed" in lines(answer(faults=[]))
    assert "faults" not in lines(answer())
