"""Finding out why an attempt failed, while its run is supervised."""

from holdfast.app.run.history import read_history
from holdfast.app.run.runs import Run
from holdfast.core.diagnosis import Cause
from holdfast.core.event import Diagnosed
from holdfast.core.outcome import outcome_of
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.signatures import all_signatures


def diagnose_attempt(run: Run, attempt: int, now_s: float) -> Diagnosed:
    """Return the likeliest cause why the newest attempt of a run failed. Whatever stands in its logs, the run is supervised to its end."""
    found = outcome_of(lambda: _likeliest_cause(run))
    cause, where = found if isinstance(found, tuple) else (None, "")
    if cause is None:
        return Diagnosed(at_s=now_s, attempt=attempt, where=where)
    return Diagnosed(
        at_s=now_s,
        attempt=attempt,
        name=cause.signature.name,
        title=cause.signature.title,
        fix=cause.fix,
        retry=cause.signature.retry,
        confidence=cause.confidence,
        suggested=cause.remedy,
        where=where,
    )


def _likeliest_cause(run: Run) -> tuple[Cause | None, str]:
    """Return the first cause that the logs and the ledger show, None if they show none; and where its processes stood still."""
    history = read_history(run)
    patterns = PatternIndex(history.possible(all_signatures()))
    found = diagnose(read_log(history.files, patterns.sought), patterns, history.knows, history.asked)
    cause = next(iter(found.causes), None) if found.verdict == "diagnosed" else None
    return cause, history.standstill
