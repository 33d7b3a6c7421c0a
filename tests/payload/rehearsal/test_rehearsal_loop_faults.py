"""A loop that trains nothing, or nonsense, is found with its reason; loops that only look like one pass."""

import pytest

from tests.helpers.rehearsal_loop_faults import DOUBTED, LOOP_FAULTS
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train
ORDER = "training-loop-order"
SAID = {
    "loop-emptied-by-its-model": "cleared after `backward`",
    "loop-filled-with-zeros": "cleared after `backward`",
    "loop-without-backward": "never called",
    "loop-without-steps": "no optimizer made a step",
    "loop-of-an-older-model": "for another model",
    "loop-adapted-too-late": "before the model got its adapter",
    "loop-of-a-new-tensor": "depends on no weight",
    "loop-warmed-up-never": "never moves",
    "loop-detached": "cut off from the model",
    "loop-without-gradients": "`torch.no_grad()`",
    "loop-never-cleared": "not cleared",
    "loop-scheduled-never": "never moves",
    "loop-scheduled-first": "before the first",
    "loop-accumulated-whole": "without dividing",
    "loop-divided-twice": "divided by 2 before",
    "loop-of-an-optimizer-unprepared": "after each batch",
    "loop-clipped-before": "clipped before",
    "loop-clipped-after": "clipped before",
    "loop-that-saves-another-model": "weights that training began with",
}
"""What the sentence of each says."""


@pytest.mark.parametrize("name", sampled(LOOP_FAULTS, every=6))
def test_a_loop_is_of_no_use_or_passes(name: str, rehearse: Rehearse) -> None:
    """A bad loop fails once, with its class and its own sentence; a doubtful one warns; a good one does neither."""
    job = LOOP_FAULTS[name]
    found = rehearse(job)
    assert told(found) == ([job.fails] if job.fails else []), [each.cause.cause for each in found.failures]
    doubts = {each.code: each.message for each in found.warnings}
    assert (ORDER in doubts) == (job in DOUBTED), doubts
    sentences = [*(each.cause.cause for each in found.failures), *doubts.values()]
    assert SAID.get(name, "") in " ".join(sentences), sentences
    assert all(each.cause.fix for each in found.failures)
