"""The API history, and the messages of the libraries, grown by new releases, or built from wheels."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Final, Protocol

from packaging.version import Version

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.environment.forked_pool import forked_pool
from holdfast.adapters.environment.history_files import load_texts, save_text, writable_folder
from holdfast.adapters.environment.registry import Registry
from holdfast.adapters.environment.wheels import (
    ReleaseSources,
    installed_versions,
    is_environment,
    read_installed,
    read_wheel,
)
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.catalog.api import BUILTIN
from holdfast.catalog.api.folders import newest_folder
from holdfast.catalog.messages import SUFFIX, messages_folder
from holdfast.catalog.messages.templates import MessageTemplate
from holdfast.core.errors import UsageError
from holdfast.history.coverage import PACKAGES
from holdfast.history.entries import Release
from holdfast.history.format.release_history import ReleaseHistory, parse_history
from holdfast.history.messages.coverage import MODULES
from holdfast.history.messages.history import MessageHistory, parse_messages
from holdfast.history.messages.reading import read_messages
from holdfast.history.release import read_release
from holdfast.results.catalog import CatalogResult

OnProgress = Callable[[str], None]

FEW: Final = 4
"""Wheels that are sooner read one after the other than by new processes."""


def catalog(
    packages: Sequence[str] = (),
    *,
    source: str | None = None,
    target: str | None = None,
    on_progress: OnProgress = lambda _: None,
) -> CatalogResult:
    """Add releases of the libraries to the catalog.

    Args:
        packages: The packages. Default: all that the history covers.
        source: A folder of wheels, searched recursively: the history is built from these alone. Or an environment's
            `site-packages`: the releases that the history does not have are added. Default: the registry, for the releases
            that the history does not have.
        target: The folder to write to. Default: the catalog's, or the user's cache if that is not writable.
        on_progress: Called with each release before it is read.

    Raises:
        UsageError: A package is not covered, a folder holds no wheel, or the registry could not be reached.
    """
    chosen = _chosen(packages)
    folder = Path(target) if target else writable_folder(BUILTIN)
    folders = (folder, folder if target else messages_folder(folder))
    wheels = Path(source) if source else None
    if wheels is None or is_environment(wheels):
        added = _update(chosen, folders, InstalledPackages(wheels) if wheels else RegistryReleases(), on_progress)
    else:
        added = _build(chosen, wheels, folders, on_progress)
    releases = {package: len(parse_history(text).versions) for package, text in load_texts(folder).items()}
    return CatalogResult(verb="catalog", folder=str(folder), added=added, releases=releases)


@dataclass(frozen=True, slots=True)
class WheelContents:
    """What a wheel offers, and what it says."""

    release: Release
    messages: frozenset[MessageTemplate]


@dataclass(frozen=True, slots=True)
class PackageRecord:
    """What is kept of a package's releases. Where messages are read first, there are none of earlier releases."""

    history: ReleaseHistory
    messages: MessageHistory

    def add(self, contents: WheelContents) -> None:
        """Add a release that is not yet there."""
        self.history.add(contents.release)
        self.messages.add(contents.release.version, contents.messages)

    def save(self, folders: tuple[Path, Path], made: str) -> None:
        """Write both, dated."""
        self.history.made = self.messages.made = made
        save_text(folders[0], self.history.package, self.history.text())
        if self.history.package in MODULES:
            save_text(folders[1], self.history.package, self.messages.text(), SUFFIX)


class ReleaseSource(Protocol):
    """Where releases are to be had."""

    def versions(self, package: str) -> Iterable[str]:
        """Return the releases of a package."""
        ...

    def read(self, package: str, version: str) -> WheelContents:
        """Return the API and the messages of one release."""
        ...


class RegistryReleases:
    """What the registry has."""

    def __init__(self) -> None:
        self._registry = Registry()

    def versions(self, package: str) -> Iterable[str]:
        """Return the releases that are listed."""
        return self._registry.versions(package)

    def read(self, package: str, version: str) -> WheelContents:
        """Download one, and read it."""
        with scratch_folder("holdfast-catalog-") as scratch:
            return read_file(self._registry.download(package, version, Path(scratch)))


class InstalledPackages:
    """The releases that are installed in an environment, private builds too."""

    def __init__(self, site: Path) -> None:
        self._site = site

    def versions(self, package: str) -> Iterable[str]:
        """Return the installed release, if there is one."""
        return installed_versions(self._site, package)

    def read(self, package: str, version: str) -> WheelContents:  # noqa: ARG002 - there is but one
        """Read the installed modules."""
        return _read(read_installed(self._site, package))


