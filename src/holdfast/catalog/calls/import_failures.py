"""Imports that fail for a pair of versions, although each package has all that is asked of it.

Source: `import_failures.toml`, which tells what was run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from holdfast.catalog.api import Api, released
from holdfast.catalog.api.since import since
from holdfast.catalog.tables import load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportFailure:
    """A name that cannot be imported with some versions.

    Attributes:
        name: Its path, such as `trl.DPOTrainer`.
        trl: The first and the last release of trl that fails.
        others: The first releases of other packages with which it does.
        error: What the program ends with.
        instead: What to do.
        lacks: The package whose absence is the reason; where it is installed nothing fails.
    """

    name: str
    trl: tuple[str, str]
    others: Mapping[str, str]
    error: str
    instead: str
    lacks: str = ""

    def concerns(self, api: Api) -> bool:
        """True if these versions are among those that fail."""
        releases, here = released("trl"), api.versions.get("trl")
        if here not in releases or not set(self.trl) <= set(releases):
            return False
        first, last = map(releases.index, self.trl)
        fails = first <= releases.index(here) <= last
        return fails and all(since(api, package, version) for package, version in self.others.items())


@cache
def import_failures() -> tuple[ImportFailure, ...]:
    """Return all that were seen."""
    return tuple(ImportFailure(**{**row, "trl": tuple(row["trl"])}) for row in load_table("import_failures")["failure"])
