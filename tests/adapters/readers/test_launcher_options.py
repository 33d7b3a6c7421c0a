"""What a launcher refuses is reported before the job waits in a queue for it."""

from pathlib import Path
from typing import Any

import pytest

import holdfast

SCRIPT = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a script, in which holdfast runs."""
    (tmp_path / "train.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)


def findings(line: str, code: str) -> list[tuple[str, int, int, str]]:
    """Return severity, line, column and message of a rule's findings in a shell script of one command."""
    Path("run.sh").write_text(f"#!/bin/bash\n{line}\n")
    answer: dict[str, Any] = holdfast.check("run.sh", offline=True, select=code)["targets"][0]
    return [(each["severity"], each["line"], each["column"], each["message"]) for each in answer["findings"]]


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("accelerate launch --mixed_precision bf17 train.py", 37, "did you mean `bf16`?"),
        ("accelerate launch --mixed-precision=half train.py", 19, "it is one of no, fp16, bf16, fp8"),
        ("accelerate launch --num_processes two train.py", 35, "accelerate takes a whole number"),
        ("accelerate launch --num_machines 1:2 train.py", 34, "`--num_machines` is '1:2'"),
        ("torchrun --nproc_per_node four train.py", 27, "a number, `gpu`, `cpu` or `auto`"),
        ("torchrun --nnodes two --nproc-per-node 2 train.py", 19, "`--nnodes` is 'two'"),
        ("python -m torch.distributed.run --nproc_per_node 2.0 train.py", 50, "'2.0'"),
        ("deepspeed --num_gpus all train.py", 22, "deepspeed takes a whole number"),
    ],
)
def test_a_value_that_the_launcher_refuses_is_an_error_at_the_value(line: str, column: int, words: str) -> None:
    """Each launcher, with the option spelled either way."""
    ((severity, row, at, message),) = findings(line, "DST111")
    assert (severity, row, at) == ("error", 2, column), message
    assert words in message


def test_a_precision_of_accelerates_file_is_reported_too() -> None:
    """It ends the launcher as well as the option does."""
    Path("acc.yaml").write_text("distributed_type: 'NO'\nmixed_precision: bf17\nnum_processes: 1\n")
    assert "did you mean `bf16`?" in findings("accelerate launch --config_file acc.yaml train.py", "DST111")[0][3]


@pytest.mark.parametrize(
    "line",
    [
        "accelerate launch --num_processes 4 --mixed_precision no train.py",
        "accelerate launch --num_processes $GPUS train.py",
        "torchrun --nproc_per_node gpu --nnodes 1:4 train.py",
        "torchrun --nproc_per_node=auto train.py",
        "deepspeed --num_gpus 8 train.py",
        "srun --nodes 2-4 torchrun --nproc_per_node 2 train.py",
    ],
)
def test_what_a_launcher_takes_is_not_reported(line: str) -> None:
    """Numbers, words that torchrun knows, and variables of the shell."""
    assert findings(line, "DST111") == []


@pytest.mark.parametrize(
    ("line", "column", "words"),
    [
        ("accelerate launch --mixed_precison bf16 train.py", 19, "did you mean `--mixed_precision`?"),
        ("accelerate launch --multi_gp train.py", 19, "did you mean `--multi_gpu`?"),
        ("accelerate-launch --num-process=2 train.py", 19, "`accelerate-launch` has no option `--num-process`"),
        ("accelerate launch --learning_rate 1e-5 train.py", 19, "stands after the script's name"),
        ("torchrun --nproc_per_nodes 2 train.py", 10, "did you mean `--nproc_per_node`?"),
        ("python -m torch.distributed.run --nnode_s 2 train.py", 33, "did you mean `--nnodes`?"),
        ("deepspeed --num_gpuss 2 train.py", 11, "did you mean `--num_gpus`?"),
        ('accelerate launch "${OPTIONS[@]}" --mixed_precison bf16 train.py', 35, "`--mixed_precision`"),
        ("torchrun $OPTIONS --nproc_per_nodes 2 train.py", 19, "`--nproc_per_node`"),
    ],
)
def test_an_option_that_the_launcher_does_not_have_is_an_error(line: str, column: int, words: str) -> None:
    """The launcher ends with it; the script is found all the same, whether the option takes a value or not."""
    ((severity, row, at, message),) = findings(line, "DST112")
    assert (severity, row, at) == ("error", 2, column), message
    assert words in message


@pytest.mark.parametrize(
    "line",
    [
        "torchrun --nproc_per_nod 2 --standalone train.py --anything",
        "torchrun --nproc-per-node=2 --rdzv_backend c10d --rdzv_endpoint localhost:0 train.py",
        "python -m torch.distributed.launch --use_env --nproc_per_node 2 train.py",
        "deepspeed --num_gpu 2 --master_port 29500 train.py --deepspeed ds.json",
        "deepspeed --include localhost:0,1 --no_ssh_check train.py",
        "accelerate launch --mixed-precision bf16 --use_fsdp --fsdp_version 2 train.py",
        'accelerate launch "${OPTIONS[@]}" train.py --learning_rate 1e-5',
        "accelerate launch --config_file $FILE $OPTIONS train.py",
    ],
)
def test_options_that_a_launcher_takes_are_no_findings(line: str) -> None:
    """Those of older releases, those cut short where the launcher takes that, and those that are not known."""
    assert findings(line, "DST112") == []


def test_an_unknown_array_hides_no_mistake_that_stands_beside_it() -> None:
    """What it may give is not known; what is written out is."""
    line = 'accelerate launch "${OPTIONS[@]}" --num_processes four --mixed_precision bf17 train.py'
    assert [each[2] for each in findings(line, "DST111")] == [51, 74]
    assert findings('accelerate launch "${OPTIONS[@]}" train.py', "DST111") == []


@pytest.mark.parametrize("line", ["$LAUNCHER train.py", "$LAUNCHER $SCRIPT", '"${COMMAND[@]}"'])
def test_a_launcher_that_a_variable_names_is_a_skip(line: str) -> None:
    """What it is cannot be known: rules say so, instead of a command that is passed over."""
    Path("run.sh").write_text(f"{line}\n")
    skipped = holdfast.check("run.sh", offline=True)["targets"][0]["skipped"]
    assert any("shell" in each["because"] for each in skipped)
