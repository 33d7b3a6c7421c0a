"""An argument that no release ever had is misspelt; the log of its error says nothing of that."""

from pathlib import Path

import pytest

from holdfast import diagnose

LOG = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 7, in <module>
    config = {owner}(output_dir="out", {name}=1)
TypeError: {owner}.__init__() got an unexpected keyword argument '{name}'
"""


@pytest.mark.parametrize(
    ("owner", "name", "meant"),
    [
        ("SFTConfig", "learning_rat", "learning_rate"),
        ("GRPOConfig", "num_generation", "num_generations"),
        ("SFTTrainer", "train_datset", "train_dataset"),
        ("TrainingArguments", "num_train_epoch", "num_train_epochs"),
    ],
)
def test_a_misspelt_argument_is_called_so(tmp_path: Path, owner: str, name: str, meant: str) -> None:
    """Not renamed between releases; the rule that finds it is named."""
    log = tmp_path / "train.log"
    log.write_text(LOG.format(owner=owner, name=name))

    cause = diagnose(log)["causes"][0]

    assert f"takes `{name}`: it is misspelt" in cause["cause"]
    assert "releases, and the script was written for another" not in cause["cause"]
    assert f"Write `{meant}` instead of `{name}`." in cause["fix"]
    assert cause["prevented_by"] == ["ARG106"]


@pytest.mark.parametrize(("owner", "name"), [("SFTConfig", "max_seq_length"), ("SFTTrainer", "some_other_thing")])
def test_what_was_renamed_or_is_like_nothing_is_not(tmp_path: Path, owner: str, name: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(LOG.format(owner=owner, name=name))

    assert "misspelt" not in diagnose(log)["causes"][0]["cause"]
