"""Lines as people read them: what launchers, schedulers, log collectors, progress bars and rich put around a text taken off.

Covered: escapes, `[rank0]:`, `[default0]:`, `0: ` (srun --label), `[1,0]<stderr>:` (mpirun), `(EngineCore_DP0 pid=1)`, Ray's
`(train_fn pid=1, ip=10.0.0.1)`, vLLM's `ERROR 01-11 13:09:40 engine.py:366]`, journald, kubectl's `[pod/…]`, container time
stamps, ISO time stamps, tqdm's bars, the frames of rich's boxes, exceptions that processes wrote into each other. Not covered:
names of loggers, which signatures may ask for.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Final

ESCAPES: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][AB012]|[=>78cDEHM])")
TYPESET: Final = str.maketrans("\u2018\u2019\u201c\u201d\xa0", "''\"\" ")
"""What forums and editors make of plain quotes and spaces."""
CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
BAR: Final = re.compile(
    r"(?:[^|\r\n{}]{0,120}?)\d{1,3}%\|[^|]*\|\s*[\d.,]+[kMGTi]*B?/(?:[\d.,]+[kMGTi]*B?|\?)\s*\[[^\]]*\]"
    r"|(?:[^|\r\n{}\[]{0,80}?)\d+(?:it|ex|examples|B|steps?)? \[\d+:\d\d(?::\d\d)?, [^\]]*(?:it|s|examples|B|step)/(?:s|it)[^\]]*\]"
)
"""A state of a progress bar: `Steps:   0%|▏         | 1/800 [00:17<3:57:13, 17.81s/it, lr=5e-5]`."""
SAMPLE: Final = re.compile(r"sample at step \d+: ")
"""The beginning of what a model writes during a run of holdfast's: no words of the job's."""
STEP: Final = re.compile(r"(\d+)/(\d+) \[\d+:\d\d")
BOXED: Final = re.compile(r"^\s*[│┃|](?: (.*?)|)\s*[│┃|]\s*$")
GROUP: Final = re.compile(r"^\s+(?:\| ?(?!.*\|\s*$)|\+(?:-\+)?-{3,}(?: \d+ -{3,})?$|\+ (?=Exception Group ))")
TWICE: Final = re.compile(r"(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt))(?P=kind)+(?:: ){2,}(?P<says>.+)")
"""What processes write that fail at once into one stream: `KeyErrorKeyError: : 'text''text'`."""
ISO: Final = r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
WHEN: Final = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?")
GLOG: Final = re.compile(r"\[?[EWIF](\d\d?)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d+)")
"""`[E1122 06:40:00.504052851 ProcessGroupNCCL.cpp:616]`: month and day, no year."""


@dataclass(slots=True)
class Cleaned:
    """A text, and the fields of the prefixes that were taken off."""

    text: str
    rank: int | None = None
    source: str = ""
    at_s: float | None = None
    bar: str = ""


def _take_rank(match: re.Match[str], line: Cleaned) -> None:
    if line.rank is None:
        line.rank = int(match["rank"])


def _take_worker(match: re.Match[str], line: Cleaned) -> None:
    line.source = line.source or match["who"]
    if match["rank"] and line.rank is None:
        line.rank = int(match["rank"])


def _take_source(match: re.Match[str], line: Cleaned) -> None:
    line.source = line.source or match["who"]


def _take_time(match: re.Match[str], line: Cleaned) -> None:
    if line.at_s is None:
        line.at_s = time_in(match[0])


def _pass(_: re.Match[str], __: Cleaned) -> None:
    """Learn nothing from a prefix."""


LEVEL: Final = (
    r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL|TRACE|debug|info|warn(?:ing)?|error|critical|fatal)"
)
LOGGER: Final = r"(?:[A-Za-z_][\w.\-]*(?::[\w<>]+)*(?::\d+)?)"
"""Who says it: `trl.trainer`, `__main__:main:42`."""
SAID: Final = (
    rf"(?:(?:- |\| )?{LOGGER} (?:- |\| ){LEVEL}\s*(?:- |\| |: )|(?:- |\| ){LEVEL}\s*(?:- |\| )(?:{LOGGER}\s*(?:-(?:   | )|\| |: ))?"
    r"|- |\| )?"
)
"""What loggers write between the time and the text: ` - trl - ERROR - `, ` | ERROR    | __main__:main:42 - `."""
CLOCK: Final = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
ZONE: Final = r"(?: ?Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4}(?= |\]))?"
STAMP: Final = (
    rf"(?:(?:\d{{4}}[-/]\d\d[-/]\d\d|\d\d[-/]\d\d[-/]\d{{4}}|\d\d/[A-Z][a-z]{{2}}/\d{{4}})[T :])?{CLOCK}{ZONE}"
)
PREFIXES: Final[tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], Cleaned], None]], ...]] = (
    ("[", re.compile(r"(?:\[[\w\-]+\])?\[rank[:\-_]?\s?(?P<rank>\d{1,9})\]:? ?"), _take_rank),
    ("[", re.compile(r"\[default(?P<rank>\d{1,9})\]: ?"), _take_rank),
    ("[", re.compile(r"\[\d+,(?:mpirank:)?(?P<rank>\d{1,9})(?:,[\w\-]+)?\](?:<std(?:err|out)>)?: ?"), _take_rank),
    ("[", re.compile(r"\[(?P<who>pod/[^\]\s]+)\] ?"), _take_source),
    ("[", re.compile(rf"\[{STAMP}\] "), _take_time),
    ("[", re.compile(rf"\[{LEVEL}\|[\w./\-]+:\d+\] {ISO} >> ?"), _take_time),
    (
        "(",
        re.compile(r"\((?P<who>[A-Za-z_][\w.:\-]*(?:,? rank=(?P<rank>\d{1,9}))?,? pid=\d+)(?:, ip=[\d.]+)?\) ?"),
        _take_worker,
    ),
    (
        "DIWEC",
        re.compile(
            r"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[\w./]+:\d+\]|[\w./]+:\d+\]) ?"
        ),
        _pass,
    ),
    (">", re.compile(r"(?:> ?)+(?!\[)"), _pass),  # a mail's
    ("E", re.compile(r"E {3,7}(?=\S)|E$"), _pass),  # a test runner's
    ("0123456789", re.compile(rf"{STAMP}(?: std(?:out|err) [FP])?(?: {SAID}|: |$)"), _take_time),
    ("0123456789", re.compile(r"(?![45]\d\d:)(?P<rank>\d{1,3}): (?=\S|\s)"), _take_rank),
    (
        "ADFJMNOS",
        re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ (?P<who>[\w.@\-/]+)(?:\[\d+\])?: "),
        _take_source,
    ),
    ("", re.compile(r"(?P<who>[a-zA-Z][\w.\-]*[\-_]\d+)\s+\| ?"), _take_source),
    ("", re.compile(rf"(?P<who>[a-z][a-z0-9\-]*[a-z0-9] [a-z0-9][a-z0-9\-]*) (?={ISO} )"), _take_source),
    ("", re.compile(r"\S{1,80} \[std(?:err|out)\] "), _pass),
    ("", re.compile(r"\s{1,8}\d{1,6} (?=\[rank)"), _pass),
)
"""First characters, what a prefix looks like from there, and what it tells."""
MOST_PREFIXES: Final = 5
FEWEST_LINES: Final = 8
"""Lines from which it is believed that what all of them begin with is a collector's."""
EVERY: Final = 0.95
"""Share of the lines that begin so."""
LONGEST_PREFIX: Final = 100
SEPARATOR: Final = re.compile(r"(?<=\w)[\])}>|:]*[ :|](?: )?")
"""Where a prefix may end."""
SAYS: Final = re.compile(rf"\s*(?:> ?)*(?:\[?{LEVEL}\]?(?::[\w.\-]+:|:?\s+)|{LOGGER}: {LEVEL}: )?\s*")
"""What may stand before a text in a single line: spaces, a quotation's sign, a logger's level and name."""


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
    >>> clean("KeyErrorKeyError: : 'text''text'").text, clean("18:02:11 sample at step 4: Why? -> invalid configuration").text
    ("KeyError: 'text'", '')
    """
    text = CONTROL.sub("", raw) if not raw.isprintable() else raw
    text = text if text.isascii() else text.translate(TYPESET)
    line = Cleaned(text.rstrip())
    _strip_prefixes(line)
    _strip_bar(line)
    _strip_box(line)
    _strip_group(line)
    _part_twice(line)
    if SAMPLE.match(line.text):
        line.text = ""
    if line.at_s is None:
        line.at_s = _glog_time(line.text)
    return line


def bare(text: str) -> str:
    """Return a text without what may be part of it as well as a prefix.

    >>> bare("  > ERROR:__main__:KeyError: 1"), bare("[ERROR] KeyError: 1"), bare("KeyError: 1")
    ('KeyError: 1', 'KeyError: 1', 'KeyError: 1')
    """
    found = SAYS.match(text)
    return text[found.end() :] if found else text


def prefix_of(texts: Sequence[str]) -> re.Pattern[str] | None:
    """Return the prefix that an unknown log collector puts before each line, with any numbers; None if there is none.

    Args:
        texts: Lines of a log, known prefixes taken off.

    >>> found = prefix_of([f"job/7 worker {at}: {text}" for at in range(4) for text in ("loss 1", "  x", "y", "z: 2")])
    >>> found.sub("", "job/8 worker 31: KeyError: 1")
    'KeyError: 1'
    """
    filled = [text for text in texts if text.strip()]
    if indent := _common_indent(filled):
        return re.compile(rf"\s{{{indent}}}")
    if len(filled) < FEWEST_LINES:
        return None
    models = (filled[0], filled[len(filled) // 2], filled[-1])
    patterns = chain.from_iterable(map(_prefixes, models))
    return next((pattern for pattern in patterns if _is_before_all(pattern, filled)), None)


def _common_indent(texts: Sequence[str]) -> int:
    """Return the number of spaces that several lines all begin with."""
    return min(len(text) - len(text.lstrip()) for text in texts) if len(texts) > 1 else 0


def _prefixes(text: str) -> Iterator[re.Pattern[str]]:
    """Yield what may be a prefix of a line, the longest first; a single word is one only with a number."""
    ends = [found.end() for found in SEPARATOR.finditer(text[:LONGEST_PREFIX])]
    for end in reversed(ends if re.match(r"\S*\d", text) else ends[1:]):
        yield re.compile(re.sub(r"\d+", r"\\d+", re.escape(text[:end])))


def _is_before_all(pattern: re.Pattern[str], texts: Sequence[str]) -> bool:
    """True if almost all lines begin with a prefix, and differ behind it."""
    rest = [text[found.end() :] for text in texts if (found := pattern.match(text))]
    kinds = {re.sub(r"\d+", "#", text) for text in rest}
    return len(rest) >= EVERY * len(texts) and len(kinds) >= FEWEST_LINES // 2


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


def _strip_group(line: Cleaned) -> None:
    """Take off the lines that Python draws around the exceptions of a group."""
    if line.text[:2] == "  " and line.text.lstrip()[:1] in ("|", "+") and (found := GROUP.match(line.text)):
        line.text = line.text[found.end() :]


def _part_twice(line: Cleaned) -> None:
    """Leave one of the exceptions that several processes wrote into each other."""
    if ": : " in line.text and (found := TWICE.fullmatch(line.text)):
        repeated = re.fullmatch(r"(.{3,}?)\1+", found["says"])
        line.text = f"{found['kind']}: {repeated[1] if repeated else found['says']}"


def is_bar(text: str) -> bool:
    """True if a text is nothing but a state of a progress bar."""
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
    """Return the Unix time that a text tells first, its own clock taken for UTC; None if it tells none."""
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
    """Return seconds since the beginning of an unknown year: such times order lines, and give no date."""
    found = GLOG.match(text)
    if found is None:
        return None
    month, day, hour, minute, second = (int(part) for part in found.groups()[:5])
    return ((month * 31 + day) * 24 + hour) * 3600.0 + minute * 60 + second + float(f"0.{found[6]}")
