"""What pandas, which `datasets` reads CSV with, makes of lines and names."""

from collections import Counter
from collections.abc import Sequence


def is_blank(cells: Sequence[str]) -> bool:
    """True if a line is passed over.

    >>> is_blank([]), is_blank(["  "]), is_blank(["", ""])
    (True, True, False)
    """
    return not cells or (len(cells) == 1 and cells[0].isspace())


def pandas_names(header: Sequence[str]) -> tuple[str, ...]:
    """Return the names that the columns get.

    >>> pandas_names(["a", "a", ""])
    ('a', 'a.1', 'Unnamed: 2')
    """
    names: list[str] = []
    times = Counter[str]()
    for position, name in enumerate(header):
        before = times[name] if name else 0
        names.append(f"{name}.{before}" if before else name or f"Unnamed: {position}")
        times[name] += 1
    return tuple(names)
