"""What a search proposes: nearer to the best than chance, within its space and its conditions, and nothing twice."""

import math
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import pytest

from holdfast.core.study.study import Study
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.drawing import draw_settings
from holdfast.engine.study.proposing import count_left, propose_setting
from holdfast.engine.study.searched import SearchedSetting, is_searched

SPACE = {
    "train.learning_rate": {"log_uniform": [1e-7, 1e-1]},
    "train.warmup_ratio": {"uniform": [0.0, 0.5]},
    "peft.r": {"integers": [1, 64]},
    "peft.target_modules": {"choice": [["q_proj"], ["q_proj", "v_proj"], "all-linear"]},
}


def study_of(space: Mapping[str, Any], *, seed: int = 0, direction: str = "minimize", **values: Any) -> Study:
    metric = {"name": "figure", "direction": direction}
    search = {"count": 40, "values": space, "seed": seed}
    return Study.model_validate({"job": {"method": "sft"}, "metric": metric, "search": search, **values})


def loss(settings: Mapping[str, Any]) -> float:
    """Return a loss whose least value is 0."""
    rate, warm, rank = (float(settings[key]) for key in ("train.learning_rate", "train.warmup_ratio", "peft.r"))
    modules = {"all-linear": 0.0}.get(render_canonical(settings["peft.target_modules"]).strip('"'), 1.0)
    return (math.log10(rate) + 4) ** 2 + 10 * (warm - 0.1) ** 2 + abs(rank - 16) / 16 + modules


def searched(study: Study, value_of: Callable[[Mapping[str, Any]], float | None]) -> list[SearchedSetting]:
    """Return what a search tries: ten draws, and what it proposes."""
    search = study.search
    assert search
    tried: list[SearchedSetting] = []
    for number in range(search.count):
        settings = draw_settings(search, number) if number < 10 else propose_setting(study, search, tried)
        if settings is None:
            break
        tried.append(SearchedSetting(settings, value_of(settings), is_running=False))
    return tried


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_it_comes_nearer_than_chance(direction: str) -> None:
    """On the mean of three seeds, the best of forty settings is better than the best of forty draws."""
    sign = 1 if direction == "minimize" else -1
    proposed, drawn = list[float](), list[float]()
    for seed in (1, 2, 3):
        study = study_of(SPACE, seed=seed, direction=direction)
        search = study.search
        assert search
        values = [each.value for each in searched(study, lambda settings: sign * loss(settings))]
        proposed.append(min(sign * each for each in values if each is not None))
        drawn.append(min(loss(draw_settings(search, number)) for number in range(40)))
    assert fmean(proposed) < fmean(drawn)


def test_it_proposes_what_it_may_and_nothing_twice() -> None:
    """Kinds of values stay: a whole number is one, a list is one, `true` is not 1."""
    space = {**SPACE, "train.packing": {"choice": [True, False, 1, None]}}
    unless = [{"peft.r": {"above": 32}}, {"train.packing": None}]
    study = study_of(space, unless=unless)
    tried = searched(study, loss)[10:]
    assert len({render_canonical(each.settings) for each in tried}) == len(tried) == 30
    for each in tried:
        assert study.search
        assert is_searched(study.search, each.settings)
        assert type(each.settings["peft.r"]) is int
        assert each.settings["peft.r"] <= 32
        assert each.settings["train.packing"] is not None
        assert 1e-7 <= each.settings["train.learning_rate"] <= 1e-1
    assert {type(each.settings["train.packing"]) for each in tried} <= {bool, int}


def test_failures_and_running_settings_are_no_reason_to_stop() -> None:
    """It goes on without any value, and looks elsewhere while a setting runs."""
    study = study_of(SPACE)
    search = study.search
    assert search
    tried = [SearchedSetting(draw_settings(search, number), None, is_running=number % 2 == 0) for number in range(12)]
    assert propose_setting(study, search, tried) not in [None, *(each.settings for each in tried)]


@pytest.mark.parametrize(
    ("space", "conditions", "most"),
    [
        ({"a": {"choice": [1, 2, 2, 1.0]}}, {}, 3),
        ({"a": {"integers": [1, 3]}, "b": {"choice": ["x", "y"]}}, {}, 6),
        ({"a": {"integers": [1, 3]}, "b": {"choice": ["x", "y"]}}, {"unless": {"a": 2, "b": "x"}}, 5),
        ({"a": {"integers": [1, 3]}, "b": {"choice": ["x", "y"]}}, {"where": {"a": {"at_least": 3}}}, 2),
        ({"a": {"integers": [1, 10**9]}}, {}, 40),
        ({"a": {"uniform": [0.0, 1.0]}}, {}, 40),
    ],
)
def test_a_space_is_tried_whole_and_no_more(space: Any, conditions: dict[str, Any], most: int) -> None:
    """As many settings are left as it still finds."""
    study = study_of(space, **conditions)
    assert count_left(study, []) == most
    search = study.search
    assert search
    tried: list[SearchedSetting] = []
    for left in range(min(most, 12), 0, -1):
        settings = propose_setting(study, search, tried)
        assert settings is not None
        tried.append(SearchedSetting(settings, 1.0, is_running=False))
        assert most > 12 or count_left(study, [each.settings for each in tried]) == left - 1
    assert most > 12 or propose_setting(study, search, tried) is None


def test_what_lies_elsewhere_is_not_of_the_search() -> None:
    """Another key, a value out of range, another kind of value."""
    search = study_of(SPACE).search
    assert search
    inside = draw_settings(search, 0)
    assert is_searched(search, inside)
    for key, value in [("peft.r", 65), ("peft.r", 3.0), ("peft.r", True), ("train.warmup_ratio", "0.1"), ("seed", 1)]:
        assert not is_searched(search, {**inside, key: value})
    assert not is_searched(search, {"peft.r": 8})
