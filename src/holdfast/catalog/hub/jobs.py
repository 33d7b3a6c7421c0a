"""What sends a job to Hugging Face Jobs, and how the client reads its arguments.

A call in Python, or `hf jobs …` before a program on a command line. Source: `hf_api.py`, `_jobs_api.py` and
`cli/jobs.py` of huggingface_hub 0.34 to 2.4, which read timeouts all alike.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from holdfast.core.job.calls import Call, Guard
from holdfast.core.job.document import ABSENT, Document
from holdfast.core.last_call_cache import cache_last_call
from holdfast.core.run.backends import BACKEND_KEY, HF_JOBS, backend_of
from holdfast.core.text.places import Place

UV: Final = frozenset({"run_uv_job", "create_scheduled_uv_job"})
IMAGES: Final = frozenset({"run_job", "create_scheduled_job"})
DEFAULT_TIMEOUT: Final = "30 minutes"
"""What the Hub gives a job for which no timeout was sent, by the guide's own word."""

UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ON_COMMAND_LINE: Final = {
    "flavor": "where.hardware",
    "timeout": "where.timeout",
    "image": "where.options.image",
    "dependencies": "environment.requirements",
}


@dataclass(frozen=True, slots=True)
class Submission:
    """One job that is sent.

    Attributes:
        job: What was read.
        call: The call in Python that sends it; None of a command line.
    """

    job: Document
    call: Call | None = None

    @property
    def name(self) -> str:
        """What sends it."""
        return self.call.name if self.call else "hf jobs"

    @property
    def is_uv(self) -> bool:
        """Whether it surely is a script that uv runs."""
        return self.call is not None and self.call.name in UV

    @property
    def guard(self) -> Guard:
        """What stands around it."""
        return self.call.guard if self.call else Guard()

    @property
    def complete(self) -> bool:
        """Whether all its arguments can be seen, so that one which is absent is not given."""
        return self.call is None or not (self.call.open or self.call.via == "partial")

    def key(self, name: str = "") -> str:
        """Return the key of an argument; without a name, of the whole."""
        if self.call is None:
            return ON_COMMAND_LINE.get(name, BACKEND_KEY)
        return f"{self.call.key}.{name}" if name else self.call.key

    def given(self, name: str) -> Any:
        """Return the value of an argument, ABSENT if it is not given. A script may be given by position.

        Raises:
            MissingFactError: The source gives something, but does not say what.
        """
        if self.call is None:
            return self.job.get(ON_COMMAND_LINE[name]) if name in ON_COMMAND_LINE else ABSENT
        first = self.call.positional[0] if name == "script" and self.call.positional else ABSENT
        return self.job.get(self.key(name), first)

    def place(self, name: str = "") -> Place | None:
        """Return where an argument stands that was given by position, or the whole; None if its key has a place."""
        return self.call.name_place if self.call and name not in self.call.arguments else None


def submissions(job: Document, names: frozenset[str] = UV | IMAGES) -> Iterator[Submission]:
    """Yield the calls that submit a job, except those that may not be reached.

    Args:
        job: What was read.
        names: The functions to look for; a command line is yielded where all are.
    """
    if job.kind != "job" and backend_of(job) is HF_JOBS and names == UV | IMAGES:
        yield Submission(job)
    yield from (Submission(job, call) for call in _hub_calls(job) if call.name in names)


@cache_last_call
def _hub_calls(job: Document) -> Iterator[Call]:
    """Yield the calls of the Hub's client that may be reached: many rules ask for them."""
    return (call for call in job.calls if call.package == "huggingface_hub" and not call.guard.because)


def timeout_s(timeout: float | str) -> int:
    """Return the timeout as the client reads it: seconds, rounded down.

    Raises:
        ValueError: It cannot read it; it raises the same.

    >>> timeout_s("1.5h"), timeout_s("90"), timeout_s(600)
    (5400, 90, 600)
    """
    try:
        if isinstance(timeout, str) and timeout[-1:] in UNIT_S:
            return int(float(timeout[:-1]) * UNIT_S[timeout[-1]])
        return int(timeout)
    except OverflowError as error:
        raise ValueError(str(error)) from error
