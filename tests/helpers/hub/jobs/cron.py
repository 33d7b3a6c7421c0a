"""When a schedule comes next: five fields, or a name.

Source: https://huggingface.co/docs/hub/jobs-schedule; the times are taken to be UTC.
"""

from datetime import UTC, datetime, timedelta

NAMED = {
    "@annually": "0 0 1 1 *",
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LOWEST, HIGHEST = (0, 0, 1, 1, 0), (59, 23, 31, 12, 7)


def next_run(schedule: str, after_s: float) -> float:
    """Return the first time of a schedule after another time. Raises ValueError if it is none, or never comes."""
    fields = NAMED.get(schedule, schedule).split()
    if len(fields) != len(LOWEST):
        raise ValueError(schedule)
    minutes, hours, days, months, weekdays = map(_values, fields, LOWEST, HIGHEST)
    weekdays |= {0} if 7 in weekdays else set()
    either = fields[2] != "*" and fields[4] != "*"
    at = datetime.fromtimestamp(after_s, UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
    last = at + timedelta(days=366 * 8)
    while at < last:
        day, weekday = at.day in days, at.isoweekday() % 7 in weekdays
        if at.month not in months or not (day or weekday if either else day and weekday):
            at = at.replace(hour=0, minute=0) + timedelta(days=1)
        elif at.hour not in hours:
            at = at.replace(minute=0) + timedelta(hours=1)
        elif at.minute not in minutes:
            at += timedelta(minutes=1)
        else:
            return at.timestamp()
    raise ValueError(schedule)


def _values(field: str, lowest: int, highest: int) -> set[int]:
    """Return the numbers that a field means: `*`, `5`, `1-5`, `*/15`, `1,3`."""
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        start = lowest if span == "*" else int(first)
        end = highest if span == "*" or (step and not dash) else int(last or first)
        if not lowest <= start <= end <= highest:
            raise ValueError(field)
        values |= set(range(start, end + 1, int(step or 1)))
    return values
