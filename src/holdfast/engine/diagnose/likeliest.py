"""The likeliest cause of an attempt's failure, as the supervisor decides by it."""

from holdfast.core.run.event import Diagnosed
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.history import RunHistory
from holdfast.signatures import all_signatures


def likeliest_cause(history: RunHistory, attempt: int, now_s: float) -> Diagnosed:
    """Return the first cause that a run's history shows, and where its processes stood still; without a cause if it shows none.

    Args:
        history: The history. Its files are read to their end.
        attempt: The number of the newest attempt.
        now_s: Unix time.
    """
    patterns = PatternIndex(history.possible(all_signatures()))
    found = diagnose(read_log(history.files, patterns.sought), patterns, history.knows, history.declared)
    cause = next(iter(found.causes), None) if found.verdict == "diagnosed" else None
    if cause is None:
        return Diagnosed(at_s=now_s, attempt=attempt, where=history.standstill, rank=history.rank)
    return Diagnosed(
        at_s=now_s,
        attempt=attempt,
        name=cause.signature.name,
        title=cause.signature.title,
        fix=cause.fix,
        retry=cause.signature.retry,
        confidence=cause.confidence,
        suggested=cause.remedy,
        where=history.standstill,
        rank=history.rank,
    )
