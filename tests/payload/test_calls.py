"""Processes that answer commands do not take the machine's memory."""

import subprocess
import sys

import pytest

FILLS = """\
from holdfast.payload import calls
import psutil

calls.SHARE = 0.01
calls.bound_memory()
try:
    bytearray(psutil.virtual_memory().available // 2)
except MemoryError:
    print("bounded")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is one of Linux")
def test_what_fills_the_memory_raises() -> None:
    done = subprocess.run([sys.executable, "-c", FILLS], check=True, capture_output=True, text=True)

    assert done.stdout == "bounded\n"
