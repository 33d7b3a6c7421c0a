"""Loops of the script's own are gone through as a trainer's are; what they do wrong is found, what they do right passes."""

from pathlib import Path

import pytest

from tests.helpers.rehearsal_loops import ALL
from tests.helpers.rehearsal_parts import play
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.sampling import sampled

pytestmark = pytest.mark.train


@pytest.mark.parametrize("name", sampled(ALL, every=10))
def test_job_fails_as_it_should_or_passes(name: str, rehearse: Rehearse) -> None:
    """The only failure of a bad one is at its stage with its class; a good one has none."""
    found = rehearse(ALL[name])
    assert told(found) == ([ALL[name].fails] if ALL[name].fails else []), [each.cause.cause for each in found.failures]
    if not ALL[name].fails:
        assert next(each.status for each in found.stages if each.name == "step") == "pass"
    doubted = "no-checkpoint-saved" in {each.code for each in found.warnings}
    assert doubted == (name == "loop-never-saved")


PACKED = """
import torch
from types import SimpleNamespace
from holdfast_rehearsal.trainers.batches import cut
told = SimpleNamespace(shrunk=lambda *_, **__: None)
model = SimpleNamespace(config=SimpleNamespace(vocab_size=2**20))
bounds = torch.tensor([0, 20, 50, 100], dtype=torch.int32)
row = {"input_ids": torch.arange(100)[None], "position_ids": torch.arange(100)[None], "cu_seq_lens_q": bounds, "cu_seq_lens_k": bounds}
row |= {"max_length_q": 50, "max_length_k": 50}
short = cut(row, model, told)
print(tuple(short["input_ids"].shape), short["cu_seq_lens_q"].tolist(), short["cu_seq_lens_k"].dtype, short["max_length_k"])
"""


def test_a_packed_row_is_cut_with_its_bounds(tmp_path: Path) -> None:
    """Logits of a large vocabulary take minutes on a processor, packed or not."""
    done = play(tmp_path, PACKED, ("guards",))
    assert done.printed == ["(1, 32) [0, 20, 32] torch.int32 20"], done.errors


EPOCHS = """
import torch
from types import SimpleNamespace
from holdfast_rehearsal.loops import Loops
told = []
events = SimpleNamespace(shrunk=lambda *words, **_: told.append(words[1:]), fact=lambda *_, **__: None)
loops = Loops(events)
def batches(count, accumulated, trains=True):
    loops.updates.seen.clear()
    optimizer = SimpleNamespace()
    record = SimpleNamespace(steps=0)
    loops.updates.seen[1] = (optimizer, record)
    taken = 0
    with torch.set_grad_enabled(trains):
        for _ in loops._few(iter(range(count)), range(count)):
            taken += 1
            record.steps += trains and not taken % accumulated
    return taken
print(batches(1000, 1), batches(1000, 8), batches(10, 1), batches(16, 1), batches(1000, 1, trains=False))
print(told)
"""


def test_an_epoch_of_a_loop_ends_after_a_few_batches_and_steps(tmp_path: Path) -> None:
    """A whole one takes minutes; with gradients of 8 batches added up it takes as many for each step."""
    done = play(tmp_path, EPOCHS, ("guards",))
    assert done.printed == ["16 32 10 16 16", "[(1000, 16), (1000, 32), (1000, 16)]"], done.errors
