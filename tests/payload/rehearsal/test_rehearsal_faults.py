"""What a rehearsal finds in jobs of all kinds, and that it lets good ones pass, TRL's own scripts among them."""

import re

import pytest

from tests.helpers.rehearsal_faults import FAULTS
from tests.helpers.rehearsal_good import GOOD_JOBS
from tests.helpers.rehearsal_jobs import job
from tests.helpers.rehearsal_trl import OFFICIAL
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
JOBS = {**FAULTS, **GOOD_JOBS, **OFFICIAL}


def test_the_set_is_large() -> None:
    """Faults of all methods, and good jobs beside them."""
    sources = "".join(each.source for each in FAULTS.values())
    assert len(FAULTS) >= 70
    assert len(GOOD_JOBS) >= 30
    assert all(f"{method}Trainer" in sources for method in ("SFT", "DPO", "KTO", "Reward", "GRPO", "RLOO"))


@pytest.mark.parametrize("name", sampled(FAULTS, every=20))
def test_a_fault_is_found(rehearse: Rehearse, name: str) -> None:
    """It is found at its stage, with its class."""
    found = rehearse(FAULTS[name])
    assert FAULTS[name].fails in told(found)
    assert not found.passed


LONG_PROMPTS = '{"prompt": "Read the rules. " * 9, "completion": " Yes."}'


@pytest.mark.parametrize(("method", "row"), [("DPO", ""), ("SFT", LONG_PROMPTS)])
def test_a_length_that_cuts_off_every_answer_is_the_cause(rehearse: Rehearse, method: str, row: str) -> None:
    """Nothing is trained on: the mask is right, and `max_length` is not. It is named before what follows from it."""
    failures = rehearse(job("answers-cut-off", method, row=row, settings="max_length=8")).failures
    failure = failures[0]
    assert failure.cause.signature.name == "completion-mask-drops-everything"
    assert "max_length=8" in failure.cause.cause
    assert "`max_length`" in failure.cause.fix


def test_the_length_that_is_advised_lets_the_answers_in(rehearse: Rehearse) -> None:
    """The rehearsal of the same job passes with it."""
    failure = rehearse(job("answers-cut-off-sft", "SFT", row=LONG_PROMPTS, settings="max_length=8")).failures[0]
    (advised,) = re.findall(r"`max_length` to (\d+), the length of the longest row", failure.cause.fix)
    assert told(rehearse(job("answers-fit", "SFT", row=LONG_PROMPTS, settings=f"max_length={advised}"))) == []


@pytest.mark.parametrize("name", sampled(GOOD_JOBS, every=16))
def test_a_good_job_passes(rehearse: Rehearse, name: str) -> None:
    """Nothing is held against it, and what it trains with is gone through."""
    found = rehearse(GOOD_JOBS[name])
    assert told(found) == []
    stages = {each.name: each.status for each in found.stages}
    if "Trainer(" in GOOD_JOBS[name].source and name != "only-evaluates":
        assert stages["step"] == stages["stop"] == stages["resume"] == "pass"


@pytest.mark.parametrize("name", sampled(OFFICIAL, every=20))
def test_own_scripts_of_trl(rehearse: Rehearse, name: str) -> None:
    """`trl sft` and the others, and their files: all stages of a training are gone through."""
    found = rehearse(OFFICIAL[name])
    assert told(found) == ([OFFICIAL[name].fails] if OFFICIAL[name].fails else [])
    if not OFFICIAL[name].fails:
        stages = {each.name: each.status for each in found.stages}
        assert all(stages[each] == "pass" for each in ("data", "model", "step", "save", "stop", "resume", "export"))
