"""A script that catches whatever is raised, prints it, and ends as if all had gone well."""

from itertools import takewhile
from typing import Final

from holdfast.core.rehearse.rehearsal import PartResult, ProcessEvent
from holdfast.core.run.training_event import TrainingStarted

SHOWN: Final = 60
"""Characters of a message that the script is expected to print of it."""
TRAINS: Final = ("trains", "updates", "loop")
"""What is reported of any training, also of one without a Trainer."""


def left_before_training(played: PartResult) -> bool:
    """True if a script that has trained nothing ended its own process, past everything that Python does at the end, as if all had gone well."""
    return any(not each["code"] for each in played.facts("os._exit")) and not _has_trained(played)


def _has_trained(played: PartResult) -> bool:
    return bool(played.happened(TrainingStarted)) or any(map(played.facts, TRAINS))


def caught_at_last(played: PartResult) -> ProcessEvent | None:
    """Return the exception after which a script trained nothing and did nothing else, if it printed it and ended well; else None.

    A script that goes on with something else after an exception was made to do so.
    """
    if played.code or played.over or _has_trained(played):
        return None
    own = takewhile(lambda each: each["event"] != "script_ended", played.hook_events)
    steps = [each for each in own if each["event"] in ("enter", "failed")]
    if not steps or steps[-1]["event"] != "failed" or not _is_printed(steps[-1], played):
        return None
    return steps[-1]


def _is_printed(failed: ProcessEvent, played: PartResult) -> bool:
    """True if the message of an exception stands in a log."""
    message = str(failed["error"]).partition(": ")[2].strip()[:SHOWN]
    return message != "" and any(message in text for text in played.logs.values())
