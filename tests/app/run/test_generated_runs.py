"""Generated jobs train for real: stopped or killed halfway and resumed, each ends with the weights of an uninterrupted run."""

from itertools import count, islice
from pathlib import Path

import pytest

from tests.helpers.fault_world import ROOT
from tests.helpers.generated_jobs import GeneratedJob, generate_job
from tests.helpers.run_place import PATIENCE_S, Place, quiet_runs, weights
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.long]
COUNT = 12
STEPS = range(8, 61)
"""Of jobs that are long enough to be interrupted, and soon over."""

PACKED = 200_000
"""Tokens in packed rows, which are as long as the model allows: a processor takes minutes for more."""


def runnable(job: GeneratedJob) -> bool:
    """Whether a job is over in a minute or so on a processor."""
    train = job.values["train"]
    batch = train["per_device_train_batch_size"] * train.get("gradient_accumulation_steps", 1)
    packed = job.steps * batch * train.get("max_length", 1024) if train.get("packing") else 0
    short = train.get("max_completion_length", 0) < 64 and packed < PACKED
    return short and job.steps in STEPS and len(job.rows) < 500


NUMBERS = [*islice((number for number in count() if runnable(generate_job(number))), COUNT)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", NUMBERS)
def test_an_interrupted_job_ends_with_the_same_weights(number: int, tiny: Path, tmp_path: Path) -> None:
    """Odd ones are killed with SIGKILL, even ones are stopped."""
    job = generate_job(number)
    straight, broken = (make_place(tmp_path / name, job, tiny) for name in ("straight", "broken"))
    code, whole, err = straight.type("run", job.path)
    assert code == 0, err

    running = broken.start("run", job.path, "--format", "json")
    broken.wait_for(lambda: broken.steps() >= whole["attempts"][0]["steps"] // 2, running)
    if number % 2:
        for process in broken.training_processes():
            process.kill()
    else:
        broken.type("stop", job.name)
    running.communicate(timeout=PATIENCE_S)
    code, resumed, err = broken.type("resume", job.name)
    assert (code, len(resumed["attempts"])) == (0, 2), err
    assert weights(resumed) == weights(whole) != {}


def make_place(folder: Path, job: GeneratedJob, tiny: Path) -> Place:
    """Return a folder with the job in it."""
    for path, text in job.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "work").mkdir()
    (folder / "work" / "tiny").symlink_to(tiny)
    return Place(folder, quiet_runs(folder / "cache") | {"PYTHONPATH": str(ROOT)})
