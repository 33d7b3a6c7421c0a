"""What ends well and is of no use is found; what only looks like it passes."""

import pytest

from tests.helpers.rehearsal_green import DOUBTED, GREEN
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", sampled(GREEN, every=21))
def test_job_is_of_no_use_or_passes(name: str, rehearse: Rehearse) -> None:
    """The first failure of a bad one is at its stage with its class; a good one has none."""
    found = rehearse(GREEN[name])
    failed = told(found)
    assert failed[:1] == ([GREEN[name].fails] if GREEN[name].fails else []), [
        each.cause.cause for each in found.failures
    ]
    if name in DOUBTED:
        assert DOUBTED[name] in {each.code for each in found.warnings}
