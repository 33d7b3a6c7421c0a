"""What `benchmarks/memory_gpu.py` measures, and how."""
