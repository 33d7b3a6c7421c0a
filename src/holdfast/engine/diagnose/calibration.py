"""How often an answer with a given score is right.

A score is made of the marks' weights, and these are what their authors take a line's precision to be. As it stands the table
takes their word. On the cases that signatures were written from, answers are right more often than that, as is to be expected;
`benchmarks/diagnose_calibration.py` makes the table from any cases, and those that nobody wrote from are the ones to take.
"""

from typing import Final

CALIBRATION: Final = ((0.0, 0.0), (1.0, 1.0))
"""Score and share of right answers, rising in both; between two points the share is drawn straight."""
