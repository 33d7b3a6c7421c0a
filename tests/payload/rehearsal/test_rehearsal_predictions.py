"""A model that is trained to predict the wrong tokens is found with its class; what only looks like it passes."""

import pytest

from tests.helpers.rehearsal_predictions import DOUBTED, PREDICTIONS
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
CLASSES = {"labels-misaligned", "padding-in-loss", "attention-mask-inverted", "token-id-out-of-embedding-range"}


@pytest.mark.parametrize("name", sampled(PREDICTIONS, every=8))
def test_predictions_are_wrong_or_pass(name: str, rehearse: Rehearse) -> None:
    """A bad job fails with its class alone; a doubtful one warns; a good one does neither."""
    job = PREDICTIONS[name]
    found = rehearse(job)
    assert told(found) == ([job.fails] if job.fails else []), [each.cause.cause for each in found.failures]
    assert job.fails or bool(CLASSES & {each.code for each in found.warnings}) == (job in DOUBTED)
    assert all(each.cause.fix for each in found.failures)
