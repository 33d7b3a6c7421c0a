"""Good jobs drawn at random pass check and rehearsal: whatever is refused here is a bug."""

import pytest

import holdfast
from tests.generated_jobs import generate_job
from tests.rehearsal_jobs import Job
from tests.rehearsing import Rehearse, rehearse_server, told  # noqa: F401 - one is the fixture `rehearse`
from tests.sampling import sampled

pytestmark = pytest.mark.train
COUNT = 320
EVERY = 8
"""One of so many belongs to `make check`."""


@pytest.mark.parametrize("number", sampled(range(COUNT), every=EVERY))
def test_a_good_job_is_not_refused(number: int, rehearse: Rehearse) -> None:
    """No error of check, no failure of a rehearsal, and a resume that was compared wherever there was a step to resume from."""
    job = generate_job(number)
    rehearsal = rehearse(Job(name=job.name, source="", target=job.path, files=job.files))
    assert told(rehearsal) == [], [each.cause.cause for each in rehearsal.failures]
    stages = {each.name: each for each in rehearsal.stages}
    assert stages["resume"].status == "pass" or stages["stop"].status == "not_rehearsed"
    assert stages["resume"].because is None or stages["stop"].status == "not_rehearsed"

    (target,) = holdfast.check([job.path], offline=True)["targets"]
    assert [each for each in target["findings"] if each["severity"] == "error"] == []
