"""The trials of a study that have still to start."""

from collections import deque
from collections.abc import Iterable, Mapping

from holdfast.app.study.preparing import PreparedTrial
from holdfast.app.study.searching import TrialSearch
from holdfast.core.study.trial import TrialOutcome


class TrialQueue:
    """Trials in their order: those of the study file, then those that its search proposes.

    Args:
        trials: The trials of the file that have still to run. Those of the same content as one before them share its run, and are left out.
        search: The search; None if the study has none.
    """

    def __init__(self, trials: Iterable[PreparedTrial], search: TrialSearch | None) -> None:
        self._waiting = deque(distinct(trials))
        self._search = search

    def __len__(self) -> int:
        return len(self._waiting) + (self._search.left if self._search else 0)

    def take(self, unstarted: Mapping[str, TrialOutcome]) -> PreparedTrial | None:
        """Return the next trial; None if the search proposes no more.

        Args:
            unstarted: Trials that could not be started, by the hash of their content.
        """
        if not self._waiting and self._search:
            self._waiting.extend(distinct(self._search.propose(unstarted)))
        return self._waiting.popleft() if self._waiting else None

    def close(self) -> None:
        """Drop all that waits."""
        self._waiting.clear()
        self._search = None


def distinct(trials: Iterable[PreparedTrial]) -> list[PreparedTrial]:
    """Return trials without those of the same content as one before them: they share its run."""
    found: dict[str, PreparedTrial] = {}
    for each in trials:
        found.setdefault(each.content, each)
    return list(found.values())
