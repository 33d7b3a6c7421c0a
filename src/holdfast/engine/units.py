"""How numbers with units are written for people."""

import math

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
TENTHS_UNTIL_S = 10.0  # above, a tenth of a second does not matter
PADDED_FROM = 0.01  # losses keep three digits, so that they line up; learning rates are shorter without
BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
COUNTS = ((1e9, " B"), (1e6, " M"), (1e3, " k"), (1, ""))


def render_duration(seconds: float) -> str:
    """Write a span of time with its two largest units.

    >>> render_duration(0.42), render_duration(102.4), render_duration(93_600)
    ('0.4 s', '1 min 42 s', '1 d 2 h')
    """
    whole = round(seconds)
    if whole < TENTHS_UNTIL_S:
        return f"{max(seconds, 0):.1f} s"
    if whole < MINUTE_S:
        return f"{whole} s"
    if whole < HOUR_S:
        return f"{whole // MINUTE_S} min {whole % MINUTE_S:02} s"
    if whole < DAY_S:
        return f"{whole // HOUR_S} h {whole % HOUR_S // MINUTE_S:02} min"
    return f"{whole // DAY_S} d {whole % DAY_S // HOUR_S} h"


def render_bytes(size: float) -> str:
    """Write a size in powers of a thousand, as disks and the Hub count.

    >>> render_bytes(33_438_947), render_bytes(512), render_bytes(0)
    ('33.4 MB', '512 B', '0 B')
    """
    power, unit = next((step for step in BYTES if size >= step[0]), BYTES[-1])
    return f"{_three_digits(size / power)} {unit}"


def render_count(count: float) -> str:
    """Write a count of parameters, tokens or rows, shortened from a thousand on.

    >>> render_count(2_756_224), render_count(494_032_768), render_count(300)
    ('2.76 M', '494 M', '300')
    """
    power, unit = next((step for step in COUNTS if count >= step[0]), COUNTS[-1])
    return f"{_three_digits(count / power)}{unit}"


def render_number(value: float) -> str:
    """Write a loss, a rate or a norm so that two of them can be compared.

    >>> [render_number(value) for value in (8.3612, 2.8, 123.456, 0.5, 0.0009, 2e-5, 300, float("nan"))]
    ['8.36', '2.80', '123', '0.500', '0.0009', '2e-05', '300', 'not a number']
    """
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "infinite"
    if value == int(value):
        return f"{value:.9g}"
    return f"{value:#.3g}".rstrip(".") if abs(value) >= PADDED_FROM else f"{value:.3g}"


def render_change(before: float, after: float) -> str:
    """Write how far a value went, in percent of where it stood.

    >>> render_change(8.36, 2.80), render_change(2.0, 2.1), render_change(2.0, 1.99)
    ('-67 %', '+5 %', '-0.5 %')
    """
    percent = (after - before) / abs(before) * 100 if before else 0.0
    return f"{percent:+.0f} %" if abs(percent) >= 1 else f"{percent:+.1f} %"


def _three_digits(value: float) -> str:
    """Return the value with three digits, or with all that stand before its point."""
    decimals = max(0, 2 - int(math.log10(value))) if value >= 1 else 0
    return f"{value:.{decimals}f}" if value != int(value) else f"{value:.0f}"


def render_counted(count: int, what: str) -> str:
    """Return a count with its noun.

    >>> render_counted(1, "error"), render_counted(2, "fix"), render_counted(3, "micro-batch"), render_counted(4, "copy")
    ('1 error', '2 fixes', '3 micro-batches', '4 copies')
    """
    return f"{count:,} {what if count == 1 else _plural(what)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("x", "s", "ch")) else f"{noun}s"
