"""What the directives of a batch script say: `#SBATCH --nodes=2`.

Covered: machines, GPUs and tasks a machine, the time limit. Not covered: arrays, heterogeneous jobs.
Source: `man sbatch` of Slurm 24.05. Times: "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours",
"days-hours:minutes" and "days-hours:minutes:seconds".
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from holdfast.adapters.readers.command_line.launchers import Launch, read_number
from holdfast.adapters.readers.command_line.words import Word
from holdfast.core.run.backends import BACKEND_KEY, SLURM
from holdfast.core.text.places import LineIndex

DIRECTIVE: Final = re.compile(
    r"^#SBATCH[ \t]+(?P<option>--?[\w-]+?)(?:[ \t]*=[ \t]*|[ \t]+|(?<=[ \t]-\w))(?P<value>[^\s#]+)", re.MULTILINE
)
KEYS: Final = {
    "--nodes": "where.nodes",
    "-N": "where.nodes",
    "--gpus-per-node": "where.gpus_per_node",
    "--gres": "where.gpus_per_node",
    "--gpus": "where.gpus",
    "-G": "where.gpus",
    "--ntasks-per-node": "where.tasks_per_node",
    "--ntasks": "where.tasks",
    "-n": "where.tasks",
    "--time": "where.timeout",
    "-t": "where.timeout",
    "--partition": "where.hardware",
    "-p": "where.hardware",
}
TIME: Final = re.compile(r"(?:(?P<days>\d{1,6})-)?(?P<first>\d{1,9})(?::(?P<second>\d{1,9}))?(?::(?P<third>\d{1,9}))?")
GPUS: Final = re.compile(r"(?:gpu:)?(?:[A-Za-z_][\w.-]*:)?(?P<count>\d{1,6})")
MINUTE_S: Final = 60
HOUR_S: Final = 3600
DAY_S: Final = 86400


def read_directives(text: str, path: str) -> Launch | None:
    """Return the settings in a batch script's directives; None if it has none."""
    lines, launch = LineIndex(text), Launch((), by=("sbatch",))
    for option, value, word in _directives(text, path, lines):
        if not launch.values:
            launch.say(BACKEND_KEY, SLURM.name, word.place)
        if key := KEYS.get(option):
            launch.say(key, _read(key, option, value), word.place)
    return launch if launch.values else None


def _directives(text: str, path: str, lines: LineIndex) -> Iterator[tuple[str, str, Word]]:
    for found in DIRECTIVE.finditer(text):
        yield found["option"], found["value"], Word(found["value"], lines.place(path, *found.span("value")))


def _read(key: str, option: str, value: str) -> Any:
    if key == "where.timeout":
        return _timeout(value)
    if "gpu" in key:
        found = GPUS.fullmatch(value)
        return int(found["count"]) if found and (option != "--gres" or value.startswith("gpu")) else value
    return read_number(value)


def _timeout(text: str) -> str:
    """Return a time limit in seconds, `3600s`; as it is written, where it is none.

    >>> _timeout("30"), _timeout("1-12"), _timeout("02:00:00")
    ('1800s', '129600s', '7200s')
    """
    found = TIME.fullmatch(text)
    if found is None:
        return text
    first, second, third = (int(found[part] or 0) for part in ("first", "second", "third"))
    if found["days"] is not None:
        return f"{int(found['days']) * DAY_S + first * HOUR_S + second * MINUTE_S + third}s"
    if found["third"] is not None:
        return f"{first * HOUR_S + second * MINUTE_S + third}s"
    return f"{first * MINUTE_S + second}s"