def read_file(wheel: Path) -> WheelContents:
    """Return the API and the messages of the release in a wheel.

    Raises:
        SourceError: It is no wheel.
    """
    return _read(read_wheel(wheel))


def _read(sources: ReleaseSources) -> WheelContents:
    release = read_release(sources.package, sources.version, sources.date, sources.metadata, sources.modules)
    return WheelContents(release, frozenset(read_messages(sources.package, sources.modules)))


def _chosen(packages: Iterable[str]) -> tuple[str, ...]:
    names = tuple(package.replace("-", "_").lower() for package in packages)
    unknown = sorted(set(names) - set(PACKAGES))
    if unknown:
        fix = f"choose of {', '.join(PACKAGES)}"
        raise UsageError(f"the history does not cover {', '.join(unknown)}", where="holdfast catalog", fix=fix)
    return names or PACKAGES


def _build(
    packages: Sequence[str], source: Path, folders: tuple[Path, Path], on_progress: OnProgress
) -> dict[str, list[str]]:
    """Build histories from a folder of wheels; they are dated by the newest of these, so that they can be built again."""
    wheels = {package: sorted(source.rglob(f"{package}-*.whl")) for package in packages}
    if not any(wheels.values()):
        raise UsageError("no wheel of a covered package", where=str(source), fix="name a folder of wheels")
    built = list(_records(wheels, on_progress))
    made = max(chain.from_iterable(each.history.dates for each in built))
    for each in built:
        each.save(folders, made)
    return {each.history.package: each.history.versions for each in built}


def _records(wheels: Mapping[str, Sequence[Path]], on_progress: OnProgress) -> Iterator[PackageRecord]:
    """Yield the record of each package that has wheels."""
    for package, files in wheels.items():
        if files:
            on_progress(f"{package}: {len(files)} wheels")
            yield _grown(PackageRecord(ReleaseHistory(package), MessageHistory(package)), _read_all(files))


def _update(
    packages: Sequence[str], folders: tuple[Path, Path], source: ReleaseSource, on_progress: OnProgress
) -> dict[str, list[str]]:
    """Add what is to be had and the history has not; every history is dated today, those without news as well."""
    texts = load_texts(newest_folder(BUILTIN)) | load_texts(folders[0])
    messages = _messages(folders[1])
    made = datetime.fromtimestamp(SystemClock().now_s(), UTC).date().isoformat()
    added: dict[str, list[str]] = {}
    for package in packages:
        kept = PackageRecord(
            parse_history(texts[package]) if package in texts else ReleaseHistory(package),
            parse_messages(messages[package]) if package in messages else MessageHistory(package),
        )
        added[package] = _news(source.versions(package), kept.history.versions)
        for version in added[package]:
            on_progress(f"{package} {version}")
            kept.add(source.read(package, version))
        kept.save(folders, made)
    for package in sorted(set(texts) - set(packages)):
        save_text(folders[0], package, texts[package])  # a folder of histories is whole
    for package in sorted(set(messages) - set(packages)):
        save_text(folders[1], package, messages[package], SUFFIX)
    return {package: versions for package, versions in added.items() if versions}


def _messages(folder: Path) -> dict[str, str]:
    """Return the known messages of the libraries by package: the newest of each."""
    places = (messages_folder(BUILTIN), messages_folder(newest_folder(BUILTIN)), folder)
    return {package: text for place in places for package, text in load_texts(place, SUFFIX).items()}


def _news(listed: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return the releases that are not known yet, oldest first; what is older than the oldest known was left out."""
    have = {Version(version) for version in known}
    new = (Version(version) for version in listed if Version(version) not in have)
    return [str(version) for version in sorted(new) if not known or version > min(have)]


def _grown(package: PackageRecord, releases: Iterable[WheelContents]) -> PackageRecord:
    for read in sorted(releases, key=lambda each: Version(each.release.version)):
        package.add(read)
    return package


def _read_all(wheels: Sequence[Path]) -> list[WheelContents]:
    if len(wheels) <= FEW:
        return [read_file(wheel) for wheel in wheels]
    with forked_pool(os.cpu_count() or 1) as pool:
        return list(pool.map(read_file, wheels))
