"""What is wrong with an override is found like what is wrong with the file, and told at the override."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run_command

JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\ntrain: {learning_rate: 1e-4}\n"
SCRIPT = "from trl import SFTConfig\n\nSFTConfig(output_dir='out')\n"
VARIABLE = "HOLDFAST_TRAIN__LEARNIN_RATE"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job file and a script that are good."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def check(capsys: pytest.CaptureFixture[str], *words: str, format_: str = "json") -> Any:
    """What `check --offline` answers; JSON where that is the format."""
    run_command(["check", "--offline", *words, "--format", format_])
    told = capsys.readouterr()
    return json.loads(told.out) if format_ in ("json", "sarif") else told.out + told.err


def findings(answer: Any) -> list[tuple[str, str, str]]:
    return [(each["code"], each["path"], each.get("origin", "")) for each in answer["targets"][0]["findings"]]


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("train.learnin_rate=1e-5", "ARG106"),
        ("train.learning_rate=fast", "ARG102"),
        ("train.max_seq_length=512", "ARG101"),
        ("train.lr_scheduler_type=cosin", "ARG110"),
        ("peft.rank=8", "ARG103"),
        ("quantization={load_in_4bit: true, load_in_8bit: true}", "CMB103"),
    ],
)
def test_an_override_is_checked_like_the_file(capsys: pytest.CaptureFixture[str], override: str, code: str) -> None:
    """An argument that the file does not have, in a part that it may not have either."""
    key = override.partition("=")[0]
    found = findings(check(capsys, "job.yaml", "--set", override))

    assert found
    assert found[0][0] == code
    assert found[0][1:] == (f"--set {key}", "on the command line")


def test_another_method_has_another_config(capsys: pytest.CaptureFixture[str]) -> None:
    """What the file gives SFT is checked against DPO's arguments then, at the file's own line."""
    (finding, *_) = check(capsys, "job.yaml", "--set", "method=dpo", "--set", "train.packing=true")["targets"][0][
        "findings"
    ]

    assert "DPOConfig" in finding["message"]
    assert finding["path"] == "--set train.packing"


def test_a_variable_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In each format, beside the file that it goes before."""
    monkeypatch.setenv(VARIABLE, "1e-5")
    where = f"{VARIABLE} (in the environment)"

    assert findings(check(capsys, "job.yaml")) == [("ARG106", VARIABLE, "in the environment")]
    assert f"{where}: ARG106 `SFTConfig`" in check(capsys, "job.yaml", format_="text")
    assert f"::error file=job.yaml,title=ARG106::{where}: `SFTConfig`" in check(capsys, "job.yaml", format_="github")
    (result,) = check(capsys, "job.yaml", format_="sarif")["runs"][0]["results"]
    assert result["message"]["text"].startswith(f"{where}: ")
    assert result["locations"] == [
        {
            "physicalLocation": {"artifactLocation": {"uri": "job.yaml"}},
            "logicalLocations": [{"name": VARIABLE, "kind": "parameter"}],
        }
    ]


def test_an_override_that_breaks_the_schema_is_told_there(capsys: pytest.CaptureFixture[str]) -> None:
    """Among several targets it is a finding, and no file of that name is shown to GitHub."""
    told = check(capsys, "job.yaml", "train.py", "--set", "sead=1", format_="github")

    assert "::error file=job.yaml,title=SYN001::--set sead (on the command line): unknown key `sead`" in told


def test_a_fix_changes_no_file_for_an_override(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    """The override would go before whatever is written there."""
    answer = check(capsys, "job.yaml", "--set", "train.learning_rate='1e-4'", "--fix", "--unsafe-fixes")

    assert [finding["fix"] for finding in answer["targets"][0]["findings"]] == [None]
    assert (here / "job.yaml").read_text() == JOB


@pytest.mark.parametrize("sources", [("--set", "train.learnin_rate=1e-5"), ()])
def test_a_run_is_refused_likewise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, sources: tuple[str, ...]
) -> None:
    """Before anything starts."""
    if not sources:
        monkeypatch.setenv(VARIABLE, "1e-5")
    code = run_command(["run", "job.yaml", "--offline", "--no-rehearse", "--format", "json", *sources])
    answer = json.loads(capsys.readouterr().out)

    assert code == 1
    assert answer["because"] == "refused by check: ARG106"


@pytest.mark.parametrize(
    ("verb", "target"),
    [("check", "train.py"), ("rehearse", "train.py"), ("run", "train.py"), ("check", "recipe.yaml")],
)
def test_a_script_has_no_keys(capsys: pytest.CaptureFixture[str], here: Path, verb: str, target: str) -> None:
    """An override that has no effect is refused: a script's arguments stand after `--`."""
    (here / "recipe.yaml").write_text("model_name_or_path: tiny\ndataset_name: rows\noutput_dir: sft\n")
    code = run_command([verb, target, "--set", "train.learning_rate=1e-5"])
    told = capsys.readouterr()

    assert code == 2
    assert f"`train.learning_rate` cannot be set: {target} is not a job file" in told.out + told.err


def test_overrides_are_for_the_job_files_among_several(capsys: pytest.CaptureFixture[str]) -> None:
    """A script beside them is checked as it is."""
    answer = check(capsys, "job.yaml", "train.py", "--set", "train.learnin_rate=1e-5")

    assert [[each["code"] for each in target["findings"]] for target in answer["targets"]] == [["ARG106"], []]
