"""`holdfast evaluate RUN --every checkpoint`: each kept checkpoint beside the final model, and the best of them."""

import json
import shutil
from pathlib import Path

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.app.evaluate.verb import evaluate
from holdfast.cli.text.evaluation import render_evaluation
from holdfast.core.errors import UsageError
from holdfast.core.run.event import RunRequested
from holdfast.core.run.requested_job import RequestedJob
from holdfast.payload.runtime import seal, stamps_of
from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`
from tests.helpers.forked_children import fork_evaluations  # noqa: F401 - the fixture `forked_evaluations`

pytestmark = [pytest.mark.train, pytest.mark.usefixtures("forked_evaluations")]
NAME = "sums-20261127-090000-x7"


def complete(checkpoint: Path, step: int) -> None:
    """Complete a checkpoint as a trainer and the runtime do."""
    for name in ("trainer_state.json", "optimizer.pt", "scheduler.pt"):
        (checkpoint / name).write_text(f"{name} of step {step}")
    seal(checkpoint, stamps_of(checkpoint), step=step, world_size=1)


@pytest.fixture(name="run")
def finished_run(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that kept three checkpoints: other weights than the final ones, the same, and a damaged one."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / NAME
    checkpoints = folder / "checkpoints" / "tiny-20261127"
    copied = {"model": "tiny", **dict(zip(("2", "4", "6"), ("tiny-2", "tiny", "tiny"), strict=True))}
    for name, model in copied.items():
        shutil.copytree(models / model, folder / name if name == "model" else checkpoints / f"checkpoint-{name}")
    for step in (2, 4, 6):
        checkpoint = checkpoints / f"checkpoint-{step}"
        complete(checkpoint, step)
        if step == 6:
            (checkpoint / "optimizer.pt").unlink()
    (folder / "job.resolved.yaml").write_text("method: sft\n")
    about = RequestedJob(job="sums", method="sft", model=str(models / "tiny"))
    Ledger(tmp_path / "runs").append(NAME, [RunRequested(at_s=1.0, folder=str(folder), about=about)])
    rows = [{"text": f"{number} plus 1 is {number + 1}"} for number in range(12)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_the_best_is_named(run: Path, models: Path) -> None:
    """Of equals it is the final model; a damaged checkpoint is told, and does not stop the others."""
    with pytest.raises(UsageError, match="is no run"):
        evaluate(models / "tiny", on="texts.jsonl", every="checkpoint")

    result = evaluate("sums", on="texts.jsonl", no_base=True, every="checkpoint")

    (best,) = result.best or ()
    final = next(each for each in result.results if each.metric == "loss")
    other, same, damaged = result.checkpoints or ()
    assert [(each.step, each.because) for each in (other, same)] == [(2, ""), (4, "")]
    losses = [next(figure for figure in each.figures if figure.metric == "loss") for each in (other, same)]
    assert ("optimizer.pt" in damaged.because, damaged.figures) == (True, ())
    assert [each.value == final.value for each in losses] == [False, True]
    assert best.step == (2 if (losses[0].value or 0) < (final.value or 0) else None)
    assert (best.metric, best.dataset) == ("loss", "texts.jsonl")
    assert losses[0].base
    assert losses[0].base.value == final.value
    shown = render_evaluation(result)
    for text in ("best on texts.jsonl by loss", "checkpoint-4", "checkpoint-6: ", "optimizer.pt"):
        assert text in shown
    assert json.loads(Path(result.files[0]).read_text())["best"][0]["metric"] == "loss"
    shutil.rmtree(run / "checkpoints")
    with pytest.raises(UsageError, match="keeps no checkpoint"):
        evaluate("sums", on="texts.jsonl", every="checkpoint")
