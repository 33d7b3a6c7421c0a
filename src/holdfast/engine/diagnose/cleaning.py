"""Lines as people read them: what launchers, schedulers, log collectors, progress bars and rich put around a text taken off.

Covered: escapes, `[rank0]:`, `[default0]:`, `0: ` (srun --label), `[1,0]<stderr>:` (mpirun), `(EngineCore_DP0 pid=1)`, Ray's
`(train_fn pid=1, ip=10.0.0.1)`, vLLM's `ERROR 01-11 13:09:40 engine.py:366]`, journald, kubectl's `[pod/…]`, container time
stamps, ISO time stamps, tqdm's bars, the frames of rich's boxes. Not covered: names of loggers, which signatures may ask for.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][AB012]|[=>78cDEHM])")
CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
BAR: Final = re.compile(
    r"(?:[^|\r\n{}]{0,120}?)\d{1,3}%\|[^|]*\|\s*[\d.,]+[kMGTi]*B?/(?:[\d.,]+[kMGTi]*B?|\?)\s*\[[^\]]*\]"
    r"|(?:[^|\r\n{}\[]{0,80}?)\d+(?:it|ex|examples|B|steps?)? \[\d+:\d\d(?::\d\d)?, [^\]]*(?:it|s|examples|B|step)/(?:s|it)[^\]]*\]"
)
"""A state of a progress bar: `Steps:   0%|▏         | 1/800 [00:17<3:57:13, 17.81s/it, lr=5e-5]`."""
STEP: Final = re.compile(r"(\d+)/(\d+) \[\d+:\d\d")
BOXED: Final = re.compile(r"^\s*[│┃|](?: (.*?)|)\s*[│┃|]\s*$")
ISO: Final = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
WHEN: Final = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?")
GLOG: Final = re.compile(r"\[?[EWIF](\d\d?)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)")
"""`[E1122 06:40:00.504052851 ProcessGroupNCCL.cpp:616]`: month and day, no year."""


@dataclass(slots=True)
class Cleaned:
    """A text, and what the prefixes that were taken off told."""

    text: str
    rank: int | None = None
    source: str = ""
    at_s: float | None = None
    bar: str = ""


def _take_rank(found: re.Match[str], line: Cleaned) -> None:
    if line.rank is None:
        line.rank = int(found["rank"])


def _take_worker(found: re.Match[str], line: Cleaned) -> None:
    line.source = line.source or found["who"]
    if found["rank"] and line.rank is None:
        line.rank = int(found["rank"])


def _take_source(found: re.Match[str], line: Cleaned) -> None:
    line.source = line.source or found["who"]


def _take_time(found: re.Match[str], line: Cleaned) -> None:
    if line.at_s is None:
        line.at_s = time_in(found[0])


PREFIXES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], Cleaned], None]], ...]] = (
    ("[", re.compile(r"\[rank:?\s?(?P<rank>\d+)\]:? ?"), _take_rank),
    ("[", re.compile(r"\[default(?P<rank>\d+)\]: ?"), _take_rank),
    ("[", re.compile(r"\[\d+,(?P<rank>\d+)\](?:<std(?:err|out)>)?: ?"), _take_rank),
    ("[", re.compile(r"\[(?P<who>pod/[^\]\s]+)\] ?"), _take_source),
    ("[", re.compile(rf"\[{ISO}\] "), _take_time),
    (
        "(",
        re.compile(r"\((?P<who>[A-Za-z_][\w.:\-]*(?: rank=(?P<rank>\d+))? pid=\d+)(?:, ip=[\d.]+)?\) ?"),
        _take_worker,
    ),
    (
        "DIWEC",
        re.compile(
            r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[\w./]+:\d+\]|[\w./]+:\d+\]) ?"
        ),
        lambda *_: None,
    ),
    ("0123456789", re.compile(rf"{ISO}(?: std(?:out|err) [FP])? (?:- |\| )?(?=\S|\s)"), _take_time),
    ("0123456789", re.compile(r"(?![45]\d\d:)(?P<rank>\d{1,3}): (?=\S|\s)"), _take_rank),
    (
        "ADFJMNOS",
        re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ (?P<who>[\w.@\-/]+)(?:\[\d+\])?: "),
        _take_source,
    ),
    ("", re.compile(r"\S{1,80} \[std(?:err|out)\] "), lambda *_: None),
    ("", re.compile(r"\s{1,8}\d{1,6} (?=\[rank)"), lambda *_: None),
)
"""First characters, what a prefix looks like from there, and what it tells."""
MOST_PREFIXES: Final = 5


def decode(raw: bytes) -> str:
    """Return the text of bytes: UTF-8, or Latin-1 where they are none; single broken characters are replaced."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    whole = sum(not each.isascii() for each in text) - broken
    return text if whole >= broken else raw.decode("latin-1")


