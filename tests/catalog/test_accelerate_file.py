"""accelerate's file of settings: what accelerate refuses is reported in the file, whichever way it is come upon."""

import dataclasses
from pathlib import Path

import pytest

from holdfast import check
from holdfast.catalog.environment.accelerate_file import DISTRIBUTED, KEYS

FILE = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nmain_training_function: main\nnum_processes: 2\n"
)
MISSPELT = FILE.replace("function", "functon")


@pytest.mark.parametrize("target", ["run.sh", "accelerate.yaml", "."])
@pytest.mark.parametrize(
    ("text", "lines"),
    [(FILE, []), (MISSPELT, [3]), (MISSPELT.replace("MULTI_GPU", "MULTI-GPU"), [2, 3])],
)
def test_a_file_that_accelerate_refuses(
    text: str, lines: list[int], target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named by a command, named itself, and found in a folder: once each, at the key."""
    monkeypatch.chdir(tmp_path)
    Path("accelerate.yaml").write_text(text)
    Path("train.py").write_text("from trl import SFTConfig\nSFTConfig()\n")
    Path("run.sh").write_text("accelerate launch --config_file accelerate.yaml train.py\naccelerate launch train.py\n")
    answers = check(target, offline=True, select=["DST114"])["targets"]
    found = [(each["path"], each["line"]) for answer in answers for each in answer["findings"]]
    assert found == [("accelerate.yaml", line) for line in lines]


def test_the_keys_are_those_of_the_installed_accelerate() -> None:
    """And more, of older releases."""
    settings = pytest.importorskip("accelerate.commands.config.config_args")
    utils = pytest.importorskip("accelerate.utils")
    assert {each.name for each in dataclasses.fields(settings.ClusterConfig)} <= KEYS
    assert {each.value for each in utils.DistributedType} <= DISTRIBUTED
