"""What the Hub says of a job, as the result of a poll.

Source: `JobStage` of huggingface_hub 2.4.0 (`_jobs_api.py`). Messages as users quote them: "Job timeout" (threads #3281, #3386),
"Job failed with exit code: 137. Reason: OOMKilled". Whatever is not known to be an end is none.
"""

import re
from typing import Final

from holdfast.core.event import Liveness
from holdfast.ports import PollResult

QUEUED: Final = "queued for hardware"
RUNNING: Final = frozenset({"RUNNING", "UPDATING"})
EXIT: Final = re.compile(r"exit code:? (\d+)")
PLAIN_EXIT: Final = re.compile(r"Job failed with exit code: \d+\.?(?: Reason: Error\.?)?")
"""A message that says no more than the exit code."""
TIMEOUT: Final = "Job timeout: the time that it was given on the Hub is over"
CANCELED: Final = "the job was canceled by its owner, or by the Hub (stage=CANCELED)"
DELETED: Final = "the job was deleted by its owner, or by the Hub (stage=DELETED)"


def poll_result(stage: str, message: str) -> PollResult:
    """Return the result of a poll from a job's stage and the message beside it.

    >>> poll_result("ERROR", "Job failed with exit code: 3. Reason: Error").exit_code
    3
    >>> poll_result("THAWING", "").because
    'the Hub calls the stage of the job THAWING, which holdfast does not know'
    """
    if stage == "SCHEDULING":
        phase = f"{QUEUED}: {message}" if message else QUEUED
        return PollResult(answer=Liveness.ALIVE, phase=phase, waiting=True)
    if stage in RUNNING:
        return PollResult(answer=Liveness.ALIVE)
    if stage == "COMPLETED":
        return PollResult(answer=Liveness.ENDED, exit_code=0)
    if stage in ("CANCELED", "DELETED"):
        return PollResult(answer=Liveness.ENDED, because=CANCELED if stage == "CANCELED" else DELETED)
    if stage == "ERROR":
        return _failure(message)
    because = f"the Hub calls the stage of the job {stage}, which holdfast does not know"
    return PollResult(answer=Liveness.UNKNOWN, because=because)


def _failure(message: str) -> PollResult:
    if message == "Job timeout":
        return PollResult(answer=Liveness.ENDED, because=TIMEOUT)
    found = EXIT.search(message)
    because = "" if PLAIN_EXIT.fullmatch(message) else message or "the job failed, and the Hub does not say why"
    return PollResult(answer=Liveness.ENDED, exit_code=int(found[1]) if found else None, because=because)
