"""Which trials a study has: all that its file asks for, each once, and the same ones when more are added."""

import math
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.yaml.render import render_lines
from holdfast.core.errors import GroupedError
from holdfast.core.job.document import Document
from holdfast.core.study.study import RandomTrials, parse_study
from holdfast.core.study.trial import Trial
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study import expansion
from holdfast.engine.study.conditions import holds
from holdfast.engine.study.drawing import draw_settings
from holdfast.engine.study.expansion import FIRST_DRAWS, MOST_MISSES, MOST_TRIALS, expand_trials

KEYS = ("train.learning_rate", "peft.r", "dataset.path", "method")
VALUES = st.one_of(
    st.integers(-3, 3), st.booleans(), st.sampled_from(["a", "b", "1"]), st.sampled_from([0.5, 1.0, 2e-5])
)
GRIDS = st.dictionaries(
    st.sampled_from(KEYS), st.lists(VALUES, min_size=1, max_size=3, unique_by=render_canonical), min_size=1
)
SEEDS = st.lists(st.integers(0, 9), max_size=3, unique=True)


def read(**values: Any) -> Document:
    study = {"job": "job.yaml", "metric": "eval_loss", **values}
    return JobFileReader().read("".join(f"{line}\n" for line in render_lines(study)), "study.yaml")


def expand(**values: Any) -> list[Trial]:
    document = read(**values)
    return expand_trials(parse_study(document), document)


def settings(trials: list[Trial]) -> set[str]:
    return {render_canonical(trial.values) for trial in trials}


@given(grid=GRIDS, seeds=SEEDS)
def test_a_grid_gives_each_combination_with_each_seed_once(grid: dict[str, list[Any]], seeds: list[int]) -> None:
    """Numbered in the order of the file, and each value is where the trial says it is."""
    document = read(grid=grid, seeds=seeds)

    trials = expand_trials(parse_study(document), document)

    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    assert len(settings(trials)) == len(trials) == math.prod(map(len, grid.values())) * max(1, len(seeds))
    for trial in trials:
        assert trial.settings.keys() == grid.keys()
        for key, (_, name, at) in ((key, trial.sources[key]) for key in trial.settings):
            assert grid[str(name)][int(at)] == trial.settings[key]
            assert document.places["grid", name, at].line


@given(grid=GRIDS, key=st.sampled_from(KEYS), value=VALUES, seeds=SEEDS, seed=st.integers(10, 20))
def test_what_is_added_to_a_study_leaves_the_others_as_they_are(
    grid: dict[str, list[Any]], key: str, value: Any, seeds: list[int], seed: int
) -> None:
    """A value more, and a seed more."""
    key = key if key in grid else next(iter(grid))
    wider = {**grid, key: [value, *grid[key]]}

    assert settings(expand(grid=grid, seeds=[21, *seeds])) <= settings(expand(grid=wider, seeds=[21, *seeds, seed]))


@given(few=st.integers(1, 5), more=st.integers(1, 10), seed=st.integers(0, 5))
def test_more_draws_keep_the_first_ones(few: int, more: int, seed: int) -> None:
    """And every value is one that was asked for."""
    values = {
        "train.learning_rate": {"log_uniform": [1e-6, 1e-2]},
        "peft.r": {"choice": [8, 16]},
        "train.weight_decay": {"uniform": [0.0, 0.1]},
        "train.max_steps": {"integers": [3, 5]},
    }
    first = expand(random={"count": few, "values": values, "seed": seed})
    all_ = expand(random={"count": few + more, "values": values, "seed": seed})

    assert [trial.settings for trial in all_][: len(first)] == [trial.settings for trial in first]
    for trial in all_:
        drawn = trial.settings
        assert 1e-6 <= drawn["train.learning_rate"] <= 1e-2
        assert drawn["peft.r"] in (8, 16)
        assert 0 <= drawn["train.weight_decay"] <= 0.1
        assert drawn["train.max_steps"] in (3, 4, 5)


def test_draws_fill_their_range() -> None:
    """Of a logarithmic one, each power of ten is as likely."""
    values = {"a": {"log_uniform": [1e-4, 1e-1]}, "b": {"integers": [1, 3]}}
    drawn = [trial.settings for trial in expand(random={"count": 300, "values": values})]

    assert all(70 < sum(low <= each["a"] < 10 * low for each in drawn) < 130 for low in (1e-4, 1e-3, 1e-2))
    assert all(70 < sum(each["b"] == number for each in drawn) < 130 for number in (1, 2, 3))


