"""A study that searches: it comes near the best, goes on after an interruption, and tries nothing twice."""

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from msgspec import convert

import holdfast
from holdfast.adapters.storage.study_folder import PROPOSED
from holdfast.app.study.effects import effects_of_study
from holdfast.app.study.observing import NullStudyObserver
from holdfast.cli.text.study import render_study
from holdfast.core.errors import GroupedError, UsageError, flatten
from holdfast.core.study.trial import TrialOutcome
from holdfast.ports import Order
from holdfast.results.study import StudyResult
from tests.helpers.quick_training import (
    QuickStudy,
    quick_study,  # noqa: F401 - the fixture `quick`
    run,
)

RATES = {"train.learning_rate": {"log_uniform": [1e-4, 0.1]}}
"""The best is 0.01: see `quick_training`."""


def rates(answer: dict[str, Any]) -> list[float]:
    return [trial["settings"]["train.learning_rate"] for trial in answer["trials"]]


@pytest.mark.long
def test_every_proposal_runs_once(quick: QuickStudy) -> None:
    """Each setting runs once with every seed. A second start runs nothing, a larger count goes on."""
    quick.write(search={"count": 12, "values": RATES}, seeds=[1, 2], parallel=6)

    answer = run(quick)

    assert answer["verdict"] == "complete"
    assert len(answer["trials"]) == quick.trainings().total() == 24
    assert len(set(rates(answer))) == 12
    proposed = json.loads((Path(answer["folder"]) / PROPOSED).read_text())
    assert [each["train.learning_rate"] for each in proposed] == rates(answer)[20::2]
    assert run(quick)["best"] == answer["best"]
    assert quick.trainings().total() == 24

    quick.write(search={"count": 13, "values": RATES}, seeds=[1, 2])
    assert run(quick, show=True)["remaining"]["trials"] == 2
    assert rates(run(quick))[:24] == rates(answer)
    assert quick.trainings().total() == 26


class StopAfter(NullStudyObserver):
    """Stops a study after some trials."""

    def __init__(self, count: int) -> None:
        self.left = count

    def on_ended(self, outcome: TrialOutcome) -> None:  # noqa: ARG002 - as the protocol has it
        self.left -= 1

    def take(self) -> Order | None:
        return "stop" if self.left <= 0 else None


def test_a_search_that_was_stopped_goes_on_from_what_it_knows(quick: QuickStudy) -> None:
    """Its proposals are the same as without the interruption, even if the list of them was lost."""
    quick.write(search={"count": 12, "values": RATES})
    stopped = run(quick, observer=StopAfter(11))
    assert stopped["verdict"] == "incomplete"
    assert stopped["remaining"]["trials"] == 12 - quick.trainings().total()
    (Path(stopped["folder"]) / PROPOSED).unlink()

    answer = run(quick)

    assert answer["verdict"] == "complete"
    assert set(quick.trainings().values()) == {1}
    assert quick.trainings().total() == len(answer["trials"]) == 12


@pytest.mark.long
def test_a_search_is_the_same_wherever_it_runs(quick: QuickStudy) -> None:
    """One after the other, its proposals depend on results alone; and most are nearer to the best than its first draws."""
    quick.write(search={"count": 24, "values": RATES})
    answer, again = (run(quick, runs=quick.folder / name) for name in ("here", "there"))
    assert rates(answer) == rates(again)
    drawn, proposed = ([abs(rate - 0.01) for rate in part] for part in (rates(answer)[:10], rates(answer)[10:]))
    assert median(proposed) < median(drawn)


@pytest.mark.long
def test_a_small_space_is_tried_whole_and_no_more(quick: QuickStudy) -> None:
    """What a grid has tried there counts; what conditions leave out does not."""
    space = {"train.learning_rate": {"choice": [0.001, 0.01, 0.02]}, "seed": {"integers": [1, 4]}}
    grid = {"train.learning_rate": [0.001], "seed": [1, 2]}
    quick.write(grid=grid, search={"count": 500, "values": space}, unless={"seed": 3}, parallel=3)

    answer = run(quick)

    assert answer["verdict"] == "complete"
    assert len(answer["trials"]) == quick.trainings().total() == 9
    assert set(quick.trainings().values()) == {1}


def test_a_budget_ends_a_search(quick: QuickStudy) -> None:
    """The trials that it would still have proposed are left to run."""
    quick.write(search={"count": 40, "values": RATES}, budget={"trials": 12}, parallel=4)
    answer = run(quick)
    assert answer["verdict"] == "limited"
    assert (quick.trainings().total(), answer["remaining"]["trials"]) == (12, 28)


def test_many_proposals_need_a_yes(quick: QuickStudy) -> None:
    """They count before they are known."""
    quick.write(search={"count": 60, "values": RATES}, seeds=[1, 2])
    with pytest.raises(UsageError, match="120 trials"):
        run(quick)


def test_whatever_a_search_may_propose_is_checked_before_it_starts(quick: QuickStudy) -> None:
    """The last of many choices, and an end of a range that no draw comes near."""
    choices = [*(f"{name}.jsonl" for name in ("a", "b")), *("a.jsonl",) * 30, "gone.jsonl"]
    values = {"dataset.path": {"choice": choices}, "train.per_device_train_batch_size": {"integers": [0, 999]}}
    quick.write(search={"count": 12, "values": values})

    with pytest.raises(GroupedError) as caught:
        run(quick)

    told = {(error.what, error.spot.line) for error in flatten(caught.value)}
    lines = quick.file.read_text().splitlines()
    for word, key in (
        ("gone.jsonl", "dataset.path:"),
        ("per_device_train_batch_size", "train.per_device_train_batch_size:"),
    ):
        line = next(number for number, text in enumerate(lines, start=1) if key in text)
        assert any(word in what and at is not None and abs(at - line) <= len(choices) for what, at in told), told
    assert not any("trial 0" in what for what, _ in told)
    assert not quick.trainings()


