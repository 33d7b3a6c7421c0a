"""Pushing the folder of an export to the Hub."""

from pathlib import Path

from huggingface_hub import HfApi
from huggingface_hub.errors import HfHubHTTPError

from holdfast.core.errors import SourceError


def push_folder(folder: Path, repository: str, *, private: bool) -> None:
    """Upload a folder into a repository, which is made if it is not there.

    Raises:
        SourceError: The Hub does not take it.
    """
    try:
        hub = HfApi()
        hub.create_repo(repository, private=private, exist_ok=True)
        hub.upload_folder(repo_id=repository, folder_path=folder, commit_message="Export with holdfast")
    except (HfHubHTTPError, OSError, ValueError) as error:
        message = " ".join(str(error).split())[:300]
        what = f"the push to {repository} failed, and the export is whole in {folder}: {message}"
        raise SourceError(what, where="--push", fix=f"hf upload {repository} {folder}") from error
