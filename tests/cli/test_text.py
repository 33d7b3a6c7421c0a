"""Answers as people read them: what, where, how to fix; and nothing that only a colour tells."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import structs

from holdfast.cli.text.answers import render_run, render_runs, render_show, render_verify
from holdfast.cli.text.errors import render_errors
from holdfast.cli.text.findings import render_check
from holdfast.core.errors import JobError, Spot, UsageError
from holdfast.core.run.attempt_state import AttemptState
from holdfast.core.run.checkpoint import CheckpointIntegrity, CheckpointProblem, IntegrityVerdict
from holdfast.core.run.event import Diagnosed, RunStage
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import Resumed
from holdfast.core.run.trouble import Trouble
from holdfast.engine.run.answers import run_result, verify_result
from holdfast.results.run import RunResult, RunsResult
from tests.helpers.results import checked, finding, target

SOURCE = "method: sft\ntrain:\n  max_seq_length: 512\n"
FINDING = {
    "code": "ARG101",
    "name": "unknown-training-argument",
    "severity": "error",
    "message": "`max_seq_length` is not an argument of SFTConfig",
    "key": "train.max_seq_length",
    "path": "job.yaml",
    "line": 3,
    "column": 3,
    "end_line": 3,
    "end_column": 17,
    "fix": {"safe": True, "title": "rename it to `max_length`"},
}
NOWHERE = {"line": None, "column": None, "end_line": None, "end_column": None}
SKIP = {"code": "DAT101", "missing": ["dataset"], "because": "no network", "reasons": ["no network"]}
RUN = "sft-20261121-190150-x7"
METRICS = {"train_loss": 2.5512, "eval_loss": 2.799}
ATTEMPT = AttemptState(
    number=1,
    backend="local",
    started_s=0,
    stage=RunStage.FAILED,
    steps=140,
    max_steps=300,
    exit_code=-9,
    metrics=METRICS,
)
ABOUT = RequestedJob(method="sft", model="tiny", dataset="docs", backend="local", target="job.yaml")


def check(*findings: Mapping[str, Any], skipped: tuple[Mapping[str, Any], ...] = (), source: str = SOURCE) -> list[str]:
    one = target(*(finding(**each) for each in findings), path="job.yaml", skipped=skipped)
    return unstyle(render_check(checked(one), {"job.yaml": source})).splitlines()


def run(stage: str, *attempts: AttemptState, supervised: bool | None = None, **fields: Any) -> RunResult:
    """Return a run after some attempts; fields are those of its state, or of its result."""
    of_state = {name: fields.pop(name) for name in ("because", "refused_by", "about") if name in fields}
    state = RunState(
        folder=f"/runs/{RUN}", about=ABOUT, stage=RunStage(stage), attempts=attempts, started_s=1_795_287_738
    )
    state = replace(state, **of_state)
    return structs.replace(run_result(fields.pop("run", RUN), state, supervised=supervised), **fields)


def listed(*runs: RunResult) -> str:
    return unstyle(render_runs(RunsResult(verb="runs", runs=runs)))


def test_a_finding_shows_its_place_its_line_and_its_fix() -> None:
    """The way a compiler would: editors can jump to path:line:column."""
    assert check(FINDING)[:4] == [
        "job.yaml:3:3: ARG101 `max_seq_length` is not an argument of SFTConfig",
        "    3 |   max_seq_length: 512",
        "      |   ^^^^^^^^^^^^^^",
        "    fix: rename it to `max_length`",
    ]


def test_the_mark_stands_under_the_place_behind_tabs_and_wide_numbers() -> None:
    """Whatever stands before it."""
    source = "\n" * 99 + "\tabc: 1\n"
    found = check({**FINDING, "line": 100, "end_line": 100, "column": 2, "end_column": 5}, source=source)

    assert found[1:3] == ["    100 | \tabc: 1", "        | \t^^^"]


def test_a_finding_without_a_line_is_told_without_one() -> None:
    """What is missing stands nowhere."""
    warning = {**FINDING, **NOWHERE, "severity": "warning", "fix": None, "message": "no timeout"}

    assert check(warning)[0] == "job.yaml: ARG101 warning: no timeout"
    assert len(check(warning)) == 2


def test_a_line_beyond_the_file_is_no_accident() -> None:
    """The file may have changed since it was checked."""
    assert check({**FINDING, "line": 99}, source="a\n")[0].startswith("job.yaml:99:3: ARG101")


def test_a_skip_is_told_with_its_reason_and_is_no_pass() -> None:
    """What could not be asked is never passed over."""
    assert check(skipped=(SKIP,)) == [
        "job.yaml: DAT101 skipped: needs dataset (no network)",
        "no problems found in 1 file; 1 rule not checked",
    ]


def test_the_verdict_says_that_settings_of_the_training_were_not_checked() -> None:
    """A file of which hardly anything could be checked does not look like one without problems."""
    why = "unsloth replaces TRL's classes"
    unseen = SKIP | {"code": "PRC102", "missing": ["train.bf16"], "because": why, "reasons": [why]}

    assert check(skipped=(SKIP, unseen))[-1] == (
        "no problems found in what was checked in 1 file; 2 rules not checked, 1 of them about settings of the training"
    )


def test_the_counts_of_skipped_rules_add_up() -> None:
    """A rule that is skipped for two jobs of a file, or for two reasons, counts once."""
    reasons = ["no network", "it comes from the command line"]
    both = SKIP | {"code": "MOD121", "because": "; ".join(reasons), "reasons": reasons}

    lines = check(skipped=(SKIP, SKIP, both))

    assert lines[0] == "job.yaml: 2 rules skipped: no network (2); --verbose names them"
    assert lines[-1].endswith("; 2 rules not checked")


def test_findings_are_counted_by_severity() -> None:
    """The last line says what it comes to."""
    warning = {**FINDING, "severity": "warning"}

    assert check(FINDING, warning, warning)[-1] == "1 error, 2 warnings in 1 file"


def test_every_error_of_a_question_is_told() -> None:
    """What, where, how to fix: all at once."""
    errors = [
        JobError("unknown key `trian`", where=Spot("job.yaml", 4, 1), fix="did you mean `train`?"),
        UsageError("no such run: 'x'", where="--runs runs", fix="`holdfast runs` lists them"),
    ]

    assert unstyle(render_errors(errors)).splitlines() == [
        "error: unknown key `trian`",
        "  where: job.yaml:4:1",
        "  fix:   did you mean `train`?",
        "error: no such run: 'x'",
        "  where: --runs runs",
        "  fix:   `holdfast runs` lists them",
    ]


def test_a_succeeded_run_says_where_its_model_and_report_are() -> None:
    """And what was achieved, in one sentence."""
    told = unstyle(render_run(run("succeeded", summary="Trained 300 of 300 steps.")))

    assert told.splitlines() == [
        f"succeeded {RUN}",
        "  Trained 300 of 300 steps.",
        f"  model   /runs/{RUN}/model",
        f"  report  /runs/{RUN}/report.html",
    ]


def test_a_failed_run_says_why_and_how_to_go_on() -> None:
    """The reason, and the command that resumes it."""
    told = unstyle(render_run(run("failed", ATTEMPT, because="SIGKILL killed it at step 140 of 300")))

    assert "SIGKILL killed it at step 140 of 300" in told
    assert f"holdfast diagnose {RUN}" in told
    assert f"holdfast resume {RUN}" in told


def test_a_cancelled_run_says_how_to_go_on_and_needs_no_diagnosis() -> None:
    told = unstyle(render_run(run("cancelled", ATTEMPT, because="a person asked it to stop")))

    assert f"holdfast resume {RUN}" in told
    assert "diagnose" not in told


def test_a_refused_run_shows_the_findings() -> None:
    """There is nothing to resume; the findings say what to fix."""
    refused = checked(target(finding(**FINDING), path="job.yaml"))
    told = unstyle(render_run(run("failed", because="refused by check: ARG101", refused_by="check", check=refused)))

    assert "job.yaml:3:3: ARG101" in told
    assert "resume" not in told


def test_a_running_run_says_how_to_look_on_and_end_it() -> None:
    """Detaching leaves the person with both commands."""
    told = unstyle(render_run(run("running", ATTEMPT)))

    assert f"holdfast watch {RUN}" in told
    assert f"holdfast stop {RUN}" in told


def test_a_run_whose_processes_are_gone_is_not_called_running() -> None:
    """As after a power cut; a run that is still rehearsed has no supervisor yet, and needs none."""
    lost, young = run("running", ATTEMPT, supervised=False), run("queued", supervised=False)

    assert [line.split()[1] for line in listed(lost, young).splitlines()[1:]] == ["unsupervised", "preparing"]
    assert f"holdfast resume {RUN}" in unstyle(render_show(lost))
    assert "resume" not in unstyle(render_show(young))


def test_show_tells_each_attempt() -> None:
    """How far it came, from where, and how it ended."""
    second = replace(ATTEMPT, number=2, stage=RunStage.SUCCEEDED, resume_from="/runs/r/checkpoint-100", exit_code=0)
    told = unstyle(render_show(run("succeeded", ATTEMPT, second)))

    assert "sft of tiny on docs (local)" in told
    assert "1: failed on local, 140/300 steps, exit code -9" in told
    assert "2: succeeded on local, 140/300 steps, from checkpoint-100" in told
    assert "train_loss 2.55  eval_loss 2.80" in told


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ({"train_loss": 100, "eval_loss": 50}, "train_loss 2.55 (step 100)  eval_loss 2.80 (step 50)"),
        ({"train_loss": 100, "eval_loss": 100}, "train_loss 2.55  eval_loss 2.80"),
    ],
)
def test_figures_of_different_steps_are_told_apart(steps: Mapping[str, int], told: str) -> None:
    """A loss and an evaluation stand in one line, and only look as if they were of one model."""
    lines = unstyle(render_show(run("failed", replace(ATTEMPT, metric_steps=steps)))).splitlines()

    (line,) = (each for each in lines if "metrics" in each)
    assert line.split("metrics")[1].strip() == told


def test_a_run_without_its_supervisor_says_whether_it_trains() -> None:
    """Only an attempt that is alive goes on."""
    going = unstyle(render_show(run("running", replace(ATTEMPT, stage=RunStage.RUNNING), supervised=False)))

    assert "the training goes on without it" in going
    assert "the training goes on" not in unstyle(render_show(run("running", ATTEMPT, supervised=False)))


def test_show_says_that_training_did_not_continue_from_the_checkpoint() -> None:
    """The attempt was given it, and no trainer of the script took it."""
    ignored = Resumed(checkpoint="/runs/r/checkpoint-100", verdict="ignored")
    given = replace(ATTEMPT, resume_from="/runs/r/checkpoint-100")

    said = "training did not continue from checkpoint-100"
    assert said in unstyle(render_show(run("failed", replace(given, resumed=ignored))))
    same = Resumed(checkpoint="/runs/r/checkpoint-100", verdict="same")
    assert said not in unstyle(render_show(run("failed", replace(given, resumed=same))))


def test_the_exit_code_of_an_orderly_stop_is_no_news() -> None:
    """143 is what a process ends with that was asked to stop, and saved; of a failure, the code says something."""
    stopped = replace(ATTEMPT, stage=RunStage.CANCELLED, exit_code=143)

    assert "exit code" not in unstyle(render_show(run("cancelled", stopped)))


def test_a_script_that_saved_no_model_is_said_to() -> None:
    script = RequestedJob(backend="local", target="train.py")
    state = RunState(about=script, stage=RunStage.SUCCEEDED, attempts=(replace(ATTEMPT, stage=RunStage.SUCCEEDED),))

    assert "none: the script saved none after training" in unstyle(render_show(run_result(RUN, state, "show")))


def test_show_tells_what_was_conspicuous_and_where_a_stalled_attempt_stood() -> None:
    """So that nobody has to open its files for that."""
    where = "rank 1 is in `score` (rewards.py:3); stacks in attempts/1/stacks.txt"
    noted = Trouble(kind="slower", text="steps take 3 times as long as before", step=120)
    cause = Diagnosed(
        at_s=9.0, attempt=1, name="training-stalled", title="it made no progress", confidence=0.9, where=where
    )
    told = unstyle(render_show(run("failed", replace(ATTEMPT, troubles=(noted,), diagnosed=cause))))

    assert "step 120: steps take 3 times as long as before" in told
    assert where in told


def test_the_summary_of_a_run_shows_the_trouble_of_its_last_attempt() -> None:
    """A run that succeeded may have learnt nothing."""
    noted = Trouble(kind="rewards-alike", text="nothing is learnt from them", step=4)
    told = unstyle(render_run(run("succeeded", replace(ATTEMPT, troubles=(noted,)))))

    assert "  trouble  nothing is learnt from them" in told


def test_runs_stand_in_columns_and_are_never_cut() -> None:
    """A list that is piped into another program keeps every name whole."""
    script = run("queued", about=RequestedJob(target="my/train.py"), run="x" * 120)
    header, first, second = listed(run("succeeded", ATTEMPT), script).splitlines()

    assert header.split() == ["run", "stage", "job", "steps", "result"]
    assert first.split("  ")[0] == RUN
    assert first.endswith("140/300  eval_loss 2.80")
    assert second.split() == ["x" * 120, "preparing", "my/train.py", "-"]
    assert {line.index(word) for line, word in ((header, "stage"), (first, "succeeded"), (second, "preparing"))} == {
        122
    }


def test_an_attempt_that_was_stopped_at_once_leaves_the_steps_as_they_were() -> None:
    """The run came to step 140 of 300; its second attempt came to none."""
    plain = AttemptState(number=2, backend="local", started_s=9, stage=RunStage.CANCELLED, exit_code=143)
    stopped = run("cancelled", ATTEMPT, replace(plain, resume_from="/r/checkpoint-100"))

    assert "140/300" in listed(stopped)
    assert "2: cancelled on local, no steps, from checkpoint-100" in unstyle(render_show(stopped))


def test_no_runs_are_told_with_a_way_to_the_first() -> None:
    """An empty list explains itself."""
    assert "holdfast run" in listed()


@pytest.mark.parametrize("verdict", ["whole", "damaged", "unverifiable"])
def test_a_checkpoints_verdict_comes_first(verdict: IntegrityVerdict) -> None:
    """Then each file that is wrong, and how."""
    problems = (CheckpointProblem("model.safetensors", "truncated: 1 of 2 bytes"),)
    told = unstyle(
        render_verify(verify_result(CheckpointIntegrity(path="/c", step=500, verdict=verdict, problems=problems)))
    )

    assert told.splitlines() == [f"{verdict} /c (step 500)", "  model.safetensors: truncated: 1 of 2 bytes"]


def test_paths_of_a_run_in_the_current_folder_are_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that begins at the root filled the line; elsewhere it is whole, so that it still leads there."""
    result = structs.replace(
        run("succeeded"), folder=str(tmp_path / "runs" / "a-1"), output=str(tmp_path / "runs" / "a-1" / "model")
    )

    assert f"{tmp_path}/runs/a-1/model" in unstyle(render_run(result))
    monkeypatch.chdir(tmp_path)
    told = unstyle(render_run(result))
    assert re.search(r"model +runs/a-1/model$", told, re.MULTILINE)
    assert re.search(r"report +runs/a-1/report.html$", told, re.MULTILINE)
    monkeypatch.chdir("/")
    assert f"{tmp_path}/runs/a-1/model" in unstyle(render_run(result))
