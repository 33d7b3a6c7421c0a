"""Exit codes that several parts of holdfast end with, or compare with. `docs/contract.md` lists those of each command."""

from signal import SIGKILL
from typing import Final

INTERRUPTED: Final = 130
"""After Ctrl-C, as shells have it."""
KILLED: Final = (-SIGKILL, 128 + SIGKILL)
"""Of a process that SIGKILL ended, as its parent has it and as a shell has it."""
