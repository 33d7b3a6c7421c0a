"""The line that makes the labels, of which no exception tells."""

import pytest

from holdfast.engine.rehearse.labelling import find_labelling

COLLATOR = """def collate(items):
    ids = pad(items)
    labels = torch.full_like(ids, -100)
    labels[:, :-1] = ids[:, 1:]
    {end}


def other(row):
    return {{"text": row["text"]}}
"""


@pytest.mark.parametrize(
    ("end", "line"),
    [
        ('return {"input_ids": ids, "labels": labels}', 4),
        ('batch["labels"] = labels', 4),
        ('batch["labels"] = ids.clone()', 5),
        ('return {"input_ids": ids, "labels": [-100]}', 5),
    ],
)
def test_the_line_that_gives_labels_their_values_is_named(end: str, line: int) -> None:
    """Not the one that only hands them on."""
    found = find_labelling({"train.py": COLLATOR.format(end=end)}, cells=())

    assert found is not None
    assert (found.where, found.function) == (f"train.py:{line}", "collate")


def test_of_several_functions_that_set_labels_none_is_blamed() -> None:
    source = COLLATOR.format(end='return {"labels": labels}')
    assert find_labelling({"a.py": source, "b.py": source}, cells=()) is None
