"""Whether two trainings ended with the same weights, by the manifests of their last checkpoints."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.core.checkpoint import MANIFEST, parse_manifest
from holdfast.core.rehearsal import PartResult
from holdfast.core.training_event import CheckpointSaved

WEIGHTS: Final = ".safetensors"


def same_weights(one: PartResult, other: PartResult) -> bool | None:
    """Return whether two parts saved the same weights last, bit for bit; None if they saved none after the same step."""
    first, second = _last_weights(one), _last_weights(other)
    return first[1] == second[1] if first and second and first[0] == second[0] else None


def _last_weights(played: PartResult) -> tuple[int, dict[str, str]] | None:
    """Return the step of the last checkpoint of a part, and the sha256 of each of its files of weights."""
    saved = [event for event in played.happened(CheckpointSaved) if event.path]
    if not saved:
        return None
    with suppress(OSError, ValueError):
        manifest = parse_manifest(read_foreign_text(Path(saved[-1].path or "", MANIFEST)))
        hashes = {name: file.sha256 for name, file in manifest.files.items() if name.endswith(WEIGHTS)}
        return (manifest.step, hashes) if hashes else None
    return None
