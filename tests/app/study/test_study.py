"""A study as its users see it: trials run once, failures stop nothing, what was interrupted goes on, and the answer is right."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.adapters.rehearsal.programs import Program
from holdfast.app.study.effects import effects_of_study
from holdfast.app.study.observing import NullStudyObserver
from holdfast.app.study.reading import read_study
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.ports import Order
from holdfast.results.rehearse import RehearseResult
from tests.helpers.quick_training import (
    DYING_RATE,
    FAILING_RATE,
    QuickStudy,
    quick_study,  # noqa: F401 - the fixture `quick`
    run,
)
from tests.helpers.results import rehearsed

GRID: dict[str, list[Any]] = {"train.learning_rate": [0.001, 0.01], "dataset.path": ["a.jsonl", "b.jsonl"]}
PATIENCE_S = 120.0


def test_every_combination_runs_once_and_the_best_is_found(quick: QuickStudy) -> None:
    """Again, nothing runs; with a seed and a rate more, only what is new does."""
    rates = GRID["train.learning_rate"]
    quick.write(grid={**GRID, "train.learning_rate": rates[1:]}, seeds=[1, 2])

    first = run(quick)

    assert first["verdict"] == "complete"
    assert first["best"]["settings"] == {"train.learning_rate": 0.01, "dataset.path": "a.jsonl"}
    assert first["best"]["low"] < first["best"]["value"] < first["best"]["high"]
    assert set(quick.trainings().values()) == {1}
    assert len(quick.trainings()) == len(first["trials"]) == 4
    assert run(quick)["best"] == first["best"]
    assert quick.trainings().total() == 4

    quick.write(grid=GRID, seeds=[1, 2, 3])
    wider = run(quick)
    assert set(quick.trainings().values()) == {1}
    assert len(quick.trainings()) == len(wider["trials"]) == 12
    runs = {trial["content"]: trial["run"] for trial in wider["trials"]}
    assert all(runs[trial["content"]] == trial["run"] for trial in first["trials"])


def test_a_trial_that_fails_stops_no_other_and_is_told_with_its_cause(quick: QuickStudy) -> None:
    """It is not tried again, unless that is wanted."""
    quick.write(grid={**GRID, "train.learning_rate": [FAILING_RATE, 0.01]})

    answer = run(quick, despite="CMB106")

    assert answer["verdict"] == "failed"
    assert [trial["stage"] for trial in answer["trials"]] == ["failed", "failed", "succeeded", "succeeded"]
    assert [(each["number"], each["class"]) for each in answer["failed"]] == [
        (1, "missing-module"),
        (2, "missing-module"),
    ]
    assert all("not installed" in each["because"] and each["fix"] for each in answer["failed"])
    assert answer["best"]["settings"]["train.learning_rate"] == 0.01
    assert run(quick, despite="CMB106")["failed"] == answer["failed"]
    assert quick.trainings().total() == 4
    run(quick, despite="CMB106", retry=True)
    assert quick.trainings().total() == 6


def test_a_training_that_is_killed_stops_no_other_trial(quick: QuickStudy) -> None:
    """It is told as failed, with what is known."""
    quick.write(trials=[{"train.learning_rate": DYING_RATE}, {}])

    answer = run(quick, despite="CMB106")

    assert [trial["stage"] for trial in answer["trials"]] == ["failed", "succeeded"]
    assert answer["failed"][0]["because"]


def test_each_shape_is_rehearsed_once_and_a_refused_one_starts_nothing(
    quick: QuickStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rates and seeds make no other shape, data do; after an interruption, what was found is known."""
    asked: list[str] = []

    def rehearse(program: Program, **options: Any) -> RehearseResult | None:
        assert "offline" in options
        assert program.job
        data = Path(str(program.job.get("dataset.path"))).name
        asked.append(data)
        return rehearsed({"class": "dataset-empty", "title": "no rows"}) if data == "b.jsonl" else None

    monkeypatch.setattr("holdfast.app.run.preparing.rehearse_unless_passed", rehearse)
    quick.write(grid=GRID, seeds=[1, 2])

    answer = run(quick, rehearse=True)

    assert asked == ["a.jsonl", "b.jsonl"]
    stages = {(trial["settings"]["dataset.path"], trial["stage"]) for trial in answer["trials"]}
    assert stages == {("a.jsonl", "succeeded"), ("b.jsonl", "refused")}
    assert [each["class"] for each in answer["failed"]] == ["dataset-empty"] * 4
    assert run(quick, rehearse=True)["failed"] == answer["failed"]
    assert run(quick, show=True)["failed"] == answer["failed"]
    assert asked == ["a.jsonl", "b.jsonl"]
    run(quick, rehearse=True, retry=True)
    assert asked == ["a.jsonl", "b.jsonl", "b.jsonl"]


