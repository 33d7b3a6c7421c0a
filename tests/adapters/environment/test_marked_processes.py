"""Processes that work for this one: they end with it, and Ctrl-C ends a wait for them."""

import signal
import subprocess
import sys
import time

import psutil

PATIENCE_S = 60.0
STARTS = """\
import subprocess, sys
import polars  # which has system calls restarted after Ctrl-C
from holdfast.adapters.environment.marked_processes import marked_child

words = ["sh", "-c", "sleep 600 & echo $$ $!; wait"]
with marked_child(words, "HOLDFAST_TEST", variables=None, stdout=subprocess.PIPE) as child:
    print(child.stdout.readline().decode(), flush=True)
    {waits}
"""


def started(waits: str) -> tuple["subprocess.Popen[str]", list[psutil.Process]]:
    """Return a process that waits for another one, and the processes that this one consists of."""
    words = [sys.executable, "-c", STARTS.format(waits=waits)]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert parent.stdout
    processes = [psutil.Process(int(each)) for each in parent.stdout.readline().split()]
    assert len(processes) == 2
    return parent, processes


def are_gone(processes: list[psutil.Process]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if not [each for each in processes if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]:
            return True
        psutil.wait_procs(processes, timeout=0.1)
    return False


def test_a_process_ends_after_its_parent_was_killed() -> None:
    """Its parent had no time to end it: a function of the user's may run for hours."""
    parent, processes = started("child.wait()")
    with parent:
        parent.kill()
    assert are_gone(processes)


def test_ctrl_c_ends_a_wait_for_a_process_and_the_process() -> None:
    """On its pipe, and for its end."""
    for waits in ("child.stdout.read()", "child.wait()"):
        parent, processes = started(waits)
        with parent:
            parent.send_signal(signal.SIGINT)
            parent.wait(PATIENCE_S)
        assert are_gone(processes)
