"""The words in which torch's allocator is set. `payload/runtime.py`, which imports nothing of these, has its own copy."""

from typing import Final

ALLOCATOR: Final = "PYTORCH_CUDA_ALLOC_CONF"
"""The variable that every torch reads from 2.1 on. torch 2.13 reads it before the other. Source: CUDAAllocatorConfig.h, instance."""
ALLOCATORS: Final = (ALLOCATOR, "PYTORCH_ALLOC_CONF")
"""The variables that set it; the second came with torch 2.9."""
EXPANDABLE: Final = "expandable_segments:True"
FIXED: Final = "expandable_segments:False"
