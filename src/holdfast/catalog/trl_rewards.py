"""The reward functions that TRL brings.

Source: `trl.rewards`, 1.16.
"""

from typing import Final

MODULE: Final = "trl.rewards"
MATHEMATICAL: Final = ("accuracy_reward", "reasoning_accuracy_reward")
"""Those that compare with a column `solution`, for which they need `math_verify`."""
TRL_REWARDS: Final = (*MATHEMATICAL, "think_format_reward")
"""Those that need no arguments; all of them read the content of a message."""
ON_COMMAND_LINE: Final = (*TRL_REWARDS, "get_soft_overlong_punishment")
"""Those that `trl grpo --reward_funcs` and `trl rloo --reward_funcs` know by their names, in some release.

Source: `trl/scripts/grpo.py` of TRL 0.18, 0.21, 0.24, 0.29, 1.0 and 1.16, read; 1.16 also tried.
"""
