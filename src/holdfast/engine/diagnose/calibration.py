"""How often an answer with a given score is right.

A score is made of the patterns' weights, and these are what their authors take a line's precision to be. The table takes their
word. On the cases that signatures were written or widened from, answers with a score of 0.6, 0.8 and 0.94 were right in 89, 91
and 99 of a hundred; such cases are kinder than new ones, so that figure is not claimed.
`benchmarks/diagnose_calibration.py` makes the table from any cases.
"""

from typing import Final

CALIBRATION: Final = ((0.0, 0.0), (1.0, 1.0))
"""Score and share of right answers, rising in both; between two points the share is drawn straight."""
