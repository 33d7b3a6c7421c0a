"""Whether the rows of an evaluation are looked for in the training data, and what is said where they cannot be."""

from pathlib import Path

import pytest
from msgspec import structs

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.evaluate.asking import EvaluationOptions, EvaluationRequest, RequestedMetrics
from holdfast.app.evaluate.data import RowChoice
from holdfast.app.evaluate.finding import NamedData, NamedModels, find_request
from holdfast.cli.text.evaluation import render_evaluation
from holdfast.core.evaluation import GenerationSettings
from holdfast.core.run.event import RunRequested
from holdfast.core.run.requested_job import RequestedJob
from tests.app.models.test_finding import NAME, make_model
from tests.helpers.evaluations import evaluation

OPTIONS = EvaluationOptions(
    choice=RowChoice(), requested=RequestedMetrics(), by=(), cluster="",
    generation=GenerationSettings(), batch_size=1, offline=True,
)  # fmt: skip


@pytest.fixture(name="here")
def users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a dataset and a run with a final model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    (tmp_path / "rows.jsonl").write_text('{"text": "1 plus 1 is 2"}\n')
    make_model(tmp_path / "runs" / NAME / "model")
    return tmp_path


def asked(here: Path, about: RequestedJob, trained_on: tuple[str, ...] = ()) -> EvaluationRequest:
    folder = here / "runs" / NAME
    Ledger(here / "runs").append(NAME, [RunRequested(at_s=1.0, folder=str(folder), about=about)])
    models = NamedModels(base=None, own=False, gated=False, runs=None)
    return find_request(NAME, models, NamedData(on=["rows.jsonl"], prompts=(), trained_on=trained_on), OPTIONS, [])


def test_run_of_a_script_does_not_say_what_it_was_trained_on(here: Path) -> None:
    found = asked(here, RequestedJob(job="sums", target="train.py"))

    assert not found.training
    assert found.training_unknown == "which rows the model was trained on is not known"


def test_training_data_that_are_gone_are_said_to_be(here: Path) -> None:
    found = asked(here, RequestedJob(job="sums", method="sft", dataset="gone.jsonl"))

    assert not found.training
    assert "no such file or folder: gone.jsonl" in found.training_unknown


@pytest.mark.parametrize("named", [(), ("rows.jsonl",)])
def test_known_training_data_are_compared(here: Path, named: tuple[str, ...]) -> None:
    """Those of a run's job, or those that are named."""
    about = (
        RequestedJob(job="sums", target="train.py")
        if named
        else RequestedJob(job="sums", method="sft", dataset="rows.jsonl")
    )
    found = asked(here, about, named)

    assert [name for name, _ in found.training] == ["rows.jsonl"]
    assert found.training_unknown == ""


def test_text_offers_to_name_the_training_data() -> None:
    """Where rows were evaluated at all."""
    unknown = structs.replace(
        evaluation("rows.jsonl"), leaks_unknown="which rows the model was trained on is not known"
    )

    assert "trained on is not known. Name it with --trained-on" in render_evaluation(unknown)
    assert "--trained-on" not in render_evaluation(evaluation("rows.jsonl"))
    assert "--trained-on" not in render_evaluation(structs.replace(unknown, datasets=[]))
