"""No damaged checkpoint is chosen, and always the newest whole one: a small part of `benchmarks.corrupt_resume`."""

from pathlib import Path

import pytest

from benchmarks.corrupt_resume import checkpoints_of, damage_files, digests_of, kill_saves, reference
from tests.helpers.checkpoints import save_checkpoint


def test_a_damaged_file_of_a_checkpoint_is_noticed(tmp_path: Path) -> None:
    """Whatever file, and however small the damage."""
    output = tmp_path / "straight" / "out"
    for step in (1, 2, 3):
        save_checkpoint(output, step)
    right = {step: digests_of(path) for step, path in checkpoints_of(output).items()}

    outcomes = damage_files(tmp_path, 60, 0, right)

    assert sum(outcomes.values()) == 60
    assert outcomes["wrong"] == 0


@pytest.mark.train
@pytest.mark.long
def test_a_save_that_is_killed_leaves_the_one_before(tmp_path: Path) -> None:
    """At random moments while files are written, sealed and deleted."""
    right, save_s = reference(tmp_path)

    assert kill_saves(tmp_path, 15, 0, right, save_s)["wrong"] == 0
    assert damage_files(tmp_path, 30, 0, right)["wrong"] == 0
