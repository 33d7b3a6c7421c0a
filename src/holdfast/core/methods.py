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
    def config(self) -> str:
        """Path of the class that holds its settings.

        >>> Method.REWARD.config, Method.SFT.config
        ('trl.RewardConfig', 'trl.SFTConfig')
        """
        word = self.value.title() if self is Method.REWARD else self.value.upper()
        return f"trl.{word}Config"


ONLINE: Final = (Method.GRPO, Method.RLOO)
"""Methods whose trainers sample completions and ask reward functions."""
