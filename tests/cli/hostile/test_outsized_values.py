"""Small inputs that stand for something huge, or for text that no output takes: an answer, and no traceback."""

import json
import os
from pathlib import Path

import pytest

from holdfast.cli.main import run_command

SCRIPT = (
    "from trl import SFTConfig, SFTTrainer\n{lines}\nSFTTrainer('m', args=SFTConfig('out', **{settings})).train()\n"
)
STUDY = """\
job: {{method: sft, model: builtin:tiny-chat, dataset: builtin:stdlib-docstrings}}
metric: train_loss
name: {name}
search: {{count: 12, values: {{train.learning_rate: {distribution}}}}}
"""


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the exit code of a command, and all that it printed; each character of it can be written."""
    code = run_command([*words])
    printed = "".join(capsys.readouterr())
    printed.encode()
    assert "Traceback" not in printed
    return code, printed


@pytest.mark.parametrize(
    "lines",
    [
        "a = [1] * 10\n" + "a = a + a\n" * 40,
        "a = [1] * 10\n" + "a += a\n" * 40,
        "a = '1' * 10\n" + "a = a + a\n" * 40,
        "a = (1,) * 10\n" + "a += a\n" * 40,
    ],
)
def test_a_script_that_doubles_a_value(tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: str) -> None:
    """Forty times: what it is worth is not known."""
    (tmp_path / "train.py").write_text(SCRIPT.format(lines=lines, settings="{'seed': a}"))
    assert typed(capsys, "check", str(tmp_path / "train.py"), "--offline")[0] in (0, 1)


def test_a_shell_script_that_doubles_a_variable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What follows is read all the same."""
    (tmp_path / "run.sh").write_text(
        "A=11111111\n"
        + "A=$A$A$A$A\n" * 40
        + "trl sft --model_name_or_path m --dataset_name d --seed $A --max_seq_length 8\n"
    )
    code, printed = typed(capsys, "check", str(tmp_path / "run.sh"), "--offline")
    assert code == 1
    assert "max_seq_length" in printed


@pytest.mark.parametrize(
    "distribution",
    [
        "{integers: [0, 1000000000000000000000000000000]}",
        f"{{integers: [0, 0x{'f' * 3000}]}}",
        "{integers: [-9223372036854775808, 9223372036854775807]}",
        f"{{integers: [{'9' * 400}, 5]}}",
    ],
)
def test_a_study_with_huge_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str], distribution: str) -> None:
    """The place, and the numbers that are taken."""
    (tmp_path / "study.yaml").write_text(STUDY.format(name="s", distribution=distribution))
    code, printed = typed(capsys, "study", str(tmp_path / "study.yaml"), "--dry-run", "--offline")
    assert code == 2
    assert "2^53" in printed
    assert "study.yaml:4" in printed


def test_a_name_that_no_folder_can_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a study, and of a job."""
    name = "n" * 5000
    (tmp_path / "study.yaml").write_text(STUDY.format(name=name, distribution="{uniform: [0.1, 0.2]}"))
    (tmp_path / "job.yaml").write_text(f"name: {name}\nmethod: sft\nmodel: builtin:tiny-chat\ndataset: d.jsonl\n")
    for verb, file in (("study", "study.yaml"), ("check", "job.yaml")):
        code, printed = typed(capsys, verb, str(tmp_path / file), "--offline")
        assert code in (1, 2)
        assert "at most 128 characters" in printed


@pytest.mark.parametrize("parts", [65, 900, 5000])
def test_a_key_of_many_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str], parts: int) -> None:
    """It is no key of a job, however deep."""
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n")
    key = "train." + "a." * parts
    code, printed = typed(capsys, "check", str(tmp_path / "job.yaml"), "--offline", "--set", f"{key}b=1")
    assert code == 2
    assert "more than 64 parts" in printed


@pytest.mark.parametrize("name", ["\\udfff", "\\ud800", "\\u202e"])
def test_names_of_half_a_character_or_that_turn_text_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """They are left out of what is printed."""
    (tmp_path / "train.py").write_text(SCRIPT.format(lines="", settings="{'" + name + "x': 1}"))
    code, printed = typed(capsys, "check", str(tmp_path / "train.py"), "--offline")
    assert code == 1
    assert "takes no `x`" in printed


def test_a_file_name_that_is_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF names its bytes."""
    path = os.fsencode(tmp_path) + b"/\xff\xfe.py"
    Path(os.fsdecode(path)).write_text(SCRIPT.format(lines="", settings="{'x': 1}"))
    run_command(["check", os.fsdecode(path), "--offline", "--format", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("%FF%FE.py")


@pytest.mark.parametrize("shard", ["\\ud800", "x" * 5000, "a\\u0000b", "../../etc/passwd"])
def test_an_index_whose_shards_no_folder_can_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], shard: str
) -> None:
    """The model is damaged."""
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    (tmp_path / "model.safetensors.index.json").write_text(f'{{"weight_map": {{"a": "{shard}"}}}}')
    code, printed = typed(capsys, "verify", str(tmp_path))
    assert code == 1
    assert "missing" in printed
