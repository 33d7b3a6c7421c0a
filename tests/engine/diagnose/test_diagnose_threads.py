"""Excerpts of public threads, each judged by how its thread was resolved before `diagnose` ran on it: what is right stays right.

Those of `threads_b.jsonl` are measured and never read, so that a later change has something to be measured by. Nothing but their form is tested.
"""

from pathlib import Path

import pytest

from benchmarks.diagnose_cases import rows, told_of
from holdfast.core.diagnose.diagnosis import NOT_IN_LOG
from holdfast.signatures import all_signatures
from tests.helpers.sampling import sampled

FOLDER = Path(__file__).parents[3] / "benchmarks" / "diagnose"
SETS = ("a", "b", "c", "d", "e", "f")
SEEDS = 3
SURE = 0.9


@pytest.mark.parametrize("name", SETS)
def test_each_case_has_its_thread_its_reason_and_classes(name: str) -> None:
    known = {"unknown", NOT_IN_LOG, *(each.name for each in all_signatures())}
    cases = rows(FOLDER / f"threads_{name}.jsonl")
    assert len({case["id"] for case in cases}) == len(cases)
    for case in cases:
        assert case["url"].startswith("https://github.com/")
        assert case["why"]
        assert case["lines"]
        assert {case["class"], *case.get("also", ())} <= known


RIGHT = {"d": 60, "a": 108, "c": 83, "e": 126, "f": 99}
"""Answers that are right, of the threads of a file."""


@pytest.mark.parametrize("name", sampled(RIGHT, 3))
def test_threads_that_were_widened_by_stay_right(name: str) -> None:
    cases = rows(FOLDER / f"threads_{name}.jsonl")
    told = [told_of(case, 100 * at + seed, bare=False) for at, case in enumerate(cases) for seed in range(SEEDS)]
    decided = [each for each in told if not each.undecidable]
    assert sum(each.is_right for each in told) >= RIGHT[name]
    assert all(each.is_right for each in decided if each.confidence >= SURE and each.diagnosis.verdict == "diagnosed")
