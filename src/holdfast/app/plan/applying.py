"""Writing the settings of an option into the target."""

from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.adapters.storage.write_back import write_back
from holdfast.adapters.targets import Target, read_text
from holdfast.app.check.target_request import COMMAND_LINE
from holdfast.catalog.models.model_settings import INIT, set_to
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document, Edit, Set
from holdfast.core.job.target_kind import STANDARD_INPUT
from holdfast.core.text.places import TextEdit, apply_text_edits

Settings = Mapping[str, bool | int | str]
DTYPE: Final = "model.dtype"


def apply_settings(target: Target, path: str, settings: Settings) -> Settings:
    """Write settings into a target, with the editor of `check --fix`, and return those that were written.

    A script has no place for what is under `where`.

    Raises:
        UsageError: The target has no file of its own, or cannot hold such an edit.
    """
    if path in {COMMAND_LINE, STANDARD_INPUT}:
        raise UsageError("only a file can be written", where=path, fix="plan it without `--apply`")
    document = target.document
    written = {key: value for key, value in settings.items() if document.kind == "job" or not key.startswith("where.")}
    edits: list[Edit] = [_edit(document, key, value) for key, value in written.items()]
    if edits and (placed := target.place_edits(document, edits)):
        _require_own_file(placed, path)
        write_back(path, apply_text_edits(read_text(path), placed))
    return written


def _require_own_file(placed: Sequence[TextEdit], path: str) -> None:
    """Refuse edits of any file but the target.

    Raises:
        UsageError: An edit is in another file.
    """
    if any(edit.path and edit.path != path for edit in placed):
        raise UsageError("the settings are in another file", where=path, fix="plan it without `--apply`")


def _edit(document: Document, key: str, value: bool | int | str) -> Edit:  # noqa: FBT001 - any setting
    """Return the edit of a setting; the dtype of a model that a script's trainer loads stands in the trainer's config."""
    if key != DTYPE or document.kind == "job":
        return Set(key, value)
    if document.call("model") is None and document.get(INIT, None) is None:
        return Set(INIT, {"dtype": value})
    return set_to(document, "dtype", value)
