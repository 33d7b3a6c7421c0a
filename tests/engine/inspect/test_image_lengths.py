"""Rows whose images alone are longer than `max_length`."""

from typing import Any

import pytest

from holdfast.core.job.document import Document
from holdfast.engine.inspect.image_lengths import mark_cut_images

LONG = {3: {"image": 100, "images": 1000}, 5: {"image": 600}, 9: {"images": 2000}}


def document(**values: Any) -> Document:
    return Document(path="job.yaml", kind="job", values=values)


@pytest.mark.parametrize(
    ("values", "rows"),
    [
        ({}, (3, 9)),
        ({"method": "sft", "train": {}}, (3, 9)),
        ({"method": "sft", "train": {"max_length": 500}}, (3, 5, 9)),
        ({"method": "sft", "train": {"max_length": None}}, ()),
        ({"method": "dpo", "train": {}}, ()),
    ],
)
def test_rows_beyond_the_length_that_the_training_keeps(values: dict[str, Any], rows: tuple[int, ...]) -> None:
    """By the job's `max_length`, else TRL's own default of 1,024; the images of both columns stand in one row."""
    marked = mark_cut_images(LONG, document(**values))

    assert tuple(row for each in marked for row in each.rows) == rows


def test_the_column_that_holds_the_images_is_named() -> None:
    """Also if there is another column of images before it."""
    (marked,) = mark_cut_images(LONG, document())

    assert (marked.column, marked.count) == ("images", 2)
    assert marked.detail == "2,000 tokens, more than `max_length` (1,024)"
