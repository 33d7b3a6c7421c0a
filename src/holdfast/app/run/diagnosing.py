"""Finding out why an attempt failed, while its run is supervised."""

from holdfast.app.run.history import read_history
from holdfast.app.run.runs import Run
from holdfast.core.outcome import outcome_of
from holdfast.core.run.event import Diagnosed
from holdfast.engine.diagnose.likeliest import likeliest_cause


def diagnose_attempt(run: Run, attempt: int, now_s: float) -> Diagnosed:
    """Return the likeliest cause why the newest attempt of a run failed. Whatever stands in its logs, the run is supervised to its end."""
    found = outcome_of(lambda: likeliest_cause(read_history(run), attempt, now_s))
    return found if isinstance(found, Diagnosed) else Diagnosed(at_s=now_s, attempt=attempt)
