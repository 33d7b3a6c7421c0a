"""Print why this machine gives no sandbox; nothing if it gives one."""

import sys

from . import why_none

sys.stdout.write(why_none())
