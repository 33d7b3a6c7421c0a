"""Lines with which another attempt of the same job begins, in one log: of torchelastic, of loops in a shell, of Ray and others.

Covered: what says so. Not covered: a log to which a job that was requeued goes on writing without a word.
"""

import re
from typing import Final

RESTARTS: Final = (
    "will restart worker group",
    "Restarting worker group",
    "estarting training",
    "ttempt ",
    "ttempt: ",
    "TTEMPT ",
)
"""Words of which each such line has one."""
ATTEMPT: Final = re.compile(
    r"will restart worker group|Restarting worker group|\b[Rr]estarting training"
    r"|^\W*(?:\w+ing |job |run |training )?(?:(?:job|training|run) )?attempt:? ?#?\d+(?:\s?(?:of|/)\s?\d+)?(?: started| begins)?\W*$",
    re.IGNORECASE,
)
"""`=== Attempt 2/3 ===`, `Starting attempt 2`. A retry of a download tells what it retries, and is none of these."""


def is_restart(text: str) -> bool:
    """True if another attempt of the job begins with a line.

    >>> [is_restart(text) for text in ("=== Attempt 2/3 ===", "Launching training attempt #2...", "Attempt 2 of 3 failed: timeout")]
    [True, True, False]
    """
    return any(word in text for word in RESTARTS) and ATTEMPT.search(text) is not None
