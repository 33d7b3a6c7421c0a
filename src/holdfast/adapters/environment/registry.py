"""Which releases the package registry has, and their wheels: through pip, which knows where that is."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final

from holdfast.core.errors import UsageError

LISTED: Final = re.compile(r"^Available versions:\s*(.+)$", re.MULTILINE)
PYTHONS: Final = ("3.12", "3.9")
"""Wheels are read, never run; some were built for older Pythons than that which reads them."""
PATIENCE_S: Final = 600


class Registry:
    """The registry that pip is set to use.

    Covered: mirrors, proxies and logins that pip knows of; environments without pip, where uv is installed. Not covered:
    releases that have no wheel, pre-releases.
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        """Take the command that stands for pip. Default: this environment's, else the one that uv brings."""
        self._command = tuple(command) if command is not None else pip_command()

    def versions(self, package: str) -> list[str]:
        """Return every release of a package, in the order in which the registry gives them.

        Raises:
            UsageError: The registry could not be asked, or does not know the package.
        """
        output = self._run("index", "versions", package, "--ignore-requires-python")
        listed = LISTED.search(output)
        if listed is None:
            raise UsageError(f"the registry lists no release of {package}", where=self._where, fix="is it spelled so?")
        return [version.strip() for version in listed.group(1).split(",")]

    def download(self, package: str, version: str, folder: Path) -> Path:
        """Fetch the wheel of one release into a folder that holds nothing else; return its path.

        Raises:
            UsageError: It could not be had.
        """
        *others, last = PYTHONS
        for python in others:
            with suppress(UsageError):
                return self._download(package, version, folder, python)
        return self._download(package, version, folder, last)

    def _download(self, package: str, version: str, folder: Path, python: str) -> Path:
        options = ("--no-deps", "--only-binary=:all:", "--no-cache-dir", "--python-version", python)
        self._run("download", *options, "--dest", str(folder), f"{package}=={version}")
        return next(folder.glob("*.whl"))

    def _run(self, *words: str) -> str:
        environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}
        try:
            done = subprocess.run(  # noqa: S603 - words of a list, no shell
                [*self._command, *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE_S,
                env=environment,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._refusal(str(error)) from error
        if done.returncode:
            raise self._refusal((done.stderr or done.stdout).strip().splitlines()[-1:])
        return done.stdout

    def _refusal(self, output: str | list[str]) -> UsageError:
        words = output if isinstance(output, str) else "".join(output) or "it said nothing"
        fix = "try again online, or give a folder of wheels with --from"
        return UsageError(f"the package registry could not be queried: {words}", where=self._where, fix=fix)

    @property
    def _where(self) -> str:
        return " ".join(self._command)


def pip_command() -> tuple[str, ...]:
    """Return the command that stands for pip: this environment's, which imports nothing from the user's folder, else uv's."""
    if find_spec("pip") is None and which("uv"):
        return ("uv", "tool", "run", "pip")
    return (sys.executable, "-P", "-m", "pip")