def test_an_agent_is_asked_about_every_place_that_a_search_may_choose(quick: QuickStudy) -> None:
    """Also the one that no first draw has."""
    values = {"where.backend": {"choice": ["local"] * 50 + ["hf-jobs"]}, **RATES}
    quick.write(search={"count": 12, "values": values})
    assert effects_of_study(quick.file).costs


@pytest.mark.long
def test_other_keys_are_another_search(quick: QuickStudy) -> None:
    """Ranges may change: what lies outside of them stays in the table."""
    quick.write(search={"count": 11, "values": RATES}, parallel=5)
    first = run(quick)
    quick.write(search={"count": 12, "values": {"train.learning_rate": {"log_uniform": [5e-3, 0.02]}}})
    narrower = run(quick)
    assert set(rates(first)[10:]) <= set(rates(narrower))
    assert all(5e-3 <= rate <= 0.02 for rate in set(rates(narrower)) - set(rates(first)))

    quick.write(search={"count": 12, "values": {**RATES, "train.weight_decay": {"uniform": [0, 0.1]}}})
    with pytest.raises(UsageError, match="weight_decay was added or removed") as caught:
        run(quick)
    assert "another `name`" in caught.value.fix


@pytest.mark.parametrize("text", ["{", "[1]", "[[]]", '"a"', "[" * 100])
def test_a_damaged_list_of_proposals_is_refused(quick: QuickStudy, text: str) -> None:
    """With what to do about it."""
    quick.write(search={"count": 11, "values": RATES}, name="damaged")
    folder = quick.runs / "studies" / "damaged"
    folder.mkdir(parents=True)
    (folder / PROPOSED).write_text(text)
    with pytest.raises(UsageError, match="cannot be read") as caught:
        run(quick)
    assert str(folder / PROPOSED) in str(caught.value.where)
    assert "delete it" in caught.value.fix


@pytest.mark.long
def test_a_trial_that_fails_is_not_proposed_again(quick: QuickStudy) -> None:
    """It counts, and the search goes on."""
    space = {"train.learning_rate": {"choice": [0.5, 0.01, 0.02, 0.03]}, "seed": {"integers": [1, 4]}}
    quick.write(search={"count": 14, "values": space}, parallel=5)
    answer = run(quick, despite="CMB106")
    assert answer["verdict"] == "failed"
    assert len(answer["trials"]) == 14
    assert set(quick.trainings().values()) == {1}
    assert all(each["settings"]["train.learning_rate"] == 0.5 for each in answer["failed"])


def test_without_optuna_it_says_what_to_install(quick: QuickStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is started."""
    monkeypatch.setattr("holdfast.app.extras.find_spec", lambda _: None)
    quick.write(search={"count": 11, "values": RATES})
    with pytest.raises(UsageError, match="optuna") as caught:
        holdfast.study(quick.file, dry_run=True)
    assert "[study]'" in caught.value.fix


def test_a_trial_that_falls_behind_is_stopped_and_says_why(quick: QuickStudy) -> None:
    """It is no failure, is not started again, and its run says the same."""
    slow = QuickStudy(quick.folder, seconds=2.0)
    slow.write(
        trials=[{"train.learning_rate": rate} for rate in (0.02, 0.05, 0.01)], prune={"min_steps": 1, "factor": 2}
    )

    answer = run(slow)

    assert (answer["verdict"], answer["failed"]) == ("complete", [])
    assert [trial["stage"] for trial in answer["trials"]] == ["succeeded", "pruned", "succeeded"]
    pruned = answer["trials"][1]
    assert "at step 1 its eval_loss of 6.25 is not among the best of 2 trials" in pruned["pruned"]
    assert [setting["verdict"] for setting in answer["settings"]] == ["best", "unknown", "pruned"]
    shown = holdfast.show(pruned["run"], runs=slow.runs)
    assert shown["stage"] == "cancelled"
    assert "stopped by its study" in shown["because"]
    assert pruned["pruned"] in (slow.runs / "studies" / "study" / "report.html").read_text()
    assert pruned["pruned"] in render_study(convert(answer, StudyResult))
    assert run(slow)["trials"] == answer["trials"]
    assert slow.trainings().total() == 3


def test_nothing_can_be_pruned_by_a_metric_that_is_known_at_the_end(quick: QuickStudy) -> None:
    """It is said before anything starts."""
    quick.job["evaluate"] = [{"dataset": "a.jsonl", "metric": "exact_match"}]
    quick.write(seeds=[1, 2], metric="exact_match", prune={"min_steps": 1})
    with pytest.raises(GroupedError) as caught:
        run(quick)
    assert any("`exact_match` is not known while a trial runs" in error.what for error in flatten(caught.value))


@pytest.mark.parametrize(("steps", "told"), [(16, True), (17, False), (-1, False)])
def test_a_rung_that_no_trial_reaches_is_reported(quick: QuickStudy, steps: int, told: bool) -> None:
    """With the numbers; a job whose steps follow from its epochs may reach it."""
    quick.job["train"] |= {"max_steps": steps}
    quick.write(seeds=[1, 2], prune={"min_steps": 16})
    if not told:
        run(quick, dry_run=True)
        return
    with pytest.raises(GroupedError) as caught:
        run(quick, dry_run=True)
    (error,) = flatten(caught.value)
    assert error.what == "`prune.min_steps` is 16, but a trial has 16 steps, so that none is ever pruned"
    assert error.spot.line == next(
        at for at, text in enumerate(quick.file.read_text().splitlines(), 1) if "min_steps" in text
    )
