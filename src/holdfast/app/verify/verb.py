"""Verifying a checkpoint or a model folder."""

from pathlib import Path

from holdfast.adapters.foreign_files import is_folder
from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.app.arguments import PathName, as_path
from holdfast.core.errors import UsageError
from holdfast.engine.run.answers import verify_result
from holdfast.results.run import VerifyResult


def verify(checkpoint: PathName) -> VerifyResult:
    """Verify that a checkpoint or model folder is complete.

    >>> import holdfast
    >>> holdfast.verify("runs/quickstart-20261121-154501-x7/model")["verdict"]  # doctest: +SKIP
    'whole'

    Raises:
        UsageError: There is no such folder.
    """
    if not is_folder(Path(as_path(checkpoint))):
        raise UsageError(f"no such folder: {checkpoint}", where=str(Path.cwd()), fix="name a checkpoint's folder")
    return verify_result(verify_checkpoint(Path(checkpoint)))
