"""Values of a study that look alike, spaces with few values, and proposals that somebody has changed."""

import json
from itertools import product
from typing import Any

import pytest

from holdfast.core.errors import UsageError, flatten
from tests.helpers.quick_training import (
    QuickStudy,
    quick_study,  # noqa: F401 - the fixture `quick`
    run,
)


@pytest.mark.parametrize("part", ["grid", "search"])
def test_values_of_other_types_are_other_settings(quick: QuickStudy, part: str) -> None:
    """As YAML has them: 0 and 0.0 are two, and so are 1 and true."""
    values: dict[str, list[Any]] = {"train.weight_decay": [0, 0.0], "train.gradient_checkpointing": [1, True]}
    searched = {"count": 9, "values": {key: {"choice": each} for key, each in values.items()}}
    quick.write(**{part: values if part == "grid" else searched})
    wanted = sorted(json.dumps(dict(zip(values, each, strict=True))) for each in product(*values.values()))

    for _ in range(2):
        answer = run(quick)
        assert answer["verdict"] == "complete"
        assert sorted(json.dumps(trial["settings"]) for trial in answer["trials"]) == wanted
    assert quick.trainings().total() == len(wanted)


def test_a_range_with_fewer_numbers_than_trials_is_complete_once_all_are_tried(quick: QuickStudy) -> None:
    """Numbers are drawn with six digits, so that this range has two."""
    quick.write(search={"count": 14, "values": {"train.weight_decay": {"uniform": [0.1, 0.100001]}}})

    answer = run(quick)

    assert answer["verdict"] == "complete"
    assert answer["remaining"]["trials"] == 0
    assert len(answer["trials"]) == 2


@pytest.mark.parametrize("value", ["abc", float("nan")])
def test_a_value_that_somebody_wrote_among_the_proposals_is_told_with_its_file(quick: QuickStudy, value: Any) -> None:
    quick.write(search={"count": 14, "values": {"train.learning_rate": {"uniform": [0.1, 0.2]}}})
    folder = quick.runs / "studies" / "study"
    folder.mkdir(parents=True)
    (folder / "search.json").write_text(json.dumps([{"train.learning_rate": value}]))

    with pytest.raises((ExceptionGroup, UsageError)) as refused:
        run(quick, dry_run=True)

    assert {str(error.where) for error in flatten(refused.value)} == {str(folder / "search.json")}
