"""`holdfast doctor`: what is ready, and what is missing with the command that fixes it; never a guess."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.doctor.verb import doctor, judge_local
from holdfast.cli.main import run_command
from holdfast.results.doctor import DoctorResult, GpuFacts, HubAccountFacts, LocalFacts, PlaceResult
from tests.helpers.hub import LoopbackHub, loopback_hub

NVIDIA_SMI = """#!/bin/sh
case "$*" in
  *driver_version*) echo 570.86.15;;
  *) echo "0, GPU-8f1c, NVIDIA A10G, 23028, 8.6";;
esac
"""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that answers, and a token that it takes."""
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        ask_anyway(monkeypatch)
        yield hub


def ask_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the Hub asked, also where its library was imported while the variable forbade it."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


def place(result: DoctorResult, name: str) -> PlaceResult:
    return next(each for each in result.places if each.name == name)


def hub_facts(result: DoctorResult) -> HubAccountFacts:
    facts = place(result, "hub").facts
    assert isinstance(facts, HubAccountFacts)
    return facts


def local_facts(result: DoctorResult) -> LocalFacts:
    facts = place(result, "local").facts
    assert isinstance(facts, LocalFacts)
    return facts


@pytest.mark.usefixtures("hub")
def test_token_that_the_hub_takes() -> None:
    """With whose it is."""
    result = doctor()
    facts = hub_facts(result)

    assert place(result, "hub").ready
    assert (facts.asked, facts.token) == (True, "valid")
    assert facts.user


@pytest.mark.usefixtures("hub")
def test_no_token_is_no_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Public repositories can be read without one."""
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    result = doctor()

    assert hub_facts(result).token == "absent"  # noqa: S105 - a state
    assert place(result, "hub").ready


@pytest.mark.usefixtures("hub")
def test_token_that_the_hub_refuses(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The command that replaces it, and exit code 1."""
    monkeypatch.setenv("HF_TOKEN", "hf_" + "x" * 34)
    code = run_command(["doctor"])
    told = capsys.readouterr().out

    assert code == 1
    assert "the Hub refuses the token" in told
    assert "hf auth login" in told


def test_a_hub_that_cannot_be_reached_is_not_ready(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Even without a token, for which nothing would have to be asked."""
    ask_anyway(monkeypatch)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    result = doctor()

    assert result.exit_code == 1
    assert not place(result, "hub").ready
    assert hub_facts(result).token is None


def test_offline_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    """What was not asked is neither ready nor missing."""
    run_command(["doctor", "--offline"])

    assert "the Hub: not checked: --offline" in capsys.readouterr().out


def test_gpus_and_a_torch_without_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The GPUs of the driver; a build of torch that cannot use them is a problem."""
    program = tmp_path / "nvidia-smi"
    program.write_text(NVIDIA_SMI)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("NUM_GPUS_OVERRIDE", raising=False)
    facts = local_facts(doctor(offline=True))

    assert facts.driver == "570.86.15"
    assert facts.gpus == [GpuFacts(name="NVIDIA A10G", memory_bytes=23028 << 20, capability="8.6")]


def facts_with(*, gpus: int, uv: str | None, **packages: str) -> LocalFacts:
    gpu = GpuFacts(name="NVIDIA A10G", memory_bytes=23028 << 20, capability="8.6")
    return LocalFacts(
        python="3.11.7",
        environment="/venv",
        cpus=2,
        memory_bytes=1,
        free_disk_bytes=1,
        gpus=[gpu] * gpus,
        driver=None,
        uv=uv,
        packages=packages,
        sandbox=True,
        no_sandbox=None,
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (facts_with(gpus=0, uv=None, trl="1.16.0", torch="2.13.0+cpu"), None),
        (facts_with(gpus=0, uv="0.13.9"), None),
        (facts_with(gpus=0, uv=None), "nothing here can run a job"),
        (facts_with(gpus=2, uv=None, trl="1.16.0", torch="2.13.0+cpu"), "built without CUDA"),
        (facts_with(gpus=2, uv=None, trl="1.16.0", torch="2.13.0+cu130"), None),
        (facts_with(gpus=2, uv=None, trl="1.16.0", torch="2.13.0"), None),
    ],
)
def test_what_keeps_a_machine_from_training(facts: LocalFacts, told: str | None) -> None:
    """Only what surely does."""
    problems = [problem.what for problem in judge_local(facts)]

    assert [told in what for what in problems if told] == ([True] if told else [])
    assert bool(problems) == bool(told)


def test_libraries_that_do_not_go_together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each requirement that is not met, with the command; extras are nobody's requirement."""
    for name, needs in (
        ("wandb", ["click>=99", 'numpy>=99; extra == "media"', 'pywin32; sys_platform == "win32"']),
        ("vllm", ["click"]),
    ):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        lines = "".join(f"Requires-Dist: {each}\n" for each in needs)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{lines}")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    result = doctor(offline=True)
    problems = [problem for problem in place(result, "local").problems if problem.what.startswith(("wandb", "vllm"))]

    assert [(problem.what, problem.fix) for problem in problems] == [
        ("wandb 1.0 needs click>=99, which is not installed", "`pip install 'click>=99'`")
    ]
    assert result.verdict == "not-ready"


@pytest.mark.parametrize(("role", "told"), [("write", ""), ("read", "may only read")])
def test_jobs_are_ready_or_say_what_is_missing(hub: LoopbackHub, role: Any, told: str) -> None:
    """As before a run; it takes nothing from the verdict on this machine and the Hub."""
    hub.add_token(hub.token or "", role=role)
    result = doctor()
    jobs = place(result, "hf-jobs")

    assert jobs.ready == (not told)
    assert [told in each.what and bool(each.fix) for each in jobs.problems] == [True] * bool(told)
    assert place(result, "hub").ready


def test_jobs_without_a_token_name_the_command(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which makes one."""
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("holdfast.adapters.backends.hf_jobs.hub.find_token", lambda: None)
    (problem,) = place(doctor(), "hf-jobs").problems

    assert "hf auth login" in problem.fix
    assert not hub.jobs.all
