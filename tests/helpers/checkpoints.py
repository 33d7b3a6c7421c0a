"""Checkpoints as a trainer and the runtime leave them, in small."""

import json
from pathlib import Path

from holdfast.payload.runtime import seal, stamps_of

WEIGHTS = "model.safetensors"


def save_safetensors(path: Path, tensor: bytes) -> None:
    header = json.dumps({"w": {"dtype": "U8", "shape": [len(tensor)], "data_offsets": [0, len(tensor)]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + tensor)


def save_checkpoint(folder: Path, step: int) -> Path:
    """Make what a trainer and the runtime leave behind, in small."""
    path = folder / f"checkpoint-{step}"
    (path / "adapter").mkdir(parents=True)
    for name in ("trainer_state.json", "optimizer.pt", "scheduler.pt", "adapter/config.json"):
        (path / name).write_text(f"{name} of step {step}")
    save_safetensors(path / WEIGHTS, bytes(range(200)))
    seal(path, stamps_of(path), step=step, world_size=1)
    return path
