"""The states of the jobs that this process watches, for few calls of the Hub, which allows each account so many in five minutes.

The longer a job has been in its stage, the less often it is looked at. Several jobs of one account share a listing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Final, Protocol

from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.hf_jobs.states import JobState
from holdfast.adapters.clock import SystemClock

PATIENCE: Final = 1 / 60
"""The share of its time in a stage for which a job's state is taken to be the same."""
LONGEST_S: Final = 30.0
LISTED: Final = 3
"""From so many jobs on, one listing takes the place of a call for each."""
LISTING_S: Final = 5.0
"""How long a listing is good for."""
WATCHED_S: Final = 120.0
"""A job is dropped from the watch when no run has asked for it for this long."""


class JobStates(Protocol):
    """What a watch asks the Hub."""

    def inspect(self, address: JobAddress) -> JobState | None:
        """Return the state of a job; None if there is no such job."""
        ...

    def unfinished(self, namespace: str) -> Mapping[str, JobState]:
        """Return the states of an account's jobs that have not ended, by their ids."""
        ...


@dataclass(slots=True)
class _Watched:
    """A job that is watched: its state, since when it has been seen in that stage, and when it was last seen and asked for."""

    state: JobState | None = None
    since_s: float = 0.0
    seen_s: float = float("-inf")
    asked_s: float = 0.0

    @property
    def has_ended(self) -> bool:
        """Whether its state can never change."""
        return self.state is not None and self.state.has_ended

    def is_fresh(self, now_s: float) -> bool:
        """True while the Hub need not be asked again."""
        if self.state is None:
            return False
        good_for_s = min((self.seen_s - self.since_s) * PATIENCE, LONGEST_S)
        return LISTING_S < good_for_s > now_s - self.seen_s

    def take(self, state: JobState | None, now_s: float) -> None:
        """Keep what the Hub says now."""
        if self.state is None or state is None or state.stage != self.state.stage:
            self.since_s = now_s
        self.state, self.seen_s = state, now_s


@dataclass(frozen=True, slots=True)
class _Listing:
    """The states of an account's jobs that have not ended, by their ids, and when they were listed."""

    states: Mapping[str, JobState]
    seen_s: float


@dataclass(slots=True)
class JobWatch:
    """The jobs of one account.

    Attributes:
        namespace: The account.
        now_s: The clock, in seconds.
    """

    namespace: str
    now_s: Callable[[], float] = field(default_factory=lambda: SystemClock().now_s)
    _jobs: dict[str, _Watched] = field(default_factory=dict[str, _Watched])
    _listing: _Listing = field(default_factory=lambda: _Listing({}, float("-inf")))
    _lock: Lock = field(default_factory=Lock)
    _is_listing: Lock = field(default_factory=Lock)

    def state(self, hub: JobStates, address: JobAddress, *, anew: bool = False) -> JobState | None:
        """Return the state of a job, which may be as old as `LONGEST_S`; None if the Hub has no such job.

        While the Hub is asked about one job, the others can be asked about.

        Args:
            hub: Who is asked.
            address: The job.
            anew: Whether something has happened to it, so that an old state will not do.
        """
        now_s = self.now_s()
        job = self._watched(address.job, now_s)
        if job.has_ended or (not anew and job.is_fresh(now_s)):
            return job.state
        if not anew:
            listing = self._listed(hub, now_s)
            if listed := listing.states.get(address.job):
                job.take(listed, listing.seen_s)
                return listed
        state = hub.inspect(address)
        job.take(state, now_s)
        return state

    def _watched(self, name: str, now_s: float) -> _Watched:
        """The watched job of a name. Jobs that no run asks for are dropped."""
        with self._lock:
            self._jobs = {each: job for each, job in self._jobs.items() if now_s - job.asked_s < WATCHED_S}
            job = self._jobs.setdefault(name, _Watched())
            job.asked_s = now_s
            return job

    def _listed(self, hub: JobStates, now_s: float) -> _Listing:
        """A listing of the jobs that have not ended; an empty one if few jobs are watched, or if another thread waits long for one."""
        if not self._is_listing.acquire(timeout=LISTING_S):
            return _Listing({}, now_s)
        try:
            if now_s - self._listing.seen_s >= LISTING_S:
                if len(self._jobs) < LISTED:
                    return _Listing({}, now_s)
                self._listing = _Listing(hub.unfinished(self.namespace), now_s)
            return self._listing
        finally:
            self._is_listing.release()


@cache
def shared_watch(endpoint: str, token: str | None, namespace: str) -> JobWatch:  # noqa: ARG001 - jobs that another token sees are others
    """Return the watch that all runs of this process share."""
    return JobWatch(namespace)