def test_several_trials_run_at_once(quick: QuickStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """On as many parts of the GPUs; each has a log of its own."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    monkeypatch.setenv("NUM_GPUS_OVERRIDE", "4")
    slow = QuickStudy(quick.folder, seconds=1.0)
    slow.write(seeds=[1, 2, 3], parallel=2)

    answer = run(slow, despite="RES101")

    assert answer["verdict"] == "complete"
    assert set(slow.devices()) == {"4,5", "6,7"}
    for trial in answer["trials"]:
        text = "".join(path.read_text() for path in (slow.runs / trial["run"] / "logs").iterdir())
        assert text.count(" starting {") == text.count(" closed {") == 1


def test_the_folder_has_a_table_and_a_report(quick: QuickStudy) -> None:
    """The table opens in a spreadsheet, the report in any browser without a network."""
    quick.write(grid=GRID)

    folder = Path(run(quick)["folder"])

    rows = list(csv.DictReader((folder / "results.csv").read_text().splitlines()))
    assert [row["train.learning_rate"] for row in rows] == ["0.001", "0.001", "0.01", "0.01"]
    assert all(row["stage"] == "succeeded" and float(row["eval_loss"]) for row in rows)
    assert json.loads((folder / "results.json").read_text())["study"] == "study"
    page = (folder / "report.html").read_text()
    assert "Best: train.learning_rate 0.01, dataset.path a.jsonl." in page
    assert page.count("<tr>") >= 8
    assert "http" not in page.replace("http-equiv", "")


def test_a_file_that_moves_is_the_same_and_one_that_changes_is_not(
    quick: QuickStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial is known by what its data hold, wherever the study is started."""
    quick.write(grid={"dataset.path": ["a.jsonl"]})
    run(quick)
    (quick.folder / "elsewhere").mkdir()
    monkeypatch.chdir(quick.folder / "elsewhere")
    run(quick, runs=quick.runs)
    monkeypatch.chdir(quick.folder)
    (quick.folder / "a.jsonl").rename(quick.folder / "moved.jsonl")
    quick.job["dataset"]["path"] = "moved.jsonl"
    quick.write(grid={"dataset.path": ["moved.jsonl"]}, name="study")
    run(quick)
    assert quick.trainings().total() == 1

    with (quick.folder / "moved.jsonl").open("a") as file:
        file.write((quick.folder / "b.jsonl").read_text())
    run(quick)
    assert quick.trainings().total() == 2


def test_a_budget_of_trials_ends_the_study(quick: QuickStudy) -> None:
    """What ran before counts; more budget goes on."""
    quick.write(seeds=[1, 2, 3], budget={"trials": 2})

    answer = run(quick)

    assert (answer["verdict"], answer["remaining"]["trials"]) == ("limited", 1)
    assert answer["because"] == "the budget of 2 trials is used up"
    assert run(quick)["verdict"] == "limited"
    quick.write(seeds=[1, 2, 3], budget={"trials": 1})
    told = "the budget of 1 trial is used up: 2 have ended, those before it was set included"
    for option in ({"dry_run": True}, {"show": True}, {}):
        answer = run(quick, **option)
        assert (answer["verdict"], answer["because"], answer["remaining"]["permitted"]) == ("limited", told, 0)
    quick.write(seeds=[*range(1, 8)], budget={"trials": 4}, parallel=2)
    looked = run(quick, dry_run=True)
    assert (looked["verdict"], looked["because"]) == ("incomplete", "")
    assert (looked["remaining"]["trials"], looked["remaining"]["permitted"]) == (5, 2)
    assert looked["remaining"]["high_s"] == looked["remaining"]["trial_high_s"]
    quick.write(seeds=[1, 2, 3], budget={"hours": 1.0})
    assert run(quick)["verdict"] == "complete"
    assert quick.trainings().total() == 3


@pytest.mark.parametrize(
    ("data", "values", "is_told"),
    [
        ({"eval_fraction": 0.2}, {"grid": {"dataset.path": ["a.jsonl", "b.jsonl"]}}, True),
        ({"eval_fraction": 0.2}, {"grid": {"dataset.path": ["a.jsonl", "b.jsonl"]}, "metric": "train_loss"}, True),
        ({"eval_fraction": 0.2}, {"grid": {"dataset.path": ["a.jsonl", "copy.jsonl"]}, "seeds": [1, 2]}, False),
        ({"eval_fraction": 0.2}, {"grid": {"dataset.rows": [10, 20]}}, True),
        ({"eval_fraction": 0.2}, {"grid": {"seed": [1, 2]}}, True),
        ({"eval_fraction": 0.2, "seed": 7}, {"grid": {"seed": [1, 2]}}, False),
        ({"eval_fraction": 0.2}, {"grid": {"train.learning_rate": [0.01, 0.1]}, "seeds": [1, 2]}, False),
        ({"eval_split": "train"}, {"grid": {"dataset.path": ["a.jsonl", "b.jsonl"]}}, True),
        ({"eval_split": "train"}, {"grid": {"dataset.rows": [10, 20], "seed": [1, 2]}}, False),
        ({"eval_split": "train"}, {"grid": {"dataset.rows": [10, 20]}, "metric": "train_loss"}, True),
        ({"split": "train"}, {"grid": {"seed": [1, 2, 3]}, "metric": "train_loss"}, False),
        ({"split": "train"}, {"grid": {"dataset.seed": [1, 2]}, "metric": "train_loss"}, False),
        ({"rows": 10}, {"grid": {"seed": [1, 2, 3]}, "metric": "train_loss"}, True),
        ({"rows": 10}, {"grid": {"dataset.seed": [1, 2]}, "metric": "train_loss"}, True),
        ({"eval_split": "train", "eval_fraction": None}, {"grid": {"seed": [1, 2]}, "metric": "train_loss"}, False),
        ({}, {"grid": {"dataset.path": ["a.jsonl", "b.jsonl"]}, "metric": "exact_match"}, False),
    ],
)
def test_values_on_different_rows_are_told(
    quick: QuickStudy, data: dict[str, Any], values: dict[str, Any], is_told: bool
) -> None:
    """Before anything runs; the same rows under another name, and other rows to train on, are no such thing."""
    (quick.folder / "copy.jsonl").write_text((quick.folder / "a.jsonl").read_text())
    quick.job["dataset"] = {"path": "a.jsonl", **data}
    if not data:
        quick.job["evaluate"] = [{"dataset": "a.jsonl", "metric": ["exact_match"]}]
    quick.write(**values)

    answer = run(quick, dry_run=True)
    assert ("on different rows" in answer["caveat"]) is is_told
    assert bool(answer["caveat"]) is is_told


def test_show_and_dry_run_start_nothing(quick: QuickStudy) -> None:
    """Before the first start, and after it."""
    quick.write(seeds=[1, 2])

    assert run(quick, show=True)["verdict"] == run(quick, dry_run=True)["verdict"] == "planned"
    assert not quick.runs.exists()
    run(quick)
    assert run(quick, show=True)["best"] == run(quick)["best"]


def test_a_dry_run_tells_how_long_a_trial_takes(quick: QuickStudy) -> None:
    """Before any has run, by the plan of the first on this machine's processors; afterwards, by those that have ended."""
    quick.write(seeds=[1, 2, 3], parallel=2)

    few = run(quick, dry_run=True)["remaining"]
    assert few["because"] == "the plan of the first trial"
    assert 0 < few["trial_low_s"] < few["trial_high_s"]
    assert few["high_s"] == pytest.approx(2 * few["trial_high_s"], abs=0.02)
    quick.job["train"]["max_steps"] = 20_000
    quick.write(seeds=[1, 2, 3], parallel=2)
    assert run(quick, dry_run=True)["remaining"]["trial_low_s"] > few["trial_high_s"]

    quick.job["train"]["max_steps"] = 2
    quick.write(seeds=[1, 2, 3], budget={"trials": 1})
    assert run(quick)["remaining"]["because"] == "the 1 ended trial"


class Stopping(NullStudyObserver):
    """Orders a stop once a trial has ended."""

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.ended: list[TrialOutcome] = []

    def on_ended(self, outcome: TrialOutcome) -> None:
        self.ended.append(outcome)
        self.orders.append("stop")

    def take(self) -> Order | None:
        return self.orders.pop() if self.orders else None


class Reading(NullStudyObserver):
    """Reads the table when a trial starts."""

    def __init__(self, table: Path) -> None:
        self.table, self.succeeded = table, list[int]()

    def on_started(self, trial: Trial, run: str, *, continued: bool) -> None:
        del trial, run, continued
        self.succeeded.append(self.table.read_text().count("succeeded") if self.table.exists() else 0)


def test_the_table_has_each_trial_as_soon_as_it_has_ended(quick: QuickStudy) -> None:
    """Also while others run, and after earlier starts."""
    table = quick.runs / "studies" / "study" / "results.csv"
    for seeds, at_starts in (([1, 2], [0, 1]), ([1, 2, 3], [2])):
        quick.write(seeds=seeds)
        run(quick, observer=(reading := Reading(table)))
        assert reading.succeeded == at_starts


def test_a_stop_leaves_what_has_not_begun_to_the_next_start(quick: QuickStudy) -> None:
    """Nothing that has ended is lost."""
    quick.write(seeds=[1, 2, 3])

    answer = run(quick, observer=Stopping())

    assert answer["verdict"] == "incomplete"
    assert answer["because"].startswith("it was interrupted")
    assert answer["remaining"]["trials"] == 2
    assert run(quick)["verdict"] == "complete"
    assert set(quick.trainings().values()) == {1}


def start(quick: QuickStudy, *options: str, file: str = "study.yaml") -> "subprocess.Popen[bytes]":
    words = ["study", file, *options, "--no-rehearse", "--offline", "--quiet", "--format", "json"]
    return subprocess.Popen(
        [sys.executable, "-m", "holdfast", *words], cwd=quick.folder, env=os.environ, stdout=subprocess.PIPE
    )


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_a_study_that_is_killed_goes_on_where_it_was(quick: QuickStudy, kills: int) -> None:
    """At any moment, as often as it happens: no trial is lost, and none is trained twice."""
    quick = QuickStudy(quick.folder, seconds=0.2)
    seeds = list(range(1, 3 + kills))
    quick.write(seeds=seeds, parallel=2)
    dice = random.Random(kills)  # noqa: S311 - no secret
    for _ in range(kills):
        study = start(quick)
        time.sleep(dice.uniform(0.5, 2.5))  # noqa: TID251 - a real process
        study.kill()
        study.communicate(timeout=PATIENCE_S)

    answer = json.loads(start(quick).communicate(timeout=PATIENCE_S)[0])

    assert answer["verdict"] == "complete"
    assert [trial["stage"] for trial in answer["trials"]] == ["succeeded"] * len(seeds)
    assert set(quick.trainings().values()) == {1}
    assert len(quick.trainings()) == len(seeds)


@pytest.mark.long
def test_a_trial_that_is_interrupted_and_continued_counts_once(quick: QuickStudy) -> None:
    """So its budget still has room for the others."""
    quick = QuickStudy(quick.folder, seconds=1)
    quick.write(seeds=[1, 2], budget={"trials": 2})
    study = start(quick)
    end = time.monotonic() + PATIENCE_S
    while not quick.log.exists():
        assert time.monotonic() < end
        time.sleep(0.05)  # noqa: TID251 - a real process
    study.send_signal(signal.SIGINT)
    assert json.loads(study.communicate(timeout=PATIENCE_S)[0])["verdict"] == "incomplete"

    assert run(quick)["verdict"] == "complete"
    assert quick.trainings().total() == 3


@pytest.mark.long
def test_two_processes_do_not_run_one_study(quick: QuickStudy) -> None:
    """The second is told so."""
    quick = QuickStudy(quick.folder, seconds=20)
    quick.write(seeds=[1])
    study = start(quick)
    try:
        end = time.monotonic() + PATIENCE_S
        while not quick.log.exists():
            assert time.monotonic() < end
            time.sleep(0.05)  # noqa: TID251 - a real process
        with pytest.raises(holdfast.UsageError, match="another process runs the study"):
            run(quick)
    finally:
        study.send_signal(signal.SIGINT)
        study.send_signal(signal.SIGINT)
        study.communicate(timeout=PATIENCE_S)


@pytest.mark.long
def test_a_study_in_the_background_outlives_the_command(quick: QuickStudy) -> None:
    """It is looked at until it is done."""
    quick.write(seeds=[1, 2])

    answer = json.loads(start(quick, "--detach").communicate(timeout=PATIENCE_S)[0])
    assert answer["verdict"] in ("incomplete", "complete")
    end = time.monotonic() + PATIENCE_S
    while run(quick, show=True)["verdict"] != "complete":
        assert time.monotonic() < end
        time.sleep(0.2)  # noqa: TID251 - a real process
    assert set(quick.trainings().values()) == {1}


def test_an_agent_asks_before_a_study_costs_money(quick: QuickStudy) -> None:
    """One on this machine costs none; to look at one never does."""
    quick.write(grid={"output.push_to": ["me/a", "me/b"], **GRID})
    effects = effects_of_study(quick.file)
    assert (list(effects.pushes), effects.costs) == (["me/a", "me/b"], False)
    quick.job["where"] = {"hardware": "l4x1"}
    quick.write(trials=[{"where.backend": "local"}, {"where.backend": "hf-jobs"}])
    assert effects_of_study(quick.file).costs
    assert effects_of_study(quick.file).backend == "hf-jobs"
    assert not effects_of_study(quick.file, show=True).costs


@pytest.mark.parametrize(
    ("key", "values"),
    [("rewards", [["quiet.py:f"], ["pushing.py:f"]]), ("dataset.map", ["quiet.py:f", "pushing.py:f"])],
)
def test_each_function_that_a_study_varies_is_looked_at(quick: QuickStudy, key: str, values: list[object]) -> None:
    """The second one pushes."""
    (quick.file.parent / "quiet.py").write_text("def f(rows):\n    return rows\n")
    (quick.file.parent / "pushing.py").write_text("def f(rows):\n    api.upload_folder(folder_path='.')\n")
    quick.write(grid={key: values})

    assert effects_of_study(quick.file).pushes


@pytest.mark.parametrize("backend", ["fake", "hf-jobs"])
def test_a_study_named_by_its_whole_path_can_run_elsewhere(quick: QuickStudy, backend: str) -> None:
    """Its data are named from the current folder, as another machine will have them."""
    quick.job["where"] = {"backend": backend}
    quick.write(grid={"dataset.path": ["a.jsonl", "b.jsonl"]})

    file = read_study(str(quick.file.absolute()))

    assert [file.sets_of(trial) for trial in file.trials] == [('dataset.path="a.jsonl"',), ('dataset.path="b.jsonl"',)]
