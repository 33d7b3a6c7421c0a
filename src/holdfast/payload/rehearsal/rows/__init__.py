"""Rows: a script's own, few of them, where it loads datasets, works on them, and hands them to a trainer.

Small files are read as they are, by the real code. What is on the Hub or large is read up to a bound, as a part that
behaves as the whole (`part`). The script's own functions see all rows that are at hand, if they are quick (`working`).
A trainer gets a few, the extreme ones among them (`door`).
"""

from .door import few as few
from .installing import install as install
