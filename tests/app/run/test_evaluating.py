"""The final model of a run is evaluated as its job file asks, and the run's result, `show` and report tell what came of it."""

import json
import shutil
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.run import evaluating
from holdfast.app.run.evaluating import evaluate_final, look_at_tasks
from holdfast.app.runs.verb import runs
from holdfast.app.show.verb import show
from holdfast.cli.text.answers import render_show
from holdfast.core.errors import UsageError
from holdfast.core.run.event import (
    Closed,
    Event,
    Liveness,
    ModelEvaluated,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
)
from holdfast.core.run.plan import PlannedEvaluation
from holdfast.core.run.requested_job import RequestedJob
from holdfast.results import to_json
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.evaluations import evaluation
from tests.helpers.forked_children import fork_evaluations  # noqa: F401 - the fixture `forked_evaluations`

pytestmark = pytest.mark.usefixtures("forked_evaluations")
NAME = "sums-20261127-090000-x7"
SUMS = "".join(json.dumps({"question": f"{a} plus 1", "answer": str(a + 1)}) + "\n" for a in range(8))


@pytest.fixture(name="run")
def trained_run(tmp_path: Path) -> Path:
    """The folder of a run whose training has ended, without its model."""
    folder = tmp_path / "runs" / NAME
    folder.mkdir(parents=True)
    about = RequestedJob(job="sums", method="sft", model="base", dataset="train.jsonl", target="sums.yaml")
    end = {"event": "end", "at": 3.0, "rank": 0, "step": 2, "max_steps": 2, "status": "finished"}
    events: list[Event] = [
        RunRequested(at_s=1.0, folder=str(folder), about=about),
        Starting(at_s=2.0, attempt=1, backend="local"),
        Started(at_s=2.0, attempt=1, id="1"),
        Reported(at_s=3.0, attempt=1, said=end),
        Polled(at_s=4.0, attempt=1, answer=Liveness.ENDED, exit_code=0),
    ]
    Ledger(tmp_path / "runs").append(NAME, events)
    return folder


def close(run: Path, evaluated: ModelEvaluated) -> None:
    Ledger(run.parent).append(NAME, [evaluated, Closed(at_s=evaluated.at_s, stage=RunStage.SUCCEEDED)])


def silence() -> None:
    """Nobody says anything."""


@pytest.mark.train
def test_one_that_fails_does_not_stop_the_others(run: Path, models: Path) -> None:
    """A torn dataset, a condition that does not hold, data that is gone; the base is that of the resolved job."""
    shutil.copytree(models / "tiny-2", run / "model")
    (run / "job.resolved.yaml").write_text(
        f"method: sft\nmodel: {{path: {models / 'tiny'}}}\ndataset: {{path: gone.jsonl}}\n"
    )
    for name, text in (("sums", SUMS), ("torn", SUMS[:20])):
        (run.parent / f"{name}.jsonl").write_text(text)
    sums, torn, gone = (str(run.parent / f"{name}.jsonl") for name in ("sums", "torn", "gone"))
    asked = [
        PlannedEvaluation(dataset=(torn, sums), max_new_tokens=4, at_least=("exact_match=0.9",)),
        PlannedEvaluation(dataset=(gone,)),
    ]
    said: list[str] = []

    found = evaluate_final(run, asked, silence, said.append)
    close(run, found)
    shown = show(NAME, runs=run.parent)
    page = (run / "report.html").read_text()

    assert (found.verdict, len(found.files), said[0]) == ("fail", 1, f"loading {NAME}")
    for text in ("torn.jsonl failed", "exact_match=0.9 does not hold", "gone.jsonl"):
        assert text in found.because
    assert (shown.stage, shown.exit_code) == (RunStage.SUCCEEDED, 1)
    assert shown.evaluation
    told = {each.dataset: each for each in shown.evaluation.datasets or ()}
    assert (told[sums].rows, told[sums].metric, told[sums].verdict) == (8, "f1", "undecided")
    assert told[torn].said.startswith("failed: ")
    assert json.loads(Path(found.files[0]).read_text())["base"] == str(models / "tiny")
    assert "datasets" not in to_json(runs(runs=run.parent))["runs"][0]["evaluation"]
    for text in (
        "Is it better than its base?",
        "undecided with 8 rows",
        "0 plus 1",
        "Failed:",
        "The worst rows, by f1",
        '<svg class="interval"',
    ):
        assert text in page


def test_without_weights_nothing_is_evaluated_and_that_is_said(run: Path) -> None:
    """As of a run elsewhere whose model stays there."""
    close(run, evaluate_final(run, [PlannedEvaluation(dataset=("sums.jsonl",))], silence, lambda _: None))

    shown = show(NAME, runs=run.parent)

    because = f"the final model is not on this machine: there is no {run / 'model'}"
    assert to_json(shown)["evaluation"] == {"verdict": "skipped", "because": because, "files": [], "datasets": []}
    assert shown.exit_code == 0
    assert because in (run / "report.html").read_text()


@pytest.mark.parametrize("leaked", [0, 1, 56])
def test_rows_in_the_training_data_are_told_where_the_verdict_is(run: Path, leaked: int) -> None:
    figure = {
        "dataset": "test.jsonl", "split": "test", "rows": 60, "metric": "loss", "value": 1.05, "low": 1.0, "high": 1.1, "interval": "",
        "rows_needed": None, "where": None, "base": None,
    }  # fmt: skip
    rows = {"dataset": "test.jsonl", "rows": leaked, "fraction": leaked / 60, "exact": [], "near": [], "without": []}
    file = run / "results" / "evaluation-1.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(to_json(evaluation("test.jsonl")) | {"results": [figure], "leaked": [rows]}))
    close(run, ModelEvaluated(at_s=5.0, verdict="pass", files=(str(file),)))

    shown = render_show(show(NAME, runs=run.parent))

    assert "test.jsonl: loss 1.05 (1 to 1.1), 60 rows" in shown
    assert (f"; {leaked} row" in shown) == ("in the training data" in shown) == bool(leaked)


def test_tasks_that_do_not_exist_are_reported_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them at once."""
    monkeypatch.setattr(evaluating, "_has_libraries", lambda: True)
    planned = [PlannedEvaluation(task=(str(tmp_path / name),)) for name in ("gone.yaml", "lost.yaml")]

    with pytest.raises(ExceptionGroup) as refused:
        look_at_tasks(planned, offline=True)

    assert ["gone" in str(refused.value.exceptions[0]), "lost" in str(refused.value.exceptions[1])] == [True, True]


@pytest.mark.long
def test_names_of_tasks_are_looked_up_before_training() -> None:
    pytest.importorskip("lm_eval")

    with pytest.raises(UsageError) as refused:
        look_at_tasks([PlannedEvaluation(task=("arc_easi",))], offline=True)

    assert "arc_easy" in refused.value.fix
