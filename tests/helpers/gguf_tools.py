"""Whether this machine has what GGUF files are made with; where it has not, tests are skipped, and say so. Nothing is built or fetched.

The runtime takes minutes to build: `pip install 'holdfast[gguf]'`. The converter is fetched by the first `holdfast export --gguf`.
"""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from holdfast.adapters.export.converter import KeptConverter, open_converter
from holdfast.adapters.export.toolchain import PACKAGES, runtime_version
from holdfast.adapters.storage.check_cache import user_cache
from holdfast.core.errors import UsageError

CACHE = user_cache(os.environ)
"""As it is before a test changes the environment."""


def kept_converter() -> KeptConverter:
    """Return the converter in the user's cache, or skip the test."""
    release = runtime_version()
    if not release:
        pytest.skip("llama-cpp-python is not installed: pip install 'holdfast[gguf]'")
    if missing := [package for module, package in PACKAGES.items() if find_spec(module.partition(".")[0]) is None]:
        pytest.skip(f"the converter needs {', '.join(missing)}: pip install 'holdfast[gguf]'")
    try:
        return open_converter(CACHE, release, offline=True)
    except UsageError:
        pytest.skip("the converter is not in the cache: `holdfast export MODEL --gguf f16` fetches it")


def share_cache(home: Path) -> None:
    """Let another cache folder have the converter."""
    kept = kept_converter().folder
    link = home / "holdfast" / "converters" / kept.name
    link.parent.mkdir(parents=True)
    link.symlink_to(kept)
