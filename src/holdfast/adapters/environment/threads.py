"""Threads of the libraries that compute in a process of holdfast's own."""

from collections.abc import Mapping
from typing import Final

PATIENT_THREADS: Final[Mapping[str, str]] = {"GOMP_SPINCOUNT": "1000"}
"""Variables that have threads of torch and llama.cpp sleep while they wait for one another. By default, they spin for milliseconds,
which on a busy machine of two cores took four times the processor (`docs/figures.md`).

Source: libgomp's manual; the value is its own for more threads than processors.
"""
