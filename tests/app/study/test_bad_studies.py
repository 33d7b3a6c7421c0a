"""What is wrong with a study is told before anything starts: what, where, and how to fix it; all of it at once."""

import errno
import os
from typing import Any

import pytest

import holdfast
from holdfast.adapters.storage import journal
from holdfast.app.run import exporting
from holdfast.core.errors import GroupedError, UsageError, flatten
from tests.helpers.quick_training import (
    QuickStudy,
    quick_study,  # noqa: F401 - the fixture `quick`
    run,
)

GRID = {"train.learning_rate": [0.001, 0.01]}


def errors(quick: QuickStudy, **options: Any) -> list[holdfast.HoldfastError]:
    """What the study is refused for; nothing was started."""
    with pytest.raises((holdfast.HoldfastError, ExceptionGroup)) as refused:
        run(quick, **options)
    assert not quick.log.exists()
    found = flatten(refused.value)
    assert all(each.what and str(each.where) and each.fix for each in found)
    return found


def test_thousands_of_trials_need_a_yes(quick: QuickStudy) -> None:
    """The count comes first; a budget is an answer too."""
    quick.write(
        grid={
            "train.learning_rate": [n / 1e5 for n in range(1, 101)],
            "train.weight_decay": [n / 1e3 for n in range(100)],
        }
    )

    (error,) = errors(quick)
    assert "study has 10,000 trials" in error.what
    assert "--yes" in error.fix
    errors(quick, confirm=lambda question: "10,000 trials" not in question)


@pytest.mark.parametrize("choice", [[0.0, 0.1], [0, 1]])
def test_a_proposal_that_the_search_cannot_have_made(quick: QuickStudy, choice: list[Any]) -> None:
    """The file that has it is named, and not the study's."""
    quick.write(search={"count": 30, "values": {"train.weight_decay": {"choice": choice}}})
    (folder := quick.runs / "studies" / "study").mkdir(parents=True)
    (folder / "search.json").write_text('[{"train.weight_decay": 0.05}, {"train.weight_decay": "abc"}]')

    (error,) = errors(quick)
    assert "proposal 2 has 'abc'" in error.what
    assert str(error.where).endswith("search.json")


def test_no_fix_repeats_the_wrong_value(quick: QuickStudy) -> None:
    """What is no number is no correction."""
    quick.write(seeds=[1.5, 1], budget={"hours": float("nan"), "usd": float("inf")}, grid=GRID)

    fixes = [each.fix for each in errors(quick)]
    assert fixes[0] == "write a whole number"
    assert not any(word in fix for fix in fixes for word in ("nan", "inf", "1.5"))


def test_thousands_of_mistakes_are_a_hundred_and_a_count(quick: QuickStudy) -> None:
    """Those of the syntax, and those of the schema."""
    twice = ", ".join(["seed: 1"] * 5000)
    quick.write(seeds=["x"] * 5000)
    for text in (quick.file.read_text(), f"grid: {{{twice}}}\n"):
        quick.file.write_text(text)
        found = errors(quick)
        assert len(found) == 101
        assert found[-1].what.endswith(" more mistakes")


def test_numbers_and_truth_values_are_told_apart_by_type(quick: QuickStudy) -> None:
    """`0`, `0.0` and `false` are three settings, as they are three values of YAML."""
    quick.write(grid={"train.weight_decay": [0, 0.0, False]})

    trials = run(quick, dry_run=True)["trials"]
    assert [repr(each["settings"]["train.weight_decay"]) for each in trials] == ["0", "0.0", "False"]
    assert len({each["content"] for each in trials}) == 3


def test_a_setting_that_the_method_does_not_have(quick: QuickStudy) -> None:
    """The line of the study file, and the trials that have it."""
    quick.write(trials=[{"train.learning_rate": 0.01}, {"train.beta": 0.1}])

    (error,) = errors(quick)
    assert "beta" in error.what
    assert "(trial 2)" in error.what
    assert quick.file.read_text().splitlines()[(error.spot.line or 0) - 1].strip().find("train.beta") >= 0


def test_fractions_for_a_whole_number_are_one_mistake(quick: QuickStudy) -> None:
    """Not one for each trial; the fix names the distribution of whole numbers."""
    batch = {"train.per_device_train_batch_size": {"log_uniform": [1, 8]}}
    quick.write(random={"count": 6, "values": batch})

    (error,) = errors(quick)
    assert "not a whole number" in error.what
    assert "`integers: [1, 8]`" in error.fix
    assert "per_device_train_batch_size" in quick.file.read_text().splitlines()[(error.spot.line or 0) - 1]


