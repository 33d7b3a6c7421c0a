"""The arithmetic that one core does per second in a training step, in float32: what `engine/plan/processors.py` assumes.

    python -m benchmarks.plan_processors

Processor seconds are measured, with one thread, so other programs on the machine disturb little. The second of two steps counts.
"""

import os
import time
from dataclasses import dataclass
from typing import Final

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from transformers import AutoModelForCausalLM, Qwen2Config

from benchmarks.machine import heading

GIGA: Final = 1e9
BACKWARD: Final = 2.5
"""Arithmetic of the backward pass of attention, by that of the forward pass."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A model with random weights, and a batch.

    Attributes:
        layers: Layers.
        width: Width of the residual stream; heads have 64 of it.
        inner: Width of the MLP.
        vocabulary: Tokens.
        rows: Rows of the batch.
        length: Tokens of each row.
    """

    layers: int
    width: int
    inner: int
    vocabulary: int
    rows: int
    length: int


SHAPES: Final = (
    Shape(6, 192, 512, 8192, 1, 8),
    Shape(6, 192, 512, 8192, 2, 64),
    Shape(6, 192, 512, 8192, 16, 256),
    Shape(12, 512, 1408, 16384, 1, 32),
    Shape(12, 512, 1408, 16384, 2, 256),
    Shape(30, 576, 1536, 49152, 1, 16),
    Shape(30, 576, 1536, 49152, 1, 256),
)


def main() -> None:
    """Print one line per shape."""
    torch.set_num_threads(1)
    print(heading(f"A step in float32 on one core, torch {torch.__version__}"))
    for shape in SHAPES:
        parameters, seconds = measure(shape)
        tokens = shape.rows * shape.length
        pairs = 2 * shape.length * shape.width * shape.layers
        flops = tokens * (3 * 2 * parameters + (1 + BACKWARD) * pairs)
        print(
            f"{parameters / 1e6:6.1f} M  {shape.rows:3} x {shape.length:4}  {seconds:7.3f} s  {flops / seconds / GIGA:5.1f} GFLOP/s"
        )


def measure(shape: Shape) -> tuple[int, float]:
    """Return the parameters of a model, and the processor seconds of a step of it."""
    config = Qwen2Config(
        num_hidden_layers=shape.layers,
        hidden_size=shape.width,
        intermediate_size=shape.inner,
        num_attention_heads=shape.width // 64,
        num_key_value_heads=shape.width // 64,
        vocab_size=shape.vocabulary,
        tie_word_embeddings=True,
        use_cache=False,
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(0, shape.vocabulary, (shape.rows, shape.length))
    seconds = 0.0
    for _ in range(2):
        begun = time.process_time()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.process_time() - begun
    return model.num_parameters(), seconds


if __name__ == "__main__":
    main()
