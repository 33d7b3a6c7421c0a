"""Calls that may keep weights."""

import re
from typing import Final

KEEPS: Final = re.compile(r"(save|push|upload|export|state_dict|checkpoint|dump|merge)\w*\s*\(", re.IGNORECASE)
"""A call, by whatever name, that may keep weights: also one that the reader of scripts does not follow."""