def test_choices_are_mistakes_of_their_own(quick: QuickStudy) -> None:
    optimizers = {"train.optim": {"choice": ["adamw_tors", "sgdx"]}}
    quick.write(random={"count": 2, "seed": 1, "values": optimizers}, grid={"train.optim": ["adamw_tors", "sgdx"]})

    assert {word for error in errors(quick) for word in ("adamw_tors", "sgdx") if word in error.what} == {
        "adamw_tors",
        "sgdx",
    }


def test_mistakes_in_the_file_in_its_trials_and_in_their_jobs_come_at_once(quick: QuickStudy) -> None:
    quick.write(
        trials=[{"train.learnin_rate": 0.01}, {"train.max_steps": "none"}, {"train.learning_rate": 0.01}],
        metric="exact_match",
    )

    told = "; ".join(error.what for error in errors(quick))
    for mistake in ("learnin_rate", "max_steps", "exact_match"):
        assert mistake in told


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("exact_match", "the job does not have"),
        ({"name": "eval_los", "direction": "minimize"}, ""),
        ({"name": "lossy", "direction": "minimize"}, "no trial writes a metric called `lossy`"),
    ],
)
def test_a_metric_that_no_trial_writes(quick: QuickStudy, metric: Any, told: str) -> None:
    """What an evaluation logs depends on the data, so an unknown `eval_` is taken as it is."""
    quick.write(grid=GRID, metric=metric)
    if told:
        (error,) = errors(quick)
        assert told in error.what
    else:
        assert run(quick, dry_run=True)["verdict"] == "planned"
    del quick.job["dataset"]["eval_fraction"]
    quick.write(grid=GRID)
    (error,) = errors(quick)
    assert "holds out no rows" in error.what
    assert "eval_fraction" in error.fix


def test_two_trials_that_write_to_one_place(quick: QuickStudy) -> None:
    """The last would overwrite the first."""
    quick.job["output"] = {"push_to": "me/it"}
    quick.write(grid=GRID)

    first, *_ = errors(quick)  # without a token, the push is refused too
    assert "2 trials write to 'me/it'" in first.what


def test_a_dataset_that_one_trial_cannot_use(quick: QuickStudy) -> None:
    """Where the study names it; and everything else that is wrong, too."""
    (quick.folder / "c.jsonl").write_text('{"prompt": "a", "chosen": "b"}\n' * 20)
    quick.write(grid={"dataset.path": ["a.jsonl", "c.jsonl"], "train.learning_rat": [0.1]})

    found = errors(quick)
    by_data = next(each for each in found if "sft cannot train on it" in each.what)
    assert "(trial 2)" in by_data.what
    line = quick.file.read_text().splitlines()[(by_data.spot.line or 0) - 1]
    assert line[(by_data.spot.column or 0) - 1 :].startswith("c.jsonl")
    assert any("did you mean `learning_rate`" in each.what for each in found)


def test_keys_and_values_that_no_job_has(quick: QuickStudy) -> None:
    """Each at its own place in the study file."""
    quick.write(trials=[{"trian.learning_rate": 0.1, "method": "sftt"}, {"train.max_steps.x": 3}])

    found = errors(quick)
    assert {each.spot.path for each in found} == {str(quick.file)}
    assert any("`train`" in each.fix or "trian" in each.what for each in found)
    assert any("sftt" in each.what for each in found)
    assert any("train.max_steps.x" in each.what for each in found)


