"""Why a run was refused, as the results of several commands show it."""

from holdfast.results import ResultPart


class RunRefusal(ResultPart, frozen=True):
    """One reason why a run is not started.

    Attributes:
        code: The rule, or the class of failure.
        message: What is wrong.
        where: The line, as `train.py:12`; null if it is not a single line.
        fix: What to do; null if unknown.
    """

    code: str
    message: str
    where: str | None
    fix: str | None