def clean(raw: str) -> Cleaned:
    r"""Return one state of one line without what stands around its text.

    >>> clean("[rank1]:   File \"x.py\", line 3, in f")
    Cleaned(text='  File "x.py", line 3, in f', rank=1, source='', at_s=None, bar='')
    >>> clean(" 25%|██▌  | 5/20 [00:00<00:00, 23.97it/s][rank1]: ValueError: x")
    Cleaned(text='ValueError: x', rank=1, source='', at_s=None, bar='25%|██▌  | 5/20 [00:00<00:00, 23.97it/s]')
    """
    text = CONTROL.sub("", raw) if not raw.isprintable() else raw
    line = Cleaned(text.rstrip())
    _strip_prefixes(line)
    _strip_bar(line)
    _strip_box(line)
    if line.at_s is None:
        line.at_s = _glog_time(line.text)
    return line


def _strip_prefixes(line: Cleaned) -> None:
    for _ in range(MOST_PREFIXES):
        if not _strip_prefix(line):
            return


def _strip_prefix(line: Cleaned) -> bool:
    first = line.text[:1]
    for starts, pattern, take in PREFIXES:
        if (not starts or (first and first in starts)) and (found := pattern.match(line.text)):
            take(found, line)
            line.text = line.text[found.end() :]
            return True
    return False


def _strip_bar(line: Cleaned) -> None:
    """Take the bars off that another text is glued to; a bar alone is the line."""
    if "/s" not in line.text and "s/it" not in line.text and "?it" not in line.text:
        return
    rest = line.text
    while found := BAR.match(rest):
        rest = rest[found.end() :]
    if rest.strip() and rest is not line.text:
        line.bar, line.text = line.text[: len(line.text) - len(rest)].strip(), rest
        _strip_prefixes(line)


def _strip_box(line: Cleaned) -> None:
    if line.text.lstrip()[:1] in ("│", "┃") and (found := BOXED.match(line.text)):
        line.text = (found[1] or "").rstrip()


def is_bar(text: str) -> bool:
    """Tell whether a text is nothing but a state of a progress bar."""
    found = BAR.match(text) if "|" in text or "it" in text else None
    return found is not None and not text[found.end() :].strip()


def step_in(text: str) -> tuple[int, int] | None:
    """Return the step that a progress bar shows, and how many there are.

    >>> step_in(" 26%|██▌       | 1488/5798 [7:44:21<22:06:08, 18.46s/it]")
    (1488, 5798)
    """
    found = STEP.search(text)
    return (int(found[1]), int(found[2])) if found else None


def time_in(text: str) -> float | None:
    """Return the Unix time that a text tells first, its own clock taken for UTC; None where it tells none."""
    found = WHEN.search(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    try:
        whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
    return whole + float(f"0.{found[7] or 0}")


def _glog_time(text: str) -> float | None:
    """Return seconds since the beginning of a year that is not told: such times order lines, and tell no date."""
    found = GLOG.match(text)
    if found is None:
        return None
    month, day, hour, minute, second = (int(part) for part in found.groups()[:5])
    return ((month * 31 + day) * 24 + hour) * 3600.0 + minute * 60 + second + float(f"0.{found[6]}")
