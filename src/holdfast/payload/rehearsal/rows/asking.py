"""Who asks for rows: the script, and which of its lines, or a library."""

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

LIBRARIES = ("site-packages", "dist-packages")
OURS = str(Path(__file__).parent.parent)
AROUND = ("wrapped", "bound")  # what `wrapping.wrap` and the runtime's put in a function's place
STANDARD = sysconfig.get_path("stdlib") + os.sep


def is_called_by_script() -> bool:
    """True if the first caller beyond this package is not a library."""
    frame = sys._getframe(1)
    while frame.f_back and _is_ours(frame):
        frame = frame.f_back
    return not _is_library(frame)


def calling_line() -> int:
    """Return the number of the script's line that is being run; 0 where libraries alone are."""
    frame: Any = sys._getframe(1)
    while frame and (_is_ours(frame) or _is_library(frame) or frame.f_code.co_filename.startswith((STANDARD, "<"))):
        frame = frame.f_back
    runs = frame and Path(frame.f_code.co_filename).parent.name not in ("rehearsal", "payload")
    return int(frame.f_lineno) if runs else 0


def _is_ours(frame: Any) -> bool:
    return frame.f_code.co_filename.startswith(OURS) or frame.f_code.co_name in AROUND


def _is_library(frame: Any) -> bool:
    return any(f"{os.sep}{folder}{os.sep}" in frame.f_code.co_filename for folder in LIBRARIES)
