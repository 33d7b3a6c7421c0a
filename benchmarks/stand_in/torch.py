"""What the runtime asks torch about: neither a GPU nor other ranks."""

from types import SimpleNamespace

__version__ = "2.13.0"
cuda = SimpleNamespace(is_initialized=lambda: False, device_count=lambda: 0)
distributed = SimpleNamespace(is_available=lambda: False)
