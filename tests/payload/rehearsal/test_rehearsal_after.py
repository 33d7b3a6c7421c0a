"""What a script has left is told apart from what it has downloaded."""

from pathlib import Path

import pytest

from holdfast.payload.rehearsal.after import find_models

SNAPSHOT = "cache/models--Qwen--Qwen3-0.6B/snapshots/b7d3e32c"


@pytest.mark.parametrize(
    ("files", "found"),
    [
        (("out/config.json", "out/model.safetensors"), ["out"]),
        (("out/adapter_config.json", f"{SNAPSHOT}/config.json"), ["out"]),
        (("model/config.json", "model/.cache/huggingface/download/config.json.metadata"), []),
        (("model/config.json", "model/.cache/huggingface/x", "model/model.safetensors"), ["model"]),
    ],
    ids=["saved", "cache_dir", "local_dir", "saved where it was downloaded"],
)
def test_a_download_is_no_saved_model(files: tuple[str, ...], found: list[str], tmp_path: Path) -> None:
    """`from_pretrained(name, cache_dir="cache")` writes below the script's own folder, without weights in a rehearsal."""
    for each in files:
        path = tmp_path / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    assert [str(each.relative_to(tmp_path)) for each in find_models(tmp_path)] == found
