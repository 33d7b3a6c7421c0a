"""Standard streams that the caller closed (`holdfast … <&-`): they lead nowhere, rather than be missing."""

import os
import sys
from typing import Final

STREAMS: Final = {"stdin": "r", "stdout": "w", "stderr": "w"}
"""The streams, in the order of their numbers, and how each is opened: a closed one takes its own number again."""


def open_closed_streams() -> None:
    """Open each closed standard stream on the null device."""
    for name, mode in STREAMS.items():
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 - it stays open
