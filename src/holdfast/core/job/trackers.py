"""Trackers that a job can name, and the keys that each of them reads."""

from collections.abc import Mapping
from typing import Final

TRACKER_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "trackio": ("project", "run", "group", "space"),
    "wandb": ("project", "run", "group"),
    "mlflow": ("project", "run", "group"),
    "tensorboard": ("project",),
    "none": (),
}
"""Keys under `track` that each tracker reads."""
