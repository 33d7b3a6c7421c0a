"""What a model gives for the rows of several datasets: what its outputs depend on is looked up once."""

from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

from holdfast.adapters.evaluation.process import ModelSource
from holdfast.adapters.evaluation.store import EvaluationStore
from holdfast.app.evaluate.asking import EvaluationOptions, RequestedMetrics
from holdfast.app.evaluate.data import RowChoice
from holdfast.app.evaluate.working import RowsForModel, outputs_of
from holdfast.app.models.found_model import FoundModel
from holdfast.core.evaluation import GenerationSettings

OPTIONS = EvaluationOptions(
    choice=RowChoice(),
    requested=RequestedMetrics(),
    by=(),
    cluster="",
    generation=GenerationSettings(),
    batch_size=1,
    offline=True,
)


def test_the_versions_of_libraries_are_read_once_for_each_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many datasets there are; the versions of lm-eval only for its own requests."""
    read: Counter[str] = Counter()

    def counted(name: str) -> str:
        read[name] += 1
        return version("pytest")

    monkeypatch.setattr("holdfast.app.evaluate.working.version", counted)
    model = FoundModel(name="m", source=ModelSource(path="m", tokenizer="m"), identity="weights", template=None)
    store = EvaluationStore(tmp_path, 0.0)
    store.prepare()
    wanted = [RowsForModel("a", "score", ()), RowsForModel("b", "score", ()), RowsForModel("c", "generate", ())]
    found = outputs_of(model, wanted, store, OPTIONS, lambda _: None)
    assert found.reused == {"a": 0, "b": 0, "c": 0}
    assert read == {"torch": 1, "transformers": 1}
    outputs_of(model, [*wanted, RowsForModel("d", "respond", ())], store, OPTIONS, lambda _: None)
    assert read == {"torch": 2, "transformers": 2, "lm-eval": 1}
