"""How addresses begin."""

from typing import Final

WEB: Final = ("https://", "http://")
"""Beginnings of an address of the web; `https://` is far more frequent."""
