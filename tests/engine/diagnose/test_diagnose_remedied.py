"""The next failure of a run that a remedy changed is diagnosed for itself."""

import pytest

from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.history import CHANGED, RunHistory
from holdfast.engine.recover.policy import CERTAIN
from holdfast.signatures import all_signatures

LOG = """\
[transformers] Warning: The following arguments do not match the ones in the `trainer_state.json` within the checkpoint directory:
\tper_device_train_batch_size: 4 (from args) != 8 (from trainer_state.json)
Traceback (most recent call last):
  File "/usr/lib/python3.11/site-packages/transformers/trainer.py", line 1909, in _run_epoch
    tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. \
Including non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is allocated by PyTorch, and \
921.10 MiB is reserved by PyTorch but unallocated.
"""


@pytest.mark.parametrize(("changed", "first"), [(True, "cuda-oom-train-step"), (False, CHANGED)])
def test_settings_that_holdfast_changed_are_no_cause(changed: bool, first: str) -> None:
    """Transformers warns of them at each resume; without that, memory that ran out again is certain enough for another change."""
    patterns = PatternIndex(RunHistory(files=[], changed=changed).possible(all_signatures()))
    cause = diagnose(read_log([("stderr.log", iter([LOG.encode()]))], patterns.sought), patterns).causes[0]

    assert cause.signature.name == first
    assert not changed or cause.confidence >= CERTAIN
