"""Processes that answer commands neither outlive the one that wants the answers, nor take the machine's memory."""

import subprocess
import sys
import time

import psutil
import pytest

from holdfast.adapters.environment.marked_processes import PARENT
from holdfast.payload import calls

PATIENCE_S = 60.0
CHILD = "from holdfast.payload.calls import end_with_parent; end_with_parent(); import time; print(1, flush=True); time.sleep(600)"
STARTS = f"""\
import subprocess, sys, time
from holdfast.adapters.environment.marked_processes import marked_child

with marked_child([sys.executable, "-c", {CHILD!r}], "HOLDFAST_TEST", stdout=subprocess.PIPE) as child:
    child.stdout.readline()
    print(child.pid, flush=True)
    time.sleep(600)
"""
FILLS = """\
from holdfast.payload.calls import bound_memory
import psutil

bound_memory(0.01)
try:
    bytearray(psutil.virtual_memory().available // 2)
except MemoryError:
    print("bounded")
"""


def test_a_process_ends_after_its_parent_was_killed() -> None:
    """Its parent had no time to end it."""
    with subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    until = time.monotonic() + PATIENCE_S
    while child.is_running() and child.status() != psutil.STATUS_ZOMBIE and time.monotonic() < until:
        psutil.wait_procs([child], timeout=0.2)

    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_both_sides_name_the_parent_alike() -> None:
    assert PARENT == calls.PARENT


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_what_fills_the_memory_raises() -> None:
    done = subprocess.run([sys.executable, "-c", FILLS], check=True, capture_output=True, text=True)

    assert done.stdout == "bounded\n"
