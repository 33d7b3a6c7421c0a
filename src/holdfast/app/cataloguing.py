"""The API history grown by new releases, or built from wheels."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from packaging.version import Version

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.history_files import load_texts, save_text, writable_folder
from holdfast.adapters.registry import Registry
from holdfast.adapters.wheels import read_wheel
from holdfast.catalog.api import BUILTIN
from holdfast.catalog.api.folders import newest_folder
from holdfast.core.errors import UsageError
from holdfast.engine.extract.coverage import PACKAGES
from holdfast.engine.extract.entries import Release
from holdfast.engine.extract.history import History, parse_history
from holdfast.engine.extract.release import read_release

Answer = dict[str, Any]
Onlooker = Callable[[str], None]

FEW: Final = 4
"""Wheels that are sooner read one after the other than by new processes."""


def catalog(
    packages: Sequence[str] = (),
    *,
    source: str | None = None,
    target: str | None = None,
    onlooker: Onlooker = lambda _: None,
) -> Answer:
    """Read releases into the API history.

    Args:
        packages: Which packages. Default: all that the history covers.
        source: A folder of wheels, searched with the folders in it: the history is built from these alone. Default:
            the registry is asked for releases that the history does not have yet.
        target: The folder that the history is written to. Default: where it lies, or the user's cache if that may not
            be written.
        onlooker: Is told of each release before it is read.

    Raises:
        UsageError: A package is not covered, a folder holds no wheel, or the registry could not be asked.
    """
    chosen = _chosen(packages)
    folder = Path(target) if target else writable_folder(BUILTIN)
    added = _build(chosen, Path(source), folder, onlooker) if source else _update(chosen, folder, onlooker)
    releases = {package: len(parse_history(text).versions) for package, text in load_texts(folder).items()}
    return {"schema": 1, "verb": "catalog", "folder": str(folder), "added": added, "releases": releases}


def read_file(wheel: Path) -> Release:
    """Return what the release in a wheel offers.

    Raises:
        SourceError: It is no wheel.
    """
    found = read_wheel(wheel)
    return read_release(found.package, found.version, found.date, found.metadata, found.modules)


def _chosen(packages: Iterable[str]) -> tuple[str, ...]:
    names = tuple(package.replace("-", "_").lower() for package in packages)
    unknown = sorted(set(names) - set(PACKAGES))
    if unknown:
        fix = f"choose of {', '.join(PACKAGES)}"
        raise UsageError(f"the history does not cover {', '.join(unknown)}", where="holdfast catalog", fix=fix)
    return names or PACKAGES


def _build(packages: Sequence[str], source: Path, folder: Path, onlooker: Onlooker) -> dict[str, list[str]]:
    """Build histories from a folder of wheels; they are dated by the newest of these, so that they can be built again."""
    wheels = {package: sorted(source.rglob(f"{package}-*.whl")) for package in packages}
    if not any(wheels.values()):
        raise UsageError("no wheel of a covered package", where=str(source), fix="name a folder of wheels")
    histories = {}
    for package, files in wheels.items():
        if files:
            onlooker(f"{package}: {len(files)} wheels")
            histories[package] = _grown(History(package), _read_all(files))
    made = max(date for history in histories.values() for date in history.dates)
    for package, history in histories.items():
        history.made = made
        save_text(folder, package, history.text())
    return {package: history.versions for package, history in histories.items()}


def _update(packages: Sequence[str], folder: Path, onlooker: Onlooker) -> dict[str, list[str]]:
    """Add what the registry has and the history has not; every history is dated today, those without news as well."""
    texts = load_texts(newest_folder(BUILTIN)) | load_texts(folder)
    registry = Registry()
    made = datetime.fromtimestamp(SystemClock().now_s(), UTC).date().isoformat()
    added: dict[str, list[str]] = {}
    for package in packages:
        history = parse_history(texts[package]) if package in texts else History(package)
        news = _news(registry.versions(package), history.versions)
        for version in news:
            onlooker(f"{package} {version}")
            with TemporaryDirectory(prefix="holdfast-") as scratch:
                history.add(read_file(registry.download(package, version, Path(scratch))))
        history.made, added[package] = made, news
        save_text(folder, package, history.text())
    for package in sorted(set(texts) - set(packages)):
        save_text(folder, package, texts[package])  # a folder of histories is whole
    return {package: versions for package, versions in added.items() if versions}


def _news(listed: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the releases that are not known yet, oldest first; what is older than the oldest known was left out."""
    have = {Version(version) for version in known}
    new = (Version(version) for version in listed if Version(version) not in have)
    return [str(version) for version in sorted(new) if not known or version > min(have)]


def _grown(history: History, releases: Iterable[Release]) -> History:
    for release in sorted(releases, key=lambda each: Version(each.version)):
        history.add(release)
    return history


def _read_all(wheels: Sequence[Path]) -> list[Release]:
    if len(wheels) <= FEW:
        return [read_file(wheel) for wheel in wheels]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(read_file, wheels))
