"""What is changed in a job, and how that is undone."""

import shlex
from typing import Any

import pytest

from holdfast.adapters.targets.overrides import parse_set
from holdfast.core.run.remedy import AppliedRemedy, SettingChange

CHANGES = {
    "train.optim": "adamw_torch",
    "train.learning_rate": 0.5,
    "train.per_device_train_batch_size": 8,
    "train.gradient_checkpointing": False,
    "train.gradient_checkpointing_kwargs": {"use_reentrant": True},
    "environment.requirements": ["a>=1", "it's b; echo x"],
    "environment.variables.PORT": "29500",
    "environment.variables.OTHER": None,
}


@pytest.mark.parametrize("number", [1, 2, len(CHANGES)])
def test_the_command_that_undoes_a_remedy_can_be_pasted(number: int) -> None:
    """A shell passes it on as it is, and each value is what it was."""
    changes = tuple(SettingChange(key=key, before=before, after="x") for key, before in CHANGES.items())[-number:]
    words = shlex.split(AppliedRemedy(because="", changes=changes).undo())

    undone: dict[str, Any] = {edit.key: edit.value for edit in (parse_set(word).edit for word in words[1::2])}
    assert words[::2] == ["--set"] * number
    assert undone == {each.key: each.before for each in changes}
