"""An option that means something for one kind of target only is refused for another: exit code 2, with the reason."""

from pathlib import Path

import pytest

from holdfast.cli.main import run_command

JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"
RECIPE = "model_name_or_path: tiny\ndataset_name: rows\noutput_dir: sft\n"
SCRIPT = "from trl import SFTConfig\n\nSFTConfig(output_dir='out')\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with one target of each kind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    for name, text in {
        "job.yaml": JOB,
        "recipe.yaml": RECIPE,
        "train.py": SCRIPT,
        "go.sh": "python train.py\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("verb", ["check", "plan", "rehearse", "run"])
@pytest.mark.parametrize("target", ["job.yaml", "go.sh"])
def test_only_a_script_takes_arguments(capsys: pytest.CaptureFixture[str], verb: str, target: str) -> None:
    """Arguments after `--` that nothing would read are not passed over."""
    code = run_command([verb, target, "--", "--lr", "1"])
    said = capsys.readouterr().err

    assert code == 2
    assert f"{target} is not a script, so it takes no arguments after `--`" in said
    assert ("`--set KEY=VALUE`" in said) == (target == "job.yaml")
    assert not Path("runs").exists()


def test_a_recipe_takes_none_either(capsys: pytest.CaptureFixture[str]) -> None:
    """A file of settings of another program is read as it stands."""
    assert run_command(["check", "recipe.yaml", "--", "--lr", "1"]) == 2
    assert "recipe.yaml is not a script" in capsys.readouterr().err


def test_arguments_are_for_the_scripts_among_several(capsys: pytest.CaptureFixture[str]) -> None:
    """A job file beside them is checked as it is; without a script among them, nothing is."""
    assert run_command(["check", "--offline", "job.yaml", "train.py", "--", "--lr", "1"]) == 0
    assert run_command(["check", "--offline", "job.yaml", "recipe.yaml", "--", "--lr", "1"]) == 2
    assert "job.yaml is not a script" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "meant"), [("a1000", "a100"), ("a10g-lareg", "a10g-large"), ("mainframe", "Flavors: ")]
)
def test_unknown_hardware_is_an_error_of_usage(capsys: pytest.CaptureFixture[str], name: str, meant: str) -> None:
    """Nothing is planned for it, and the nearest name is given."""
    code = run_command(["plan", "job.yaml", "--hardware", name])
    said = capsys.readouterr()

    assert (code, said.out) == (2, "")
    assert f"`{name}` is not known" in said.err
    assert meant in said.err
