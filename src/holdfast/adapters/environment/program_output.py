"""What another program of this machine prints: the driver's tools, uv."""

import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

PATIENCE_S: Final = 20.0
"""A driver that hangs is no reason to hang with it."""


def output_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str | None:
    """Return what a program prints; None if it fails, or takes too long.

    >>> output_of(["echo", "580.65"])
    '580.65'
    >>> output_of(["false"])
    """
    variables = None if environment is None else dict(environment)
    try:
        done = subprocess.run(  # noqa: S603 - fixed words, and programs of the user's own PATH
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=True, env=variables
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
