"""Which scripts want a launcher, and how they are rehearsed without one."""

from pathlib import Path

import pytest

from holdfast import rehearse
from holdfast.adapters.rehearsal.programs import Program, read_program
from holdfast.app.rehearse.failure_context import read_failure_context
from holdfast.app.rehearse.rehearsing import other_versions
from holdfast.catalog.environment.launchers import alone, wanted_launcher
from holdfast.core.errors import UsageError
from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.run.training_event import TrainingEnded

WANTS = {
    "RANK": 'import os\nrank = int(os.environ["RANK"])',
    "LOCAL_RANK": 'from os import environ\nlocal = int(environ.get("LOCAL_RANK"))',
    "WORLD_SIZE": 'import os\ndef setup():\n    return int(os.getenv("WORLD_SIZE"))',
    "SLURM_PROCID": 'import os\nif __name__ == "__main__":\n    rank = int(os.environ["SLURM_PROCID"])',
    "OMPI_COMM_WORLD_RANK": 'import os\nrank = os.environ["OMPI_COMM_WORLD_RANK"]',
}
LAUNCHERS = {"SLURM_PROCID": "srun", "OMPI_COMM_WORLD_RANK": "mpirun"}
COPES = (
    'import os\nrank = int(os.environ.get("RANK", 0))',
    'import os\nrank = int(os.getenv("LOCAL_RANK", "0"))',
    'import os\nddp = int(os.environ.get("RANK", -1)) != -1\nif ddp:\n    rank = int(os.environ["RANK"])',
    'import os\nrank = int(os.environ["RANK"]) if "RANK" in os.environ else 0',
    'import os\ntry:\n    rank = int(os.environ["RANK"])\nexcept KeyError:\n    rank = 0\nsize = os.environ.get("WORLD_SIZE")',
    'import os\nos.environ["RANK"] = "0"\nprint(os.environ["RANK"])',
    'import os\nos.environ.setdefault("RANK", "0")\nprint(os.environ["RANK"])',
    'import os\nos.environ.update({"RANK": "0"})\nprint(os.environ["RANK"])',
    'import os\ntoken = os.environ["HF_TOKEN"]',
    'import os, sys\nif "--distributed" in sys.argv:\n    rank = int(os.environ["RANK"])',
    'import torch.distributed as dist\ndist.init_process_group("gloo", rank=0, world_size=1)',
    'import torch.distributed as dist\ndist.init_process_group("gloo", init_method="file:///tmp/x")',
    "from mine import init_process_group\ninit_process_group('nccl', 60)",
    "print((",
)


@pytest.mark.parametrize("name", WANTS)
def test_a_script_that_reads_a_rank_wants_its_launcher(name: str) -> None:
    launcher = wanted_launcher(WANTS[name])
    assert launcher is not None
    assert (launcher.variable, launcher.name) == (name, LAUNCHERS.get(name, "torchrun"))
    assert alone([], WANTS[name])[name] in ("0", "1")


def test_a_group_that_is_told_nothing_wants_torchrun() -> None:
    launcher = wanted_launcher('import torch.distributed as dist\ndist.init_process_group("nccl")')
    assert launcher is not None
    assert launcher.name == "torchrun"


@pytest.mark.parametrize("source", COPES)
def test_a_script_that_copes_wants_none(source: str) -> None:
    assert wanted_launcher(source) is None
    assert alone([], source) == {}


def test_what_this_environment_does_not_meet_is_not_rehearsed(tmp_path: Path) -> None:
    """With `--here` a pin that no release satisfies is rehearsed with what is installed, and the answer says so."""
    script = tmp_path / "train.py"
    header = '# /// script\n# dependencies = ["trl==99.0.0", "peft>=0.1 ; sys_platform == \'linux\'", "torch"]\n# ///\n'
    script.write_text(f"{header}print(1)\n", encoding="utf-8")
    asked = Program(path=str(script), source=script.read_text(encoding="utf-8"))
    told = list(other_versions(asked, {"trl": "1.16.0", "peft": "0.21.2", "torch": "2.13.0"}))
    assert [each.what for each in told] == ["trl==99.0.0"]
    assert "trl 1.16.0" in told[0].because


def test_a_run_by_python_is_told_of_the_launcher(tmp_path: Path) -> None:
    """`holdfast run` starts the script by `python` where there are no several GPUs: it fails before it begins."""
    script = tmp_path / "train.py"
    script.write_text(WANTS["RANK"], encoding="utf-8")
    found = rehearse(str(script), set=["where.backend=local"], here=True, offline=True)
    assert "`RANK`, which torchrun sets" in found["failure"]["cause"]