@pytest.mark.parametrize("part", ["where", "unless"])
@pytest.mark.parametrize(
    ("wanted", "what", "fix"),
    [
        ({"abov": 1e-4}, "unknown bound `abov`", "did you mean `above`?"),
        ({"at-least": 1e-4, "below": 1}, "unknown bound `at-least`", "`at_least`"),
        ({"gt": 1}, "unknown bound `gt`", "above"),
        ({}, "no bound", "above"),
        ([{"above": 1}], "in a list", "a condition for each"),
        ({"above": "x"}, "'x', which is not a number", "1.0e-4"),
        ({"above": "1:30"}, "'1:30', which is not a number", "1.0e-4"),
        ({"below": None}, "None, which is not a number", "1.0e-4"),
        ({"below": [1]}, "[1], which is not a number", "1.0e-4"),
        ({"at_most": True}, "True, which is not a number", "1.0e-4"),
        ({"at_most": float("nan")}, "nan, which is not a number", "1.0e-4"),
    ],
)
def test_bounds_that_are_none(quick: QuickStudy, part: str, wanted: Any, what: str, fix: str) -> None:
    """Of a misspelt one, no trial would be dropped, or all; whatever else is wrong with the trials is told, too."""
    values = {"train.learning_rate": {"log_uniform": [0.001, 0.01]}}
    for varied in (
        {"grid": GRID},
        {"trials": [{"train.learning_rate": 0.01}]},
        {"random": {"count": 2, "values": values}},
    ):
        quick.write(**varied, **{part: [{"train.learning_rate": wanted}]})

        (error,) = errors(quick)
        assert what in error.what
        assert fix in error.fix
        assert quick.file.read_text().splitlines()[(error.spot.line or 0) - 1].strip(" -").startswith((part, "train"))
    quick.write(grid={"seed": [1, 2]}, seeds=[1], **{part: [{"seed": wanted}]})
    assert [what in errors(quick)[0].what, "the seed is given twice" in errors(quick)[1].what] == [True, True]


def test_a_mapping_is_a_value_where_values_are_mappings(quick: QuickStudy) -> None:
    """A condition may name one of them."""
    data = [{"path": name, "eval_fraction": 0.2} for name in ("a.jsonl", "b.jsonl")]
    quick.write(grid={"dataset": data}, unless=[{"dataset": data[0]}])

    assert [each["settings"]["dataset"]["path"][-7:] for each in run(quick, dry_run=True)["trials"]] == ["b.jsonl"]


def test_files_that_are_none(quick: QuickStudy) -> None:
    """No study, a job, a job that is not there, a script."""
    (error,) = errors(quick)
    assert "no such file" in error.what
    quick.file.write_text("method: sft\n")
    (error,) = errors(quick)
    assert "is a job, and no study" in error.what
    for name, told in {"none.yaml": "no such job file", "quick-python": "is not a job file"}.items():
        quick.write(grid=GRID, job=name, where=[{"train.learning_rat": 1}])
        found = errors(quick)
        assert told in " ".join(each.what for each in found)
        assert any("does not vary" in each.what for each in found)


def test_another_study_of_the_same_name(quick: QuickStudy) -> None:
    """Its folder is not written over."""
    quick.write(seeds=[1])
    run(quick)
    other = quick.folder / "other.yaml"
    other.write_text(f"name: study\n{quick.file.read_text()}")

    with pytest.raises(holdfast.UsageError, match="belongs to another file"):
        holdfast.study(other, rehearse=False, offline=True)


def test_money_where_nothing_has_a_price(quick: QuickStudy) -> None:
    """This machine costs nothing that could be counted."""
    quick.write(grid=GRID, budget={"usd": 3.0})

    (error,) = errors(quick)
    assert "has no prices" in error.what


def test_a_full_disk_ends_the_study_and_loses_nothing(quick: QuickStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has run stays; the same command goes on once there is room."""
    quick.write(seeds=[1, 2, 3])
    written, write = 0, journal._write

    def fill(file: int, data: bytes, start: int) -> None:
        nonlocal written
        written += 1
        if written > 12:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, data, start)

    with monkeypatch.context() as full:
        full.setattr(journal, "_write", fill)
        answer = run(quick)
        assert answer["verdict"] == "incomplete"
        assert "No space left on device" in answer["because"]
        assert answer["remaining"]["trials"] > 0
    after = run(quick)
    assert after["verdict"] == "complete"
    assert set(quick.trainings().values()) == {1}


def test_what_an_export_needs_is_looked_at_once(quick: QuickStudy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first trial, on the disk of the runs folder that the study uses; trials do not look again."""
    folders = list[str]()
    missing = [UsageError("there is no C++ compiler", where="GGUF files", fix="install g++")]

    def look(_base: str, _quantizations: object, out: str, **_: object) -> list[str]:
        folders.append(out)
        if missing:
            raise GroupedError("GGUF files cannot be made", missing)
        return []

    monkeypatch.setattr(exporting, "look_at_export", look)
    quick.job["output"] = {"gguf": ["q8_0"]}
    quick.write(grid=GRID)
    elsewhere = quick.folder / "elsewhere"

    assert [each.what for each in errors(quick, dry_run=True, runs=elsewhere)] == ["there is no C++ compiler"]
    missing.clear()
    assert len(run(quick, runs=elsewhere)["trials"]) == 2
    assert folders == [str(elsewhere)] * 2  # once for each command
