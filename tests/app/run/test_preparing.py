"""What a run has before its first attempt."""

from pathlib import Path

import pytest

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import load_plan, make_run_folder
from holdfast.app.run.observers import NO_OBSERVER
from holdfast.app.run.preparing import CheckedJob, RefusedJob, check_job, prepare_run
from holdfast.app.run.runs import Run
from holdfast.core.check.facts import Machine
from holdfast.core.run.plan import Attempt, RunRequest


def test_runs_of_the_same_name_have_attempts_of_different_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service serves several runs folders: those of two people, or of two projects."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    request = RunRequest(target="train.py", cwd=str(tmp_path), offline=True, rehearse=False)
    monkeypatch.setattr("random.SystemRandom.choices", lambda *_, **__: "x7")
    ids = set[str]()
    for runs in (tmp_path / "mine", tmp_path / "yours"):
        folder = make_run_folder(runs, "job", "20261127-010203", lambda *_: None)
        run = Run(name=folder.name, folder=folder, ledger=Ledger(runs))
        prepare_run(run, check_job(request, "train.py"), request, NO_OBSERVER)
        of_run = {Attempt(run=run.name, number=1, folder="", plan=load_plan(folder)).id for _ in range(2)}
        assert len(of_run) == 1
        ids |= of_run

    assert len(ids) == 2


JOB = """
method: sft
model: {{path: {model}}}
dataset: {{path: trl-lib/Capybara, rows: 1000}}
where: {{backend: hf-jobs, hardware: {hardware}{more}}}
"""


def checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, despite: str = "", **values: str
) -> CheckedJob | RefusedJob:
    """Return a job for Hugging Face Jobs, checked without the network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    given = {"model": "Qwen/Qwen3-0.6B", "hardware": "l4x1", "more": ""} | values
    Path("job.yaml").write_text(JOB.format(**given), encoding="utf-8")
    request = RunRequest(target="job.yaml", cwd=str(tmp_path), offline=True, rehearse=False, despite=(despite,))
    return check_job(request, "job.yaml")


def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **values: str) -> CheckedJob:
    """Return such a job, which nothing refuses."""
    job = checked(tmp_path, monkeypatch, **values)
    assert isinstance(job, CheckedJob)
    return job


def test_a_job_without_a_timeout_gets_the_one_that_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = prepared(tmp_path, monkeypatch)
    assert job.plan.timeout_s
    assert job.plan.timeout_s % 300 == 0
    lines = job.planned.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["fits", "takes", "timeout", "stores"]


def test_what_was_planned_is_rehearsed_even_if_the_file_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be edited while the check still runs."""
    job = prepared(tmp_path, monkeypatch)
    request = RunRequest(target="job.yaml", cwd=str(tmp_path), offline=True)
    folder = make_run_folder(tmp_path / "runs", "job", "20261127-010203", lambda *_: None)
    rehearsed: list[Program] = []

    def rehearse(program: Program, **_: object) -> None:
        rehearsed.append(program)

    monkeypatch.setattr("holdfast.app.run.preparing.rehearse_unless_passed", rehearse)
    Path("job.yaml").write_text("method: dpo\n", encoding="utf-8")
    prepare_run(Run(name=folder.name, folder=folder, ledger=Ledger(folder.parent)), job, request, NO_OBSERVER)

    assert [each.source for each in rehearsed] == [job.plan.script]


def test_a_timeout_that_is_given_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = prepared(tmp_path, monkeypatch, more=", timeout: 9h")
    assert job.plan.timeout_s == 9 * 3600
    assert [line.partition(" ")[0] for line in job.planned.splitlines()] == ["fits", "takes", "stores"]


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"model": "Qwen/Qwen3-8B"}, "RES101"),
        ({"more": ", timeout: 9h, budget_usd: 0.001"}, "RES103"),
        ({"more": ", timeout: 61s"}, "RES102"),
    ],
)
def test_a_job_that_surely_does_not_fit_is_refused_unless_told_otherwise(
    values: dict[str, str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = checked(tmp_path, monkeypatch, **values)
    assert isinstance(refused, RefusedJob)
    assert refused.codes == [code]
    finding = next(each for each in refused.checked.findings if each.rule and each.rule.code == code)
    assert "l4x1" in finding.message
    assert isinstance(checked(tmp_path, monkeypatch, despite=code, **values), CheckedJob)


def test_what_is_not_known_is_said_and_refuses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = prepared(tmp_path, monkeypatch, model="acme/unheard-of", more=", timeout: 9h")
    assert job.planned.startswith("memory, time and cost are not known: model: ")


def test_a_run_on_a_machine_without_a_gpu_is_not_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LocalMachine, "fetch", lambda _self: Machine(cpus=2))
    Path("job.yaml").write_text("method: sft\nmodel: Qwen/Qwen3-8B\ndataset: trl-lib/Capybara\n", encoding="utf-8")
    job = check_job(RunRequest(target="job.yaml", cwd=str(tmp_path), offline=True, rehearse=False), "job.yaml")
    assert isinstance(job, CheckedJob)
    assert job.planned == ""


SCRIPT = """
import argparse
from trl import SFTConfig

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()
config = SFTConfig(output_dir="out", max_steps=args.steps)
"""


@pytest.mark.parametrize(("arguments", "refusals"), [((), []), (("--steps", "3"), []), (("--stepz", "3"), ["ARG124"])])
def test_a_script_is_checked_with_the_arguments_that_it_will_get(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], refusals: list[str]
) -> None:
    """Before anything is started, and paid for."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT, encoding="utf-8")
    request = RunRequest(
        target="train.py", cwd=str(tmp_path), arguments=arguments, offline=True, rehearse=False, despite=("REP105",)
    )

    job = check_job(request, "train.py")
    assert (job.codes if isinstance(job, RefusedJob) else []) == refusals
