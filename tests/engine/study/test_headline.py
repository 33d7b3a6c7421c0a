"""What a study says of its best setting: as much as its seeds show."""

from collections.abc import Sequence

import pytest

from holdfast.core.plan.estimate import Interval
from holdfast.core.run.event import RunStage
from holdfast.core.study.study import Study
from holdfast.core.study.trial import Trial, TrialOutcome
from holdfast.engine.study.answers import StudyState, study_result
from holdfast.engine.study.headline import describe_certainty, describe_difference, describe_remaining
from holdfast.engine.study.spending import NOTHING_LEFT, estimate_remaining
from holdfast.engine.units import render_counted


def certainty(*values: list[float]) -> str:
    """Return what is said of settings with these values, one for each seed."""
    return describe_certainty(study_result(state(values)))


def state(values: Sequence[list[float]], elsewhere: int | None = None) -> StudyState:
    """Return a study with such settings, one of them measured on other rows."""
    study = Study.model_validate({"job": {"method": "sft"}, "metric": "eval_loss", "seeds": [1, 2, 3]})
    trials = [
        Trial(number=1 + at * 10 + seed, settings={"peft.r": at}, seed=seed)
        for at, each in enumerate(values)
        for seed in range(len(each))
    ]
    outcomes = [
        TrialOutcome(
            trial=trial,
            run=str(trial.number),
            stage=RunStage.SUCCEEDED,
            value=value,
            rows="x" if trial.settings["peft.r"] == elsewhere else "",
        )
        for trial, value in zip(trials, [value for each in values for value in each], strict=True)
    ]
    return StudyState(name="s", study=study, outcomes=outcomes, remaining=NOTHING_LEFT, runs="r", folder="f")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([[2.0, 2.01, 1.99], [3.0, 3.02, 3.0]], "1 other setting: 1 did worse (p < 0.05)"),
        ([[1.8, 2.4, 2.0], [1.7, 2.6, 2.1]], "1 other setting: 1 may be as good; more"),
        ([[2.0], [3.0], [4.0]], "2 other settings: 2 cannot be compared; more"),
        (
            [[1.8, 2.4, 2.0], [1.7, 2.6, 2.1], [5.0]],
            "2 other settings: 1 may be as good, 1 cannot be compared; more",
        ),
        (
            [[2.0, 2.01, 1.99], [3.0, 3.02, 3.0], [4.0, 4.02, 4.0], [2.0, 2.02, 2.01], [5.0]],
            "4 other settings: 2 did worse (p < 0.05), 1 may be as good, 1 cannot be compared; more",
        ),
        ([[1.0, 2.0]], ""),
        ([], ""),
    ],
)
def test_the_best_is_certain_only_where_others_are_worse(values: list[list[float]], said: str) -> None:
    """Within noise, or without seeds, another setting may be the better one, and more seeds tell."""
    text = certainty(*values)
    assert text.startswith(said)
    assert bool(text) == bool(said)
    assert text.endswith("; more `seeds` would tell") == ("may be" in text or "cannot" in text)


@pytest.mark.parametrize(("others", "said"), [(1, "1 did worse (p < 0.05), "), (0, "")])
def test_settings_measured_on_other_rows_are_not_called_worse(others: int, said: str) -> None:
    """More seeds would not help."""
    result = study_result(
        state([[2.0, 2.01, 1.99], *[[3.0, 3.02, 3.0]] * others, [4.0, 4.02, 4.0]], elsewhere=others + 1)
    )

    assert (
        describe_certainty(result) == f"{render_counted(others + 1, 'other setting')}: {said}1 measured on other rows"
    )
    assert describe_difference(result.settings[-1]).startswith("other rows: +2")


@pytest.mark.parametrize(
    ("count", "permitted", "said"),
    [
        (4, 4, "4 trials to run, 2 shapes of job"),
        (4, 1, "4 trials to run, 1 within the budget, 2 shapes of job"),
        (4, 0, "4 trials left, none within the budget"),
    ],
)
def test_what_is_left_to_run_is_what_the_budget_permits(count: int, permitted: int, said: str) -> None:
    """Its time and its cost too."""
    lines = describe_remaining(
        estimate_remaining(count, permitted, 2, 1, Interval(60, 60, 60), 60.0, because="the plan")
    )

    first, *others = lines
    assert first == said
    costs = [f"${permitted}.00 to ${permitted}.00"] if permitted else []
    assert others[1:] == costs
