"""The reward functions that TRL brings.

Source: `trl.rewards`, 1.16.
"""

from typing import Final

MODULE: Final = "trl.rewards"
MATHEMATICAL: Final = ("accuracy_reward", "reasoning_accuracy_reward")
"""Those that compare with a column `solution`, for which they need `math_verify`."""
TRL_REWARDS: Final = (*MATHEMATICAL, "think_format_reward")
"""Those that need no arguments; all of them read the content of a message."""
