"""Writing a text back into the file that it was read from."""

import os
import shutil
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding

from holdfast.adapters.foreign_files import read_foreign
from holdfast.core.errors import SourceError

MARK = b"\xef\xbb\xbf"


def write_back(path: str, text: str) -> None:
    """Write a file anew, in its own encoding and with its own permissions; whoever reads it sees all of it or the one before.

    Raises:
        SourceError: It cannot be written.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_bytes(text.encode(_encoding(target)))
        shutil.copymode(target, partial)
        partial.replace(target)
    except (OSError, UnicodeEncodeError) as error:
        with suppress(OSError):  # on a disk that cannot be written, nothing is there
            partial.unlink(missing_ok=True)
        what = f"{path} cannot be written: {error.strerror if isinstance(error, OSError) else error.reason}"
        raise SourceError(what, where=path, fix="check its permissions, or use `--diff`") from error


def _encoding(path: Path) -> str:
    content = read_foreign(path)
    if path.suffix == ".py":
        return detect_encoding(BytesIO(content).readline)[0]
    return "utf-8-sig" if content.startswith(MARK) else "utf-8"
