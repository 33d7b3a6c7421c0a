"""Good scripts drawn at random, in the ways that people write them, pass check and rehearsal: whatever is refused here is a bug."""

import pytest

import holdfast
from tests.helpers.generated_scripts import generate_script
from tests.helpers.rehearsal_jobs import Job
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
COUNT = 110
EVERY = 10
"""One of so many belongs to `make check`: one of each style."""


@pytest.mark.parametrize("number", sampled(range(COUNT), every=EVERY))
def test_a_good_script_is_not_refused(number: int, rehearse: Rehearse) -> None:
    """No error of check, and no failure of a rehearsal."""
    script = generate_script(number)
    job = Job(
        name=script.name,
        source=script.source,
        suffix=script.suffix,
        arguments=script.arguments,
        files=script.files,
        local=script.is_local,
    )
    rehearsal = rehearse(job)
    assert told(rehearsal) == [], [each.cause.cause for each in rehearsal.failures]
    assert next(each for each in rehearsal.stages if each.name == "step").status == "pass"

    if script.source:
        path = f"{script.name}{script.suffix}"
        (target,) = holdfast.check([path], arguments=script.arguments, offline=True)["targets"]
        assert [each for each in target["findings"] if each["severity"] == "error"] == []
