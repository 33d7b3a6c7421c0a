"""Training methods, by the names that their TRL trainers have."""

from enum import StrEnum
from typing import Final


class Method(StrEnum):
    """A training method, by the name its TRL trainer has."""

    SFT = "sft"
    DPO = "dpo"
    GRPO = "grpo"
    REWARD = "reward"
    KTO = "kto"
    RLOO = "rloo"

    @property
    def generates(self) -> bool:
        """Whether the trainer samples completions and asks reward functions."""
        return self in ONLINE

    @property
    def stem(self) -> str:
        """The word before `Trainer` and `Config` in TRL's names: `SFT`, `Reward`."""
        return self.value.title() if self is Method.REWARD else self.value.upper()

    @property
    def trainer(self) -> str:
        """Name of its trainer: `SFTTrainer`."""
        return f"{self.stem}Trainer"

    @property
    def config(self) -> str:
        """Path of the class that holds its settings.

        >>> Method.REWARD.config, Method.SFT.config
        ('trl.RewardConfig', 'trl.SFTConfig')
        """
        return f"trl.{self.stem}Config"


ONLINE: Final = (Method.GRPO, Method.RLOO)
"""Methods whose trainers sample completions and ask reward functions."""
ONLINE_TRAINERS: Final = tuple(method.trainer for method in ONLINE)
"""Names of their trainers."""
