"""Times of events."""

from typing import Annotated, Final

import msgspec

YEAR_9999_S: Final = 253_370_764_800
"""Its first second. No calendar here has a later year, so that no later time can be shown."""
UnixTime = Annotated[float, msgspec.Meta(ge=0, lt=YEAR_9999_S)]
"""Seconds since 1970."""
