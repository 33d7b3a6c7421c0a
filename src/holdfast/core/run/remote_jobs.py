"""What a backend has in an account: the jobs that holdfast started there, from any machine, and those that it starts by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.core.run.event import RunStage


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteJob:
    """A job of one attempt, or one that a schedule started.

    Attributes:
        id: The backend's id of it.
        run: The run that it belongs to, as its label has it.
        attempt: The number of the attempt; None if a schedule started it.
        stage: Its stage; None if the backend has a word for it that is not known.
        message: What the backend says of it; may be empty.
        hardware: Its hardware.
        made_s: Unix time of its submission; None if the backend does not say it.
        page: The address of its page.
    """

    id: str
    run: str
    attempt: int | None
    stage: RunStage | None
    message: str
    hardware: str
    made_s: float | None
    page: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSchedule:
    """A schedule of a run.

    Attributes:
        id: The backend's id of it.
        run: The run that it belongs to, as its label has it.
        times: When jobs start: `@daily`, or five fields of cron.
        next_s: Unix time of the next start; None if there is none.
        is_suspended: Whether it starts nothing until a person resumes it.
    """

    id: str
    run: str
    times: str
    next_s: float | None
    is_suspended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteJobs:
    """The jobs and schedules of an account, the newest first.

    Attributes:
        account: The account.
        is_whole: Whether these are all of them; else there are older ones.
    """

    account: str
    jobs: Sequence[RemoteJob]
    schedules: Sequence[RemoteSchedule]
    is_whole: bool = True
