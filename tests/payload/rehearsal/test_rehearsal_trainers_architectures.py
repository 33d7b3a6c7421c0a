"""Jobs of TRL's trainers pass with the twins of many architectures, mixtures of experts and state spaces among them."""

import subprocess
import sys

import pytest

from tests.helpers.fault_world import ROOT
from tests.helpers.rehearsal_jobs import job
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.tiny import quiet_environment
from tests.helpers.tiny_architectures import ARCHITECTURES

pytestmark = [pytest.mark.train, pytest.mark.long]
METHODS = ("GRPO", "SFT", "DPO", "KTO", "Reward")
ALL_METHODS = ("granitemoe",)
"""Architectures that are tried with each method; the others with one each."""
PAIRS = [
    *((name, method) for name in ALL_METHODS for method in METHODS),
    *((name, METHODS[place % len(METHODS)]) for place, name in enumerate(sorted(ARCHITECTURES.keys() - ALL_METHODS))),
]


@pytest.fixture(scope="module", autouse=True)
def made_models(rehearse: Rehearse) -> None:
    """Make the models where the jobs are rehearsed, which `rehearse` has changed to."""
    del rehearse
    command = [sys.executable, "-m", "tests.helpers.tiny_architectures"]
    subprocess.run(command, check=True, capture_output=True, env=quiet_environment(PYTHONPATH=str(ROOT)))


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_a_job_passes_whatever_the_architecture(name: str, method: str, rehearse: Rehearse) -> None:
    """All stages of a training are gone through, and nothing is held against it."""
    found = rehearse(job(f"{name}-{method}".lower(), method, model=f'"work/{name}"', end="trainer.save_model()"))

    assert told(found) == [], [each.cause.cause for each in found.failures]
    stages = {each.name: each.status for each in found.stages}
    assert {stages[each] for each in ("step", "save", "stop", "resume", "export")} == {"pass"}
