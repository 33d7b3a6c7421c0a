"""Processes that share work: they end with the one that forked them, however it ends."""

import subprocess
import sys

import psutil

from holdfast.adapters.environment.forked_pool import forked_pool

PATIENCE_S = 60.0
SHARES = """\
import os, signal
from holdfast.app.check.many import share_out

def answer(number):
    os.write(1, f"{os.getpid()}\\n".encode())  # at once: the two may write at the same time
    signal.pause()

list(share_out(range(2), answer, 2))
"""


def test_the_processes_that_check_files_end_after_their_parent_was_killed() -> None:
    """They waited for more work, for ever, each with what their parent had in memory."""
    with subprocess.Popen([sys.executable, "-c", SHARES], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        workers = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
        parent.kill()

    _, alive = psutil.wait_procs(workers, timeout=PATIENCE_S)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


def test_a_pool_does_its_work() -> None:
    with forked_pool(2) as pool:
        assert list(pool.map(abs, [-1, 2, -3])) == [1, 2, 3]
