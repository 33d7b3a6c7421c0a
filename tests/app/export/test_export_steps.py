"""The steps of an export are named for what they do."""

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.app.export.steps import Export
from holdfast.core.errors import SourceError
from tests.app.models.test_finding import make_model


@pytest.mark.parametrize(("adapter", "name"), [(True, "merge"), (False, "copy")])
def test_a_model_without_adapters_is_not_merged(
    adapter: bool, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is loaded, saved and compared; the time of that stood beside the word "merge"."""
    monkeypatch.chdir(tmp_path)
    make_model(tmp_path / "base")
    if adapter:
        make_model(tmp_path / "lora")
        (tmp_path / "lora" / "config.json").unlink()
        config = {"base_model_name_or_path": "base", "peft_type": "LORA", "task_type": "CAUSAL_LM"}
        (tmp_path / "lora" / "adapter_config.json").write_text(json.dumps(config))
        (tmp_path / "lora" / "pytorch_model.bin").rename(tmp_path / "lora" / "adapter_model.bin")

    def do(_: Export, step: str, stage: str, *_question: object) -> None:
        raise SourceError(f"the step {step}", where=stage, fix="")

    monkeypatch.setattr(Export, "do", do)
    with pytest.raises(SourceError, match=f"^the step {name}"):
        holdfast.export("lora" if adapter else "base", offline=True)
