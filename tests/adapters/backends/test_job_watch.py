"""How often the Hub is asked about jobs, and how late their ends are seen."""

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

import pytest

from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.hf_jobs.job_watch import LISTING_S, LONGEST_S, JobWatch
from holdfast.adapters.backends.hf_jobs.states import JobState
from holdfast.core.errors import UnreachableError

POLL_S = 5.0


@dataclass
class Jobs:
    """An account's jobs on a simulated clock, each of which runs until its end.

    Attributes:
        ends: When each ends, in seconds.
        calls: How often the Hub was asked for one job, and for all.
    """

    ends: Mapping[str, float]
    now_s: float = 0.0
    calls: Counter[str] = field(default_factory=Counter[str])
    is_down: bool = False

    def inspect(self, address: JobAddress) -> JobState | None:
        self._count("one")
        if address.job not in self.ends:
            return None
        return JobState("RUNNING" if self.now_s < self.ends[address.job] else "COMPLETED", "")

    def unfinished(self, namespace: str) -> Mapping[str, JobState]:
        self._count(f"all of {namespace}")
        return {name: JobState("RUNNING", "") for name, end_s in self.ends.items() if self.now_s < end_s}

    def _count(self, call: str) -> None:
        if self.is_down:
            raise UnreachableError("no answer", where="the Hub", fix="it is tried again")
        self.calls[call] += 1


def address(job: str) -> JobAddress:
    return JobAddress(namespace="me", job=job, bucket="me/b", folder="f", attempt=1)


def follow(jobs: Jobs, *, until_s: float) -> dict[str, float]:
    """Poll each job until its end is seen; return when it was."""
    watch, seen = JobWatch("me", lambda: jobs.now_s), dict[str, float]()
    while jobs.now_s < until_s and len(seen) < len(jobs.ends):
        for name in jobs.ends.keys() - seen.keys():
            state = watch.state(jobs, address(name))
            assert state is not None
            if state.has_ended:
                seen[name] = jobs.now_s
        jobs.now_s += POLL_S
    return seen


@pytest.mark.parametrize("end_s", [0.0, 4.0, 301.0, 5_000.0, 40_000.0])
def test_one_job_is_asked_for_less_and_less(end_s: float) -> None:
    """An end is seen in time, and a job of hours costs few calls."""
    jobs = Jobs({"a": end_s})

    assert end_s <= follow(jobs, until_s=50_000.0)["a"] <= end_s + LONGEST_S + POLL_S
    assert jobs.calls["one"] <= 120 + end_s / 20
    assert set(jobs.calls) == {"one"}


@pytest.mark.parametrize("count", [3, 20, 100])
def test_many_jobs_share_a_listing(count: int) -> None:
    """As many calls as for one job, and one more for each that has ended."""
    jobs = Jobs({f"job-{number}": 100.0 + 7 * number for number in range(count)})
    seen = follow(jobs, until_s=10_000.0)

    late = [seen[name] - end_s for name, end_s in jobs.ends.items()]
    assert len(late) == count
    assert min(late) >= 0
    assert max(late) <= LONGEST_S + POLL_S + LISTING_S
    assert jobs.calls["all of me"] <= jobs.now_s / LISTING_S
    assert jobs.calls["one"] <= count + 120  # the last two are asked for one by one


def test_what_happens_to_a_job_is_seen_at_once() -> None:
    """After an hour, an old state will do; but not when the job's log has ended."""
    jobs = Jobs({"a": 3_600.0})
    watch = JobWatch("me", lambda: jobs.now_s)
    for second in range(0, 3_600, 5):
        jobs.now_s = float(second)
        watch.state(jobs, address("a"))
    jobs.now_s = 3_601.0
    old, new = watch.state(jobs, address("a")), watch.state(jobs, address("a"), anew=True)

    assert (old and old.stage, new and new.stage) == ("RUNNING", "COMPLETED")


def test_a_job_that_has_ended_is_not_asked_for_again() -> None:
    """It never runs again, so the rest of its log may be read as often as that takes."""
    jobs = Jobs({"a": 10.0}, now_s=20.0)
    watch = JobWatch("me", lambda: jobs.now_s)
    for jobs.now_s in (20.0, 21.0, 3_000.0):
        state = watch.state(jobs, address("a"), anew=True)
        assert state is not None
        assert state.has_ended

    assert jobs.calls["one"] <= 2  # the watch forgets what nobody asks for


def test_the_end_of_a_log_is_not_answered_with_a_listing() -> None:
    """A listing of a moment ago still has the job."""
    jobs = Jobs({"a": 101.0, "b": 900.0, "c": 900.0}, now_s=100.0)
    watch = JobWatch("me", lambda: jobs.now_s)
    for name in jobs.ends:
        watch.state(jobs, address(name))
    jobs.now_s = 102.0
    state = watch.state(jobs, address("a"), anew=True)

    assert state is not None
    assert state.has_ended


class SlowJobs(Jobs):
    """While the Hub is asked about the job `slow`, another thread asks about `b`."""

    def inspect(self, address: JobAddress) -> JobState | None:
        if address.job == "slow":
            asked = self.others.submit(self.watch.state, self, replace(address, job="b"))
            self.answered = wait([asked], timeout=2).done == {asked}
            return None
        return super().inspect(address)

    others: ThreadPoolExecutor
    watch: JobWatch
    answered: bool


def test_a_slow_answer_about_one_job_holds_up_no_other() -> None:
    """The supervisor of another job goes on, and takes the orders of its user."""
    jobs = SlowJobs({"slow": 10.0, "b": 10.0})
    jobs.watch = JobWatch("me", lambda: jobs.now_s)
    with ThreadPoolExecutor(1) as jobs.others:
        assert jobs.watch.state(jobs, address("slow"), anew=True) is None

    assert jobs.answered


def test_a_hub_that_cannot_be_reached_is_asked_again() -> None:
    """No answer is no state, and is not kept."""
    jobs = Jobs({"a": 10.0, "b": 10.0, "c": 10.0})
    watch = JobWatch("me", lambda: jobs.now_s)
    for name in jobs.ends:
        watch.state(jobs, address(name))
    jobs.now_s, jobs.is_down = 20.0, True
    with pytest.raises(UnreachableError):
        watch.state(jobs, address("a"))
    jobs.is_down = False

    assert all(state and state.has_ended for state in (watch.state(jobs, address(name)) for name in jobs.ends))


def test_a_job_that_is_unknown_stays_unknown() -> None:
    """A listing without it does not end it."""
    jobs = Jobs({"a": 10.0, "b": 10.0, "c": 10.0})
    watch = JobWatch("me", lambda: jobs.now_s)
    for name in (*jobs.ends, "gone"):
        watch.state(jobs, address(name))

    assert watch.state(jobs, address("gone")) is None
