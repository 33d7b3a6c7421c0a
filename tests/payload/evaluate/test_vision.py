"""Answers about images, by a vision-language model whose processor cuts them into tiles."""

import base64
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("torch")
from holdfast.payload.evaluate.generating import Generating
from holdfast.payload.evaluate.loading import load_model
from holdfast.payload.evaluate.vision import joinable, read_image
from holdfast.payload.evaluate.work_request import GenerationRequest, ModelRequest
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`
from tests.helpers.tiny_vision import make_tiny_tiles

pytestmark = pytest.mark.train
SIZES = [(64, 64), (64, 20), None, (20, 64)]  # 5 tiles, 3, no image, and 3
GREEDY = GenerationRequest(max_new_tokens=3, stop_strings=[], temperature=0, top_p=1, top_k=0, seed=0)


@pytest.fixture
def generating(tiny: Path, tmp_path: Path) -> Generating:
    """What writes the answers of a tiny Idefics3."""
    make_tiny_tiles(tmp_path / "model", tiny)
    model = str(tmp_path / "model")
    request = ModelRequest(
        model,
        adapter=None,
        tokenizer=model,
        template=None,
        classifies=False,
        is_vision=True,
        is_gguf=False,
        threads=1,
    )
    return Generating(load_model(request), GREEDY)


def test_inputs_of_one_shape_are_joined() -> None:
    """Images of as many tiles share a batch, and so do all images of a processor that cuts them into patches."""
    import torch

    tiled = [{"row": row, "inputs": {"pixel_values": torch.zeros(1, tiles, 2)}} for row, tiles in enumerate((5, 3, 5))]
    patched = [{"row": row, "inputs": {"pixel_values": torch.zeros(patches, 2)}} for row, patches in enumerate((5, 3))]

    assert [[each["row"] for each in rows] for rows in joinable(tiled)] == [[0, 2], [1]]
    assert [[each["row"] for each in rows] for rows in joinable(patched)] == [[0, 1]]


@pytest.mark.long
def test_rows_with_other_numbers_of_tiles_are_answered_as_alone(generating: Generating, tmp_path: Path) -> None:
    """In one batch, beside a row without an image: each row has the answer that it has in a batch of its own."""
    rows = [generating.prepare(row(number, size, tmp_path)) for number, size in enumerate(SIZES)]

    together = generating.run(rows)

    assert sorted(together, key=lambda each: each["row"]) == [generating.run([each])[0] for each in rows]


def row(number: int, size: tuple[int, int] | None, folder: Path) -> dict[str, Any]:
    prompt = [{"role": "user", "content": f"What is {number}?"}]
    if size is None:
        return {"row": number, "prompt": prompt}
    file = folder / f"{number}.png"
    Image.effect_noise(size, 90).save(file)
    return {"row": number, "prompt": prompt, "images": [{"path": str(file), "base64": ""}]}


def test_an_image_that_is_a_program_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For EPS, Pillow starts Ghostscript: here a stand-in, which would leave a file."""
    started = tmp_path / "started"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {started}\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    out = io.BytesIO()
    Image.new("RGB", (20, 10)).save(out, "EPS")

    with pytest.raises(ValueError, match="is not run"):
        read_image({"path": "", "base64": base64.b64encode(out.getvalue()).decode()})
    assert not started.exists()


def test_an_image_that_would_fill_the_memory_is_not_decoded() -> None:
    """A file of some bytes may be an image of gigabytes."""
    small = io.BytesIO()
    Image.new("1", (10_000, 10_000)).save(small, "PNG")

    with pytest.warns(Image.DecompressionBombWarning), pytest.raises(ValueError, match="10,000 x 10,000 pixels"):
        read_image({"path": "", "base64": base64.b64encode(small.getvalue()).decode()})
