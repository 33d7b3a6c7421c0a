"""llama.cpp's own converter, out of the source archive of the runtime that is installed: both are of the same release.

It is fetched once, by pip and by name, and kept in the user's cache with the SHA-256 of the archive; what was changed there is fetched
again. Covered: the archive of llama-cpp-python. Not covered: runtimes of other packages.
"""

import re
import shlex
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, json

from holdfast.adapters.environment.registry import pip_command
from holdfast.adapters.export.toolchain import RUNTIME
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import UsageError

KEPT: Final = ("convert_hf_to_gguf.py", "conversion", "gguf-py", "LICENSE")
INSIDE: Final = ("vendor", "llama.cpp")
SOURCE: Final = "source.json"
ARCHITECTURES: Final = re.compile(r"^TEXT_MODEL_MAP[^{]*\{(.*?)^\}", re.MULTILINE | re.DOTALL)
NAME: Final = re.compile(r'"(\w+)":')


class ConverterSource(Struct, frozen=True):
    """Where a converter is from.

    Attributes:
        archive: The name of the archive.
        sha256: Its digest.
        files: The digest of the files that were taken out of it.
    """

    archive: str
    sha256: str
    files: str


@dataclass(frozen=True, slots=True)
class KeptConverter:
    """A converter in the user's cache.

    Attributes:
        folder: Its folder.
        release: The version of the runtime.
        sha256: The digest of the archive that it is from.
    """

    folder: Path
    release: str
    sha256: str

    def architectures(self) -> frozenset[str]:
        """Return the architectures that it can convert."""
        table = ARCHITECTURES.search((self.folder / "conversion" / "__init__.py").read_text(encoding="utf-8"))
        return frozenset(NAME.findall(table[1])) if table else frozenset()


def open_converter(cache: Path, release: str, *, offline: bool) -> KeptConverter:
    """Return the converter of a release of the runtime; it is fetched if it is not in the cache, or no longer what it was.

    Args:
        cache: holdfast's folder in the user's cache.
        release: The version of the runtime.
        offline: Don't fetch it.

    Raises:
        UsageError: It cannot be fetched.
    """
    folder = cache / "converters" / f"{RUNTIME}-{release}"
    if found := _kept(folder, release):
        return found
    words = ["download", "--no-deps", "--no-binary", RUNTIME, f"{RUNTIME}=={release}"]
    if offline:
        what = f"the converter of {RUNTIME} {release} is not in the cache, and may not be fetched"
        raise UsageError(what, where=str(folder), fix="export once without --offline")
    with scratch_folder("holdfast-converter-") as box:
        done = subprocess.run(  # noqa: S603 - the words are a list, no shell reads them
            [*pip_command(), *words, "--quiet", "--dest", box], capture_output=True, check=False, text=True
        )
        archive = next(Path(box).glob("*.tar.gz"), None)
        if done.returncode or archive is None:
            last = (done.stderr.strip().splitlines() or ["pip gives no reason"])[-1]
            fix = f"look why this fails: {shlex.join([*pip_command(), *words])}"
            raise UsageError(f"the converter cannot be fetched: {last}", where=RUNTIME, fix=fix)
        return keep_converter(archive, folder, release)


def keep_converter(archive: Path, folder: Path, release: str) -> KeptConverter:
    """Take the converter out of an archive into the cache; it appears there whole.

    Raises:
        UsageError: The archive has none, or the cache cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(".converter-", folder.parent) as scratch, tarfile.open(archive) as packed:
            draft = Path(scratch) / "converter"
            packed.extractall(draft, members=_wanted(packed), filter="data")
            if not (draft / KEPT[0]).is_file():
                raise UsageError(
                    f"{archive.name} has no converter", where=str(archive), fix=f"install another release of {RUNTIME}"
                )
            digest = sha256(archive.read_bytes()).hexdigest()
            (draft / SOURCE).write_bytes(json.encode(ConverterSource(archive.name, digest, _digest(draft))))
            if folder.exists():
                folder.rename(Path(scratch) / "former")
            draft.rename(folder)
    except (OSError, tarfile.TarError) as error:
        what = f"the converter cannot be kept: {error}"
        raise UsageError(what, where=str(folder), fix="free some disk space, or check permissions") from error
    return KeptConverter(folder, release, digest)


def _wanted(packed: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the files of the converter, each with its name there."""
    for member in packed:
        _, *parts = PurePosixPath(member.name).parts
        if tuple(parts[:2]) == INSIDE and parts[2:] and parts[2] in KEPT and member.isfile():
            yield member.replace(name=str(PurePosixPath(*parts[2:])))


def _kept(folder: Path, release: str) -> KeptConverter | None:
    """Return the converter in the cache; None if there is none, or another one than was put there."""
    with suppress(OSError, DecodeError, ValidationError):
        source = json.decode((folder / SOURCE).read_bytes(), type=ConverterSource)
        if source.files == _digest(folder):
            return KeptConverter(folder, release, source.sha256)
    return None


def _digest(folder: Path) -> str:
    """Return the digest of a converter's files; what Python compiles beside them is not one of them."""
    digest = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != SOURCE and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()
