"""Good jobs drawn at random pass check and rehearsal: whatever is refused here is a bug."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from tests.helpers.generated_jobs import GeneratedJob, generate_job
from tests.helpers.rehearsal_jobs import Job
from tests.helpers.rehearsing import Rehearse, rehearsals, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
COUNT = 320
EVERY = 8
"""One of so many belongs to `make check`."""
QUANTIZED = 40
UV = str(Path(sys.executable).with_name("uv"))


@pytest.mark.parametrize("number", sampled(range(COUNT), every=EVERY))
def test_a_good_job_is_not_refused(number: int, rehearse: Rehearse) -> None:
    """No error of check, no failure of a rehearsal, and a resume that was compared wherever there was a step to resume from."""
    assert_not_refused(generate_job(number), rehearse)


@pytest.mark.long
@pytest.mark.parametrize("number", range(QUANTIZED))
def test_a_good_job_with_quantized_weights_is_not_refused(number: int, rehearse_with_bitsandbytes: Rehearse) -> None:
    """Likewise, of a model in 4 or 8 bits under adapters."""
    assert_not_refused(generate_job(number, quantized=True), rehearse_with_bitsandbytes)


@pytest.fixture(scope="module")
def rehearse_with_bitsandbytes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearse]:
    """What rehearses a job where bitsandbytes is installed, beside everything else."""
    packages = tmp_path_factory.mktemp("bitsandbytes")
    command = [UV, "pip", "install", "--quiet", "--no-deps", "--target", str(packages), "bitsandbytes"]
    subprocess.run(command, check=True)
    with rehearsals(tmp_path_factory.mktemp("rehearsals"), PYTHONPATH=str(packages)) as rehearse:
        yield rehearse


def assert_not_refused(job: GeneratedJob, rehearse: Rehearse) -> None:
    """Check and rehearse a job, and see that neither refuses it."""
    rehearsal = rehearse(Job(name=job.name, source="", target=job.path, files=job.files))
    assert told(rehearsal) == [], [each.cause.cause for each in rehearsal.failures]
    stages = {each.name: each for each in rehearsal.stages}
    assert stages["resume"].status == "pass" or stages["stop"].status == "not_rehearsed"
    assert stages["resume"].because is None or stages["stop"].status == "not_rehearsed"

    (target,) = holdfast.check([job.path], offline=True)["targets"]
    assert [each for each in target["findings"] if each["severity"] == "error"] == []
