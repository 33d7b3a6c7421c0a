"""What every figure stands beside: the date and the size of the machine."""

import os
import platform
import time


def heading(title: str) -> str:
    """Return the first line of a benchmark's output."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    machine = f"{cores} cores, {memory_gib:.0f} GiB, Python {platform.python_version()}"
    return f"{title}  ({time.strftime('%Y-%m-%d')}; {machine})"
