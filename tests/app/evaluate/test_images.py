"""Images of rows that are evaluated: what cannot be given to a model is left out, and named."""

from pathlib import Path

import pytest

from holdfast.app.evaluate.images import with_images
from holdfast.core.evaluation import Example
from holdfast.engine.evaluate.reading import ReadRows


def test_a_row_with_an_image_that_no_model_can_get_is_left_out(tmp_path: Path) -> None:
    """One that would fill the memory, one that is no image, and one that is not there."""
    pillow = pytest.importorskip("PIL.Image")
    for name, size in (("small", (9, 9)), ("large", (10_000, 10_000))):
        pillow.new("1", size).save(tmp_path / f"{name}.png")
    (tmp_path / "text.png").write_text("no image")
    names = ("large", "small", "text", "absent")
    examples = tuple(Example(row=at, columns={"image": f"{name}.png"}) for at, name in enumerate(names))

    read = with_images(ReadRows(examples=examples, unfit=0, first=(), because=""), str(tmp_path))

    assert [each.row for each in read.examples] == [1]
    assert (read.unfit, read.first) == (3, (0, 2, 3))
    assert "10,000 x 10,000 pixels" in read.because
