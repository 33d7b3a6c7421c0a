"""How much each kind of evidence counts when causes are ranked: shares between 0 and 1.

A factor multiplies the weight of a line's pattern, a limit bounds a class' score, and a score is given where no pattern
has a weight. They order the classes, and a score is stated as the confidence. The logs that a number decides are in
`tests/engine/diagnose/test_diagnose_judging.py`.
"""

from typing import Final

# How evidence of one class adds up.
HINT: Final = 0.35
"""A hint, times its weight, removes this share of the remaining doubt."""
ALONE: Final = 0.45
"""Factor of hints if no line states the cause."""

# Factors: other exceptions of the same log.
WRAPS: Final = 0.8
"""An exception whose direct cause is another one."""
HANDLED: Final = 0.9
"""An exception during whose handling another was raised. It was often a fallback that was tried."""
LATER: Final = 0.9
"""An exception that follows another root. More often than not it is a consequence."""
TORN_DOWN: Final = 0.7
"""A line that only says that something else failed, if the log shows what."""
BESIDE_EXCEPTION: Final = 0.6
"""What the metrics show of a job that an exception ended."""

# Factors: what happened after the line.
EARLIER: Final = 0.5
"""A line of an attempt before the last one, if the last one tells anything itself."""
SURVIVED: Final = 0.4
"""An exception after which training went on to its end."""
TOLERATED: Final = 0.6
"""A logger's warning, even a sure one, before training ended: the job did not fail of it."""
WARNED: Final = 0.85
"""A line that is no exception, before training ended. Most warnings of good runs are about nothing."""

# Limits.
SURE: Final = 0.75
"""From this weight on, a pattern is sure by itself: WARNED does not apply to it."""
NOT_SURE: Final = 0.88
"""Highest score by advice alone, or by a launcher's line about a process that failed."""
MERELY_WARNED: Final = 0.74
"""Highest score by a warning in a log without an exception. It may have been about nothing."""
OVER: Final = 0.4
"""Highest score by a request that was tried again, in a log of training that ended."""
COVERS: Final = 0.5
"""From this score on, a class covers those that it lists as its echoes."""

# Scores of an exception that no signature knows.
IN_USER_CODE: Final = 0.62
"""The user's own code raised it."""
UNDER_USER_CODE: Final = 0.3
"""A library raised it, called by the user's code."""
