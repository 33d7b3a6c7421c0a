"""Status calls per minute that one process makes for jobs of Hugging Face Jobs, on a simulated clock.

    .venv/bin/python -m benchmarks.jobs_status_calls [COUNT ...]

The watch is the real one (`adapters.backends.hf_jobs.job_watch`), and each job is polled every five seconds, as runs do. The jobs start a second
apart and take between one and three hours. Beside it is what a call for each poll costs.
"""

import argparse
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.backends.hf_jobs.addresses import JobAddress
from holdfast.adapters.backends.hf_jobs.job_watch import JobWatch
from holdfast.adapters.backends.hf_jobs.states import JobState
from holdfast.core.run.backends import HF_JOBS

SHORTEST_S, LONGEST_S = 3600, 10_800
POLL_S: Final = int(HF_JOBS.poll_s)


@dataclass
class Account:
    """An account whose jobs run until their ends, by name, in seconds; and how often the Hub was asked."""

    ends: Mapping[str, int]
    now_s: int = 0
    calls: int = 0

    def inspect(self, address: JobAddress) -> JobState:
        """Return the state of one job."""
        self.calls += 1
        return JobState("RUNNING" if self.now_s < self.ends[address.job] else "COMPLETED", "")

    def unfinished(self, namespace: str) -> Mapping[str, JobState]:  # noqa: ARG002 - there is one account
        """Return the states of all jobs that run."""
        self.calls += 1
        return {name: JobState("RUNNING", "") for name, end_s in self.ends.items() if self.now_s < end_s}


def main() -> None:
    """Print a line for each number of jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", nargs="*", type=int, default=[1, 8, 100, 500])
    print(heading("status calls of one process for jobs of Hugging Face Jobs"))
    for count in parser.parse_args().counts:
        follow(count)


def follow(count: int) -> None:
    """Follow jobs to their ends, and print what it cost."""
    dice = random.Random(count)  # noqa: S311 - a benchmark
    account = Account({f"job-{number}": number + dice.randint(SHORTEST_S, LONGEST_S) for number in range(count)})
    watch, late, polls, started_s = JobWatch("me", lambda: account.now_s), dict[str, int](), 0, time.process_time()
    for account.now_s in range(LONGEST_S + count + 60):
        due = (number for number in range(account.now_s % POLL_S, min(count, account.now_s), POLL_S))
        for name in (f"job-{number}" for number in due):
            if name in late:
                continue
            polls += 1
            state = watch.state(account, JobAddress(namespace="me", job=name, bucket="me/b", folder="f", attempt=1))
            if state and state.has_ended:
                late[name] = account.now_s - account.ends[name]
    minutes = max(account.ends.values()) / 60
    print(
        f"{count} jobs: {account.calls / minutes:.1f} calls per minute ({polls / minutes:.0f} polls); "
        f"ends seen after {median(late.values()):g} s at the median, {max(late.values())} s at most; "
        f"{time.process_time() - started_s:.1f} s of processor for {minutes / 60:.1f} h"
    )


if __name__ == "__main__":
    main()
