"""What this machine has for GGUF files."""

import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from holdfast.core.export import ExportTools

RUNTIME: Final = "llama-cpp-python"
COMPILERS: Final = ("c++", "g++", "clang++")
PACKAGES: Final[Mapping[str, str]] = {
    "sentencepiece": "sentencepiece",
    "google.protobuf": "protobuf",
    "numpy": "numpy",
    "yaml": "pyyaml",
    "tqdm": "tqdm",
    "requests": "requests",
}
"""What the converter and the `gguf` library beside it import, with the package that has it."""


def look_at_tools(out: Path) -> ExportTools:
    """Return what there is.

    Args:
        out: The folder of the export.
    """
    installed = runtime_version()
    return ExportTools(
        runtime=installed,
        broken=_why_broken() if installed else "",
        compiler=any(map(shutil.which, COMPILERS)),
        cmake=shutil.which("cmake") is not None,
        missing=tuple(package for module, package in PACKAGES.items() if not _is_there(module)),
        system=_system(),
        free_bytes=shutil.disk_usage(_existing(out)).free,
    )


def runtime_version() -> str:
    """Return the version of the runtime; empty if it is not installed."""
    try:
        return version(RUNTIME)
    except PackageNotFoundError:
        return ""


def _why_broken() -> str:
    """Return why the runtime does not load; it is tried in a process of its own, which it may take with it."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from llama_cpp import llama_cpp; llama_cpp.llama_backend_init()"],
        capture_output=True,
        check=False,
        text=True,
    )
    last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    return last[0] if done.returncode else ""


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _system() -> tuple[str, ...]:
    if sys.platform == "darwin":
        return ("darwin",)
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return ()
    return (release.get("ID", ""), *release.get("ID_LIKE", "").split())


def _existing(path: Path) -> Path:
    """Return the nearest folder above a path that is there."""
    whole = path.absolute()
    return next(each for each in (whole, *whole.parents) if each.is_dir())
