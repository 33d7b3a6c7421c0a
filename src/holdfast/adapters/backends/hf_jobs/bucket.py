"""The folder of a run in a bucket: what goes up before the job starts, and what comes back.

Content travels through Xet whatever the settings of the client. A batch is no transaction, a prefix is compared as text, and a
folder that has no file cannot be mounted. Files that a job writes arrive seconds after they are closed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from holdfast.adapters.backends.hf_jobs.hub import TRANSFER_S, JobsHub
from holdfast.adapters.backends.hf_jobs.refusals import AGAIN
from holdfast.adapters.backends.hf_jobs.requests import JobRequest
from holdfast.core.errors import BackendError, UnreachableError
from holdfast.ports import RemoteFile

if TYPE_CHECKING:
    from huggingface_hub import HfApi

KEEP: Final = ".keep"
"""The file that makes a folder one that can be mounted."""
FILES: Final = "files"
"""The folder of the job's own files, which lie beside the script here; `files.json` has their sizes."""


class RunBucket:
    """The folder of one run.

    Args:
        hub: The Hub.
        name: The bucket, `namespace/name`.
        folder: The folder in it.
    """

    def __init__(self, hub: JobsHub, name: str, folder: str) -> None:
        self._hub, self._name, self._folder = hub, name, folder

    def prepare(self) -> None:
        """Make the bucket, private, unless there is one.

        Raises:
            BackendError: There is one that is public, or it may not be made.
            UnreachableError: It is not known whether it was made.
        """

        def prepare(api: "HfApi") -> bool:
            api.create_bucket(self._name, private=True, exist_ok=True)
            return api.bucket_info(self._name).private

        if not self._hub.ask(f"make the bucket {self._name}", prepare):
            what = f"the bucket {self._name} is public: everybody could read scripts, logs and checkpoints of the run"
            fix = "make it private on its page, or name another one in `where.options.bucket`"
            raise BackendError(what, where="where.options.bucket", fix=fix)

    def put_program(self, request: JobRequest) -> None:
        """Write a job's program and its own files.

        Raises:
            BackendError: The bucket is public or may not be made, or a file has changed since the run was planned.
            UnreachableError: Not everything arrived.
        """
        self.prepare()
        if request.files:
            self.put_own(request.files, request.root)
        self.put({KEEP: b"", request.program: request.source.read_bytes()})

    def put(self, files: Mapping[str, bytes | Path]) -> None:
        """Write files, given by their content or by their paths here."""
        added: list[tuple[str | Path | bytes, str]] = [
            (content, f"{self._folder}/{path}") for path, content in files.items()
        ]
        doing = f"write to the bucket {self._name}"
        self._hub.ask(doing, lambda api: api.batch_bucket_files(self._name, add=added), TRANSFER_S)

    def put_own(self, sizes: Mapping[str, int], root: Path) -> None:
        """Write the job's own files, unless they are there; then look whether all of them arrived.

        Raises:
            BackendError: One has changed since the run was planned, and was not sent before.
            UnreachableError: Not all of them arrived.
        """
        missing = self._missing(sizes)
        for name in missing:
            _require_unchanged(root / name, sizes[name])
        if missing:
            self.put({f"{FILES}/{name}": root / name for name in missing})
            if left := self._missing(sizes):
                what = f"{len(left)} of {len(sizes)} files did not arrive whole: {left[0]}"
                raise UnreachableError(what, where=f"the bucket {self._name}", fix=AGAIN)
        self.put({f"{FILES}.json": json.dumps(dict(sizes)).encode()})

    def _missing(self, sizes: Mapping[str, int]) -> list[str]:
        there = self.files()
        return [
            name for name, size in sizes.items() if (sent := there.get(f"{FILES}/{name}")) is None or sent.size != size
        ]

    def files(self) -> Mapping[str, RemoteFile]:
        """Return each file, by its path in the folder. The version of a file is the hash of its content."""
        prefix = f"{self._folder}/"

        def files(api: "HfApi") -> dict[str, RemoteFile]:
            listed = api.list_bucket_tree(self._name, prefix, recursive=True)
            return {each.path: RemoteFile(each.size, each.xet_hash) for each in listed if each.type == "file"}

        found = self._hub.ask(f"list the bucket {self._name}", files)
        own = {path.removeprefix(prefix): file for path, file in found.items() if path.startswith(prefix)}
        return {path: file for path, file in own.items() if path != KEEP}

    def fetch(self, path: str, to: str) -> None:
        """Copy a file to this machine, where it appears whole or not at all.

        Raises:
            UnreachableError: It did not arrive whole.
        """
        partial = Path(f"{to}.partial")

        def fetch(api: "HfApi") -> int:
            partial.unlink(missing_ok=True)
            (file,) = api.get_bucket_paths_info(self._name, [f"{self._folder}/{path}"])
            api.download_bucket_files(self._name, [(file, partial)])
            return file.size

        size = self._hub.ask(f"fetch {path}", fetch, TRANSFER_S)
        if partial.stat().st_size != size:
            what = f"{path} did not arrive whole: {partial.stat().st_size} of {size} bytes"
            raise UnreachableError(what, where=f"the bucket {self._name}", fix="it is tried again")
        partial.replace(to)


def _require_unchanged(path: Path, size: int) -> None:
    """Refuse to send another file than the one that was planned.

    Raises:
        BackendError: It is another, or none.
    """
    found = path.stat().st_size if path.is_file() else None
    if found != size:
        what = f"{path.name} has changed since the run was planned: it is {'gone' if found is None else f'{found} bytes'}, not {size} bytes"
        raise BackendError(what, where=str(path), fix="start a new run with `holdfast run`")