LAUNCHER = """
MODEL=${MODEL:-work/tiny}
python train.py --model "$MODEL" --out ${OUT:-"$HOME/out"} --rate ${RATE-1e-5}
"""


def test_launcher_is_read_with_the_variables_it_will_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is set here counts, and else what stands in for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RATE", "3e-5")
    monkeypatch.delenv("MODEL", raising=False)
    Path("train.py").write_text("import trl")
    Path("run.sh").write_text(LAUNCHER.replace('"$HOME/out"', "out"))

    assert read_program("run.sh", (), ()).arguments == ("--model", "work/tiny", "--out", "out", "--rate", "3e-5")


@pytest.mark.parametrize("name", ["Makefile", "train.mk"])
def test_a_makefile_is_read_as_command_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    Path(name).write_text("train:\n\tpython train.py --rate 3e-5\n")
    program = read_program(name, (), ())
    assert (program.path, program.arguments) == ("train.py", ("--rate", "3e-5"))


@pytest.mark.parametrize("given", ["--max_seq_length 64", "--max_seq_length=64", '"--max_seq_length" 64'])
def test_flags_of_a_shell_script_have_their_lines(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that refuses one tells its name alone."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import trl")
    Path("run.sh").write_text(f"set -e\naccelerate launch train.py \\\n  --lr 1e-5 \\\n  {given}\n")

    flags = read_failure_context(read_program("run.sh", (), ()), {}).flags

    assert {flag: line.where for flag, line in flags.items()} == {"--lr": "run.sh:3", "--max_seq_length": "run.sh:4"}
    assert flags["--max_seq_length"].code == given


@pytest.mark.parametrize(("folder", "where"), [("src/alignment", "src"), ("alignment", ".")])
def test_the_project_itself_is_found_where_python_does_not_look(
    folder: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python scripts/train.py` looks in `scripts` alone."""
    monkeypatch.chdir(tmp_path)
    Path("scripts").mkdir()
    Path(folder).mkdir(parents=True)
    Path("scripts/train.py").write_text("import alignment")
    ended = TrainingEnded(status="failed", because="ModuleNotFoundError: No module named 'alignment'")

    found = read_failure_context(
        read_program("scripts/train.py", (), ()), {"whole": PartResult(part="whole", code=1, events=(ended,))}
    )

    assert found.own_modules == {"alignment": where}


def test_a_line_that_python_cannot_read_is_found_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python prints the place alone where a whole file is not read."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import trl\nprint((1)\n")
    ended = TrainingEnded(status="failed", because="SyntaxError: '(' was never closed")
    log = "  File \"train.py\", line 2\n    print((1)\n         ^\nSyntaxError: '(' was never closed\n"

    played = PartResult(part="whole", code=1, events=(ended,), logs={"stderr.log": log})
    found = read_failure_context(read_program("train.py", (), ()), {"whole": played})

    assert [(frame.file, frame.line) for frame in found.tracebacks["whole"].frames] == [("train.py", 2)]


def test_flags_of_a_command_line_have_no_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import trl")

    assert not read_failure_context(read_program("--", ("python", "train.py", "--lr", "1"), ()), {}).flags


@pytest.mark.parametrize(
    ("file", "line", "found"),
    [
        ("app/main.py", "python -m app.main --lr 1", ("app/main.py", "app.main", ("--lr", "1"))),
        ("app/main.py", "accelerate launch -m --num_processes 2 app.main", ("app/main.py", "app.main", ())),
        ("app/main.py", "torchrun --nproc_per_node 2 --module app.main x", ("app/main.py", "app.main", ("x",))),
        ("app/__main__.py", "uv run python -m app", ("app/__main__.py", "app.__main__", ())),
        ("lib/app/main.py", "PYTHONPATH=lib python -m app.main", ("lib/app/main.py", "app.main", ())),
        ("src/app/main.py", "python -m pip install x && uv run -m app.main", ("src/app/main.py", "app.main", ())),
        ("train.py", "python -m trl.scripts.sft --seed 1", ("trl:sft", "", ("--seed", "1"))),
    ],
)
def test_a_module_is_found_as_python_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, line: str, found: tuple[str, str, tuple[str, ...]]
) -> None:
    """From the folder that the command is started in, and what PYTHONPATH names, whatever launches it."""
    monkeypatch.chdir(tmp_path)
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("import trl")
    Path("run.sh").write_text(line)
    program = read_program("run.sh", (), ())
    assert (program.path, program.module, program.arguments) == found
    assert "-m" not in program.launched_by[-1:]


def test_a_module_that_is_not_here_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may lie in another folder, or be a library's."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"the module `app\.main` lies neither in this folder nor in `src`"):
        read_program("--", ("python", "-m", "app.main"), ())
