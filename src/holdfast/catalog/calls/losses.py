"""The losses that trainers compute, where their configs take any text.

Source: what `DPOTrainer` and `GRPOTrainer` compare `loss_type` with, read in the wheels of trl 1.0.0, 1.5.0, 1.10.0, 1.13.0
and 1.16.0. Any other raises ValueError in the first step.
"""

from collections.abc import Mapping
from typing import Final

LOSSES: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "trl.trainer.dpo_config.DPOConfig.loss_type": (
        "1.5.0",
        (
            "sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired",
            "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm",
        ),
    ),
    "trl.trainer.grpo_config.GRPOConfig.loss_type": (
        "1.0.0",
        ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
    ),
}  # fmt: skip
"""By argument: the first release of trl that knows all of them, of those that were read, and their names."""
