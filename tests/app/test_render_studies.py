"""The scripts of a study run without holdfast, and say what the study says."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from tests.helpers.quick_training import QuickStudy, quick_study, run  # noqa: F401 - the fixture `quick`

STUB = """\
import json, os, pathlib, sys
settings = dict(each.split("=", 1) for each in sys.argv[2:])
folder = pathlib.Path(os.environ["HOLDFAST_RUN"])
with open("started.jsonl", "a") as log:
    log.write(json.dumps([settings, os.environ.get("CUDA_VISIBLE_DEVICES")]) + "\\n")
rate, seed = float(settings.get("TRAIN.learning_rate", 0.1)), int(settings["SEED"])
if rate == 0.5:
    sys.exit("bad rate")
loss = rate + (0.01, 0.025)[seed % 2 == 0]
for name, content in {
    "results/log.json": [{"eval_loss": 9.0, "step": 1}, {"eval_loss": loss, "step": 2}, {"train_loss": 1.0}],
    "model/holdfast-job.json": {"config": {"load_best_model_at_end": False}},
}.items():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))
"""
"""Takes the place of a training script: it writes what one leaves."""


def render_stubbed(quick: QuickStudy, **study: Any) -> Path:
    """Render a study; of its scripts, only the main one is real."""
    quick.write(**study)
    holdfast.render(quick.file, output="scripts")
    for script in Path("scripts").glob("sft*.py"):
        script.write_text(STUB)
    return Path("scripts", "main.py")


def start(main: Path, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a main script, as a person without holdfast does."""
    return subprocess.run(
        [sys.executable, str(main), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def started() -> list[Any]:
    return [json.loads(line) for line in Path("started.jsonl").read_text().splitlines()]


def test_all_trials_run_and_failures_are_told_at_the_end(quick: QuickStudy) -> None:
    """Each setting with each seed, as the study numbers them; the folder goes on without what it has."""
    main = render_stubbed(quick, grid={"train.learning_rate": [0.1, 0.5, 0.2]}, seeds=[1, 2])

    done = start(main, "--results", "kept")

    assert done.returncode == 1, done.stderr
    assert "2 of 6 trials failed" in done.stdout
    assert done.stdout.count("sft.py ended with exit code 1: bad rate") == 4
    table = json.loads(Path("kept/results.json").read_text())
    best = table["settings"][0]
    assert best["settings"] == {"TRAIN.learning_rate": 0.1}
    assert (best["mean"], best["low"] < best["mean"] < best["high"]) == (pytest.approx(0.1175), True)
    assert [(each["trial"], each["seed"]) for each in table["trials"]] == [(n + 1, n % 2 + 1) for n in range(6)]
    rows = list(csv.DictReader(Path("kept/results.csv").read_text().splitlines()))
    assert [row["eval_loss"][:4] for row in rows] == ["0.11", "0.12", "", "", "0.21", "0.22"]
    assert len(started()) == 6
    start(main, "--results", "kept")
    assert [settings["TRAIN.learning_rate"] for settings, _ in started()[6:]] == ["0.5", "0.5"]


def test_settings_are_replaced_by_variables_and_by_arguments(quick: QuickStudy) -> None:
    """An argument wins over a variable; GPUs are divided among the trials that run at once."""
    main = render_stubbed(quick, grid={"train.learning_rate": [0.1]}, seeds=[1], parallel=1)

    done = start(
        main,
        *("--seeds", "7", "8", "--set", "TRAIN.max_steps=1"),
        SEEDS="5",
        PARALLEL="2",
        RESULTS="elsewhere",
        CUDA_VISIBLE_DEVICES="3,4,5",
        NUM_GPUS_OVERRIDE="2",
    )

    assert done.returncode == 0, done.stderr
    assert {settings["SEED"] for settings, _ in started()} == {"7", "8"}
    assert {settings["TRAIN.max_steps"] for settings, _ in started()} == {"1"}
    assert {devices for _, devices in started()} <= {"3", "4"}
    assert Path("elsewhere/elsewhere-002/model").is_dir()


def test_trials_of_two_starts_have_folders_of_different_names(quick: QuickStudy) -> None:
    """The training script names the runs of a tracker like its folder, and a tracker goes on in a run of the same name."""
    main = render_stubbed(quick, grid={"train.learning_rate": [0.1]}, seeds=[1, 2])

    for folder in ("results/first", "results/second"):
        assert start(main, "--results", folder).returncode == 0

    names = [path.parent.name for path in Path("results").glob("*/*/model")]
    assert sorted(names) == ["first-001", "first-002", "second-001", "second-002"]


UV = """\
#!/bin/sh
echo "$1" >> uv.txt
[ "$1" = python ] && echo "$PWD/bin/python-of-uv" || true
[ "$1" = run ] && shift && exec {python} "$@" || true
"""
PYTHON_OF_UV = """\
#!/bin/sh
echo "$1 $2 $3 $4 $5" >> python.txt
shift 5
exec {python} "$@"
"""


@pytest.mark.parametrize(
    ("gpus", "asked", "processes"),
    [("0", ["run"], None), ("0,1", ["sync", "python"], "-m torch.distributed.run --standalone --nproc-per-node 2\n")],
)
def test_a_trial_on_several_gpus_has_a_process_for_each_under_uv_too(
    quick: QuickStudy, gpus: str, asked: list[str], processes: str | None
) -> None:
    """Where this Python has no TRL; one process for two GPUs would train as DataParallel."""
    main = render_stubbed(quick, grid={"train.learning_rate": [0.1]}, seeds=[1])
    Path("bin").mkdir()
    for name, text in {"uv": UV, "python-of-uv": PYTHON_OF_UV}.items():
        Path("bin", name).write_text(text.format(python=sys.executable))
        Path("bin", name).chmod(0o755)
    variables = {**os.environ, "PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": gpus}

    subprocess.run([sys.executable, "-I", "-S", str(main)], env=variables, capture_output=True, check=True)

    assert Path("uv.txt").read_text().split() == asked
    assert (Path("python.txt").read_text() if processes else None) == processes
    assert len(started()) == 1


def test_trials_of_one_kind_share_a_script(quick: QuickStudy) -> None:
    """Rates, data and adapters of other sizes do; an adapter beside none does not."""
    quick.write(trials=[{"train.learning_rate": 0.1}, {"train.learning_rate": 0.2}, {"peft.r": 4}, {"peft.r": 8}])

    text = holdfast.render(quick.file, output="scripts")

    assert sorted(path.name for path in Path("scripts").iterdir()) == ["main.py", "sft-2.py", "sft.py"]
    assert '("sft.py", {"TRAIN.learning_rate": 0.2}),' in text
    assert '("sft-2.py", {"LORA.r": 8}),' in text
    for path in Path("scripts").iterdir():
        compile(path.read_text(), path.name, "exec")
        assert "import holdfast" not in path.read_text()


@pytest.mark.parametrize(
    ("study", "options", "what"),
    [
        ({"metric": "exact_match"}, {"output": "scripts"}, "run without holdfast"),
        ({}, {}, "a study is several scripts"),
        ({}, {"output": "scripts", "set": {"seed": 1}}, "`--set` applies to a job"),
        ({}, {"output": "study.yaml/x"}, "cannot be made"),
        ({}, {"output": "study.yaml"}, "cannot be made"),
    ],
)
def test_what_cannot_be_rendered_is_refused(
    quick: QuickStudy, study: dict[str, Any], options: dict[str, Any], what: str
) -> None:
    """With the place and a fix; nothing is written."""
    quick.job["evaluate"] = [{"dataset": "a.jsonl"}]
    quick.write(seeds=[1], **study)

    with pytest.raises(holdfast.UsageError, match=what) as caught:
        holdfast.render(quick.file, **options)

    assert caught.value.fix
    assert not Path("scripts").exists()


@pytest.mark.parametrize("name", ["main.py", "sft.py"])
def test_scripts_of_the_user_are_not_overwritten(quick: QuickStudy, name: str) -> None:
    """Nothing is written then; scripts that holdfast has rendered are rendered anew."""
    quick.write(grid={"train.learning_rate": [0.1]})
    own = quick.folder / name
    own.write_text("print('mine')\n")

    with pytest.raises(holdfast.UsageError, match="not written by `holdfast render`") as refused:
        holdfast.render(quick.file, output=".")

    assert str(refused.value.where) == name
    assert own.read_text() == "print('mine')\n"
    assert [path.name for path in quick.folder.glob("*.py")] == [name]
    own.unlink()
    assert holdfast.render(quick.file, output=".") == holdfast.render(quick.file, output=".")


def test_a_file_that_is_too_large_for_a_study_is_an_error(tmp_path: Path) -> None:
    """As it is for `check` and `run`."""
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(60_000_000)

    with pytest.raises(holdfast.UsageError) as refused:
        holdfast.render(huge)

    assert str(refused.value.where) == str(huge)


@pytest.mark.train
@pytest.mark.long
def test_the_table_of_the_scripts_is_that_of_the_study(quick: QuickStudy) -> None:
    """Real trainings: the same values, to the last digit."""
    quick.job["where"] = {}
    quick.job["samples"] = {"prompts": 0}
    quick.write(
        trials=[{"dataset.path": "a.jsonl"}, {"dataset.path": "b.jsonl", "train.learning_rate": 0.01}], seeds=[1, 2]
    )
    study = run(quick)

    holdfast.render(quick.file, output="scripts")
    done = start(Path("scripts/main.py"), "--results", "kept", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")

    assert done.returncode == 0, done.stdout
    table = json.loads(Path("kept/results.json").read_text())
    assert [each["values"] for each in table["settings"]] == [each["values"] for each in study["settings"]]
    assert [each["mean"] for each in table["settings"]] == [each["mean"] for each in study["settings"]]
