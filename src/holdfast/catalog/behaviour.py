"""What releases of the training libraries do that decides the memory of a step: dtypes, losses, optimizers.

Source: `behaviour.toml`, read in the wheels of the releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from packaging.version import Version

from holdfast.catalog.tables import load_table
from holdfast.core.check.finding import MissingFactError


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a release does.

    Attributes:
        package: Whose release.
        value: What it does, as the table names it.
        since: The first release that does so; empty for the earliest that were read.
        source: Where that was read.
    """

    package: str
    value: str | float | bool
    since: str = ""
    source: str


def behaviour(name: str, versions: Mapping[str, str]) -> Behaviour:
    """Return what the releases at hand do.

    >>> behaviour("weights_dtype", {"trl": "1.16.0"}).value
    'float32'

    Raises:
        MissingFactError: The version is not known, or it is outside of those that were read.
    """
    rows = [Behaviour(**row) for row in load_table("behaviour")[name]]
    package = rows[0].package
    if package not in versions:
        raise MissingFactError("versions", f"the version of {package} is not known")
    at_hand = Version(versions[package])
    first, last = (Version(each) for each in load_table("behaviour")["read"][package])
    held = [row for row in rows if not row.since or Version(row.since) <= at_hand]
    if not held or not first.release[:2] <= at_hand.release[:2] <= last.release[:2]:
        raise MissingFactError("versions", f"what {package} {at_hand} does was not read ({name.replace('_', ' ')})")
    return held[-1]
