"""Weights without a model: safetensors files of zeros, for tests that only read what their headers say.

Source: the safetensors format: the header's length in eight bytes, little-endian, the header in JSON, the numbers.
"""

import json
import math
import struct
from collections.abc import Sequence
from typing import Any

BITS = {"F64": 64, "I64": 64, "F32": 32, "I32": 32, "F16": 16, "BF16": 16, "I8": 8, "U8": 8, "F8_E4M3": 8, "BOOL": 8}


def weights(*, dtype: str = "BF16", **shapes: Sequence[int]) -> bytes:
    """Return a file with tensors of some shapes by name; give a name with dots as `**{"model.norm.weight": [64]}`."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        start, end = end, end + math.prod(shape) * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)
