"""How many faults are found of those that the installed libraries refuse: mutations of good scripts, from a seed."""

from itertools import islice

import pytest

from benchmarks.check_mutations import QUIET, Judged, good_scripts, judged

SAMPLE = 60
ENOUGH = 500
SHARE = 0.97

pytestmark = pytest.mark.train


def refused(seed: int, count: int) -> list[Judged]:
    """Return the first so many mutations that the libraries refuse."""
    return list(islice((each for each in judged(seed) if each.refused), count))


def found(each: Judged) -> bool:
    return bool(each.errors)


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in QUIET.items():
        monkeypatch.setenv(name, value)


def test_there_are_good_scripts_of_each_origin() -> None:
    names = set(good_scripts())

    assert {"sft_lora.py", "trl/scripts/sft.py", "rendered grpo"} <= names


def test_most_faults_are_found() -> None:
    """Of a few; the long test has many."""
    sample = refused(1, SAMPLE)

    assert sum(map(found, sample)) >= SAMPLE * 0.9, [str(each) for each in sample if not found(each)]


@pytest.mark.long
def test_nearly_all_faults_are_found() -> None:
    """The few that are not are listed, by kind, in docs/figures.md."""
    sample = refused(0, ENOUGH)

    assert sum(map(found, sample)) >= ENOUGH * SHARE, [str(each) for each in sample if not found(each)]
