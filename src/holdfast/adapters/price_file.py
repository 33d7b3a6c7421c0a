"""A user's own list of machines with their prices: a TOML file of the shape of `catalog/tables/flavors.toml`."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.catalog.hub.flavors import load_flavors
from holdfast.catalog.hub.gpus import GB, load_gpus
from holdfast.core.errors import GroupedError, Spot, UsageError
from holdfast.core.plan.hardware import Hardware
from holdfast.core.run.backends import LOCAL
from holdfast.core.text.nearest import suggest_one
from holdfast.core.text.numbers import is_count, is_number
from holdfast.core.text.toml_text import parse_toml

TABLE: Final = "flavors"
EXAMPLE: Final = 'my-h100 = { provider = "RunPod", gpu = "h100", usd_per_hour = 2.4 }'
NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]*")
SHARED_KEYS: Final = ("priced", TABLE)
MEANT: Final[Mapping[str, str]] = {
    "price": "usd_per_hour",
    "price_per_hour": "usd_per_hour",
    "count": "gpus",
    "ram": "memory_gb",
    "ram_gb": "memory_gb",
}
"""Keys by other words than those of `flavors.toml`."""
LEAST_AMOUNT: Final = 0.001
MOST_AMOUNT: Final = 10**9
"""Of USD and of GB. What is computed from them stays above 0, and below the largest integer of JSON."""
MOST_COUNT: Final = 10_000
AMOUNTS: Final = f"from {LEAST_AMOUNT} to {MOST_AMOUNT:,}"
MOST_SHOWN: Final = 10**18
"""Larger whole numbers are not written out: Python refuses to write those of thousands of digits."""
COUNTS: Final = f"from 1 to {MOST_COUNT:,}"


@dataclass(frozen=True, slots=True)
class MachineKey:
    """A key of a machine.

    Attributes:
        is_right: Whether a value is of its kind.
        kind: What it takes, in words.
        example: How it is written.
        is_required: Whether a machine must have it.
    """

    is_right: Callable[[Any], bool]
    kind: str
    example: str
    is_required: bool = False


def _is_amount(value: Any) -> bool:
    return is_number(value) and LEAST_AMOUNT <= value <= MOST_AMOUNT


def _is_count(value: Any) -> bool:
    return is_count(value) and value <= MOST_COUNT


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_gpu(value: Any) -> bool:
    return isinstance(value, str) and value in load_gpus()


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


KEYS: Final[Mapping[str, MachineKey]] = {
    "provider": MachineKey(_is_text, "a name", 'provider = "RunPod"', is_required=True),
    "gpu": MachineKey(_is_gpu, "a GPU that holdfast knows", 'gpu = "h100"', is_required=True),
    "usd_per_hour": MachineKey(_is_amount, f"an amount in USD, {AMOUNTS}", "usd_per_hour = 2.4", is_required=True),
    "gpus": MachineKey(_is_count, f"a number of GPUs, {COUNTS}", "gpus = 2"),
    "vram_gb": MachineKey(_is_amount, f"the memory of each GPU in GB, {AMOUNTS}", "vram_gb = 80"),
    "memory_gb": MachineKey(_is_amount, f"the main memory in GB, {AMOUNTS}", "memory_gb = 180"),
    "disk_gb": MachineKey(_is_amount, f"the disk in GB, {AMOUNTS}", "disk_gb = 500"),
    "cpus": MachineKey(_is_count, f"a number of cores, {COUNTS}", "cpus = 16"),
    "source": MachineKey(_is_text, "where the price was read", 'source = "https://example.com/prices"'),
}
"""What a machine may have; names, units and meanings are those of `flavors.toml`."""


def load_price_file(path: Path) -> tuple[Hardware, ...]:
    """Return the machines of a price file.

    Raises:
        UsageError: It cannot be read, or is not valid TOML.
        GroupedError: Of a UsageError for everything wrong in it.
    """
    try:
        text = read_foreign_text(path)
        table = parse_toml(text)
    except OSError as error:
        what = f"the price file cannot be read: {error.strerror or error}"
        raise UsageError(what, where=str(path), fix="name a file that is there") from error
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the price file is not valid TOML: {error}", where=str(path), fix="correct it") from error
    file = PriceFile(str(path), text)
    if problems := [*file.problems(table)]:
        raise GroupedError(f"{path} has mistakes", problems)
    day = table.get("priced")
    return tuple(_machine(name, row, day) for name, row in table[TABLE].items())


@dataclass(frozen=True, slots=True)
class PriceFile:
    """A price file, for messages.

    Attributes:
        path: Where it is.
        text: Its content.
    """

    path: str
    text: str

    def problems(self, table: Mapping[str, Any]) -> Iterator[UsageError]:
        """Yield everything wrong in its table."""
        for key in (each for each in table if each not in SHARED_KEYS):
            yield self._error(f"a price file has no key `{key}`", key, suggest_one(key, SHARED_KEYS))
        if not _is_day(table.get("priced", date.min)):
            what = f"`priced` cannot be {_render_value(table['priced'])}"
            yield self._error(what, "priced", "write a date: `priced = 2026-11-28`")
        rows = table.get(TABLE)
        if not isinstance(rows, dict) or not rows:
            yield self._error("it lists no machines", TABLE, f"write `[{TABLE}]`, and below it `{EXAMPLE}`")
            return
        for name, row in rows.items():
            yield from self._problems_of_row(name, row)

    def _problems_of_row(self, name: str, row: Any) -> Iterator[UsageError]:
        if not NAME.fullmatch(name):
            yield self._error(f"`{name}` cannot name a machine", name, "use small letters, digits, `-`, `.` and `_`")
        if name in load_flavors() or name == LOCAL.name:
            owner = "this machine" if name == LOCAL.name else "a flavor of Hugging Face Jobs"
            yield self._error(f"`{name}` is the name of {owner}", name, "choose another name")
        if not isinstance(row, dict):
            yield self._error(f"`{name}` is not a machine", name, f"write it such as `{EXAMPLE}`")
            return
        for key, value in row.items():
            if problem := self._problem_of_key(name, key, value):
                yield problem
        for key, known in KEYS.items():
            if known.is_required and key not in row:
                yield self._error(f"`{name}` lacks `{key}`", name, f"add `{known.example}`")

    def _problem_of_key(self, name: str, key: str, value: Any) -> UsageError | None:
        known = KEYS.get(key)
        if known is None:
            meant = MEANT.get(key)
            fix = f"did you mean `{meant}`?" if meant else suggest_one(key, tuple(KEYS))
            return self._error(f"`{name}` cannot have `{key}`", name, fix)
        if known.is_right(value):
            return None
        if key == "gpu" and isinstance(value, str):
            fix = suggest_one(value, tuple(load_gpus()))
        else:
            fix = f"write {known.kind}, such as `{known.example}`"
        return self._error(f"`{key}` of `{name}` cannot be {_render_value(value)}", name, fix)

    def _error(self, what: str, key: str, fix: str) -> UsageError:
        found = re.search(rf"^[ \t\[]*(?:{TABLE}\.)?[\"']?{re.escape(key)}[\"']?[ \t]*[=\].]", self.text, re.MULTILINE)
        line = self.text.count("\n", 0, found.start()) + 1 if found else None
        return UsageError(what, where=Spot(self.path, line), fix=fix)


def _render_value(value: Any) -> str:
    """Return a value as a message names it: of a list, a table or a huge number, its kind, for any length and depth.

    >>> _render_value("h10"), _render_value(["h100"]), _render_value(16**5000)
    ("'h10'", 'a list', 'so large a number')
    """
    match value:
        case dict():
            return "a table"
        case list():
            return "a list"
        case date() | time():
            return str(value)
        case int() if abs(value) > MOST_SHOWN:
            return "so large a number"
        case _:
            return repr(value)


def _machine(name: str, row: Mapping[str, Any], day: date | None) -> Hardware:
    gpu = load_gpus()[row["gpu"]]
    if "vram_gb" in row:
        gpu = replace(gpu, memory_bytes=round(row["vram_gb"] * GB))
    return Hardware(
        name=name,
        gpus=(gpu,) * row.get("gpus", 1),
        usd_per_hour=float(row["usd_per_hour"]),
        cores=row.get("cpus", 0),
        memory_bytes=round(row.get("memory_gb", 0) * GB),
        disk_bytes=round(row.get("disk_gb", 0) * GB),
        provider=row["provider"].strip(),
        priced=day,
    )
