"""Exit codes that several programs of holdfast end with. `docs/contract.md` lists those of each command."""

from typing import Final

INTERRUPTED: Final = 130
"""After Ctrl-C, as shells have it."""