@given(grid=GRIDS, data=st.data())
def test_conditions_keep_what_they_say(grid: dict[str, list[Any]], data: st.DataObject) -> None:
    """One of `where` has to hold, and none of `unless`."""
    conditions = st.dictionaries(st.sampled_from(sorted(grid)), VALUES, min_size=1, max_size=2)
    where, unless = data.draw(st.lists(conditions, max_size=2)), data.draw(st.lists(conditions, max_size=2))
    combinations = [dict(zip(grid, chosen, strict=True)) for chosen in product(*grid.values())]
    kept = [
        each
        for each in combinations
        if (not where or any(holds(one, each) for one in where)) and not any(holds(one, each) for one in unless)
    ]

    if kept:
        assert [trial.settings for trial in expand(grid=grid, where=where, unless=unless)] == kept
    else:
        with pytest.raises(GroupedError):
            expand(grid=grid, where=where, unless=unless)


@pytest.mark.parametrize(
    ("condition", "value", "is_held"),
    [
        ({"r": [8, 16]}, 8, True),
        ({"r": {"above": 8}}, 8, False),
        ({"r": {"at_least": 8, "below": 16}}, 8, True),
        ({"r": {"at_most": 8}}, "8", False),
        ({"r": True}, 1, False),
        ({"r": [[1, 2]]}, [1, 2], False),
        ({"r": [1, 2]}, [1, 2], True),
        ({"s": 1}, 1, False),
    ],
)
def test_a_condition_holds_for_values_lists_and_bounds(condition: dict[str, Any], value: Any, is_held: bool) -> None:
    """What YAML tells apart is not the same here."""
    assert holds(condition, {"r": value}) is is_held


@pytest.mark.parametrize("part", ["random", "search"])
@pytest.mark.parametrize(
    ("count", "condition", "left"),
    [
        (MOST_TRIALS, {"unless": {"peft.r": {"above": 0}}}, 0),
        (5000, {"where": {"peft.r": 10}}, 0),
        (3, {"where": {"peft.r": 5}}, 3),
        (20, {"where": {"peft.r": 1, "train.seed": {"at_most": 20_000}}}, 20),
    ],
)
def test_conditions_that_leave_nothing_to_draw_are_told_soon(
    part: str, count: int, condition: dict[str, Any], left: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After as many draws, whatever the count; where one in five hundred fits, all are found."""
    draws = list[int]()

    def draw(drawn: RandomTrials, number: int) -> dict[str, Any]:
        draws.append(number)
        return draw_settings(drawn, number)

    monkeypatch.setattr(expansion, "draw_settings", draw)
    values = {"peft.r": {"integers": [1, 9]}, "train.seed": {"integers": [1, 1_000_000]}}
    asked = {"count": count, "values": values}
    if left:
        assert len(expand(**{part: asked}, **condition)) == min(left, FIRST_DRAWS if part == "search" else left)
        return
    with pytest.raises(GroupedError) as refused:
        expand(**{part: asked}, **condition)
    assert "the conditions leave 0 of" in str(refused.value.exceptions[0])
    assert len(draws) == MOST_MISSES


def test_settings_that_two_parts_give_are_one_trial() -> None:
    """In the order of the file."""
    trials = expand(grid={"peft.r": [8, 16]}, trials=[{"peft.r": 16}, {"peft.r": 4}, {}])

    assert [dict(trial.settings) for trial in trials] == [{"peft.r": 8}, {"peft.r": 16}, {"peft.r": 4}, {}]


def test_seeds_alone_are_a_study() -> None:
    """Of the job as it is: how large is the noise?"""
    assert [(dict(trial.settings), trial.seed) for trial in expand(seeds=[3, 1])] == [({}, 3), ({}, 1)]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "the study has no trial"),
        (
            {"grid": {f"train.k{n}": list(range(10)) for n in range(9)}},
            f"1,000,000,000 trials before its conditions; the most is {MOST_TRIALS:,}",
        ),
        ({"grid": {"seed": [1]}, "seeds": [1]}, "the seed is given twice"),
        ({"seeds": [1, 1]}, "`seeds` lists 1 twice"),
        ({"grid": {"peft.r": [8, 16]}, "seeds": [4, 7, 2, 7]}, "`seeds` lists 7 twice"),
        (
            {"random": {"count": 3, "values": {"peft.r": {"choice": [8]}}}, "unless": {"peft.r": 8}},
            "the conditions leave 0 of the 3 settings to draw",
        ),
    ],
)
def test_what_cannot_be_listed_is_refused(values: dict[str, Any], told: str) -> None:
    """At once, also for a thousand million trials."""
    with pytest.raises(GroupedError) as refused:
        expand(**values)
    assert told in str(refused.value.exceptions[0])
