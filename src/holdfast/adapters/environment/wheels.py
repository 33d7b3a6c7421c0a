"""The module sources of a released wheel, or of a package that is installed."""

import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from holdfast.core.errors import SourceError

UNDATED: Final = ("1980-01-01", "2020-02-02")
"""Times that builders write into wheels for reproducibility: they tell of no release."""


@dataclass(frozen=True, slots=True)
class ReleaseSources:
    """One release of a package.

    Attributes:
        package: Its import name.
        version: As released.
        date: The newest time of a file in it, `2026-11-20`; empty if the builder wrote none.
        metadata: Its METADATA.
        modules: The bytes of each module by path, `trl/trainer/sft_config.py`; read when they are requested.
    """

    package: str
    version: str
    date: str
    metadata: str
    modules: Mapping[str, bytes]


class Modules(Mapping[str, bytes]):
    """The modules of a package, each read when it is requested."""

    def __init__(self, names: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._names, self._read = sorted(names), read

    def __getitem__(self, key: str) -> bytes:
        return self._read(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_wheel(path: Path) -> ReleaseSources:
    """Return the sources and metadata in a wheel.

    Raises:
        SourceError: It is no wheel.

    Covered: wheels of one import package, named as the file is. Not covered: sources in .tar.gz, compiled modules.
    """
    package, version = path.name.split("-")[:2]
    try:
        archive = zipfile.ZipFile(path)
        infos = archive.infolist()
        metadata = [info.filename for info in infos if info.filename.endswith(".dist-info/METADATA")]
        text = archive.read("".join(metadata[:1])).decode("utf-8", "replace")
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        because = "it has no METADATA" if isinstance(error, KeyError) else str(error)
        raise SourceError(f"no wheel: {because}", where=str(path), fix="remove it and download it again") from error
    date = "{:04}-{:02}-{:02}".format(*max(info.date_time for info in infos)[:3])
    names = (name for name in archive.namelist() if name.startswith(f"{package}/") and name.endswith(".py"))
    return ReleaseSources(package, version, "" if date in UNDATED else date, text, Modules(names, archive.read))


def is_environment(folder: Path) -> bool:
    """True if a folder is one that packages are installed in."""
    return any(folder.glob("*.dist-info"))


def installed_versions(site: Path, package: str) -> list[str]:
    """Return the version of an installed package, or nothing if it is not there."""
    return [folder.name.removesuffix(".dist-info").partition("-")[2] for folder in _infos(site, package)[-1:]]


def read_installed(site: Path, package: str) -> ReleaseSources:
    """Return the sources and metadata of an installed package.

    Args:
        site: The folder that it is installed in, `.../site-packages`.
        package: Its import name.

    Raises:
        SourceError: It is not installed there.
    """
    found = _infos(site, package)
    if not found or not (site / package).is_dir():
        raise SourceError(
            f"{package} is not installed there", where=str(site), fix=f"install it: pip install {package}"
        )
    metadata = (found[-1] / "METADATA").read_text(encoding="utf-8")
    names = (path.relative_to(site).as_posix() for path in (site / package).rglob("*.py"))
    modules = Modules(names, lambda name: (site / name).read_bytes())
    return ReleaseSources(package, installed_versions(site, package)[0], "", metadata, modules)


def _infos(site: Path, package: str) -> list[Path]:
    """Return the folders in which an installed package is described."""
    folders = sorted(site.glob("*.dist-info"))
    return [each for each in folders if each.name.partition("-")[0].lower().replace("-", "_") == package]
