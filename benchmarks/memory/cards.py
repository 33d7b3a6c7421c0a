"""The card that a run uses, as far as measuring needs it; or none, for a dry run that measures nothing but time."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from benchmarks.memory.phases import Peak


class CudaCard:
    """The first CUDA card, alone or with a limit that plays a smaller one."""

    real = True

    def __init__(self, limit_gib: int = 0) -> None:
        self.idle = int(asked_of_driver("memory.used")) * 2**20  # nvidia-smi counts in MiB
        torch.zeros(1, device="cuda")
        torch.cuda.synchronize()
        self.total = torch.cuda.mem_get_info()[1]
        self.context = _outside_bytes()
        if limit_gib:
            torch.cuda.set_per_process_memory_fraction(min(1.0, limit_gib * 2**30 / self.total))
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.events_before = _events()

    def cells(self) -> dict[str, str]:
        """Return what the card is."""
        told = {"gpu": torch.cuda.get_device_name(), "driver": asked_of_driver("driver_version")}
        sizes = {"card_bytes": self.total, "idle_bytes": self.idle, "context_bytes": self.context}
        return told | {name: str(size) for name, size in sizes.items()}

    def closing_cells(self) -> dict[str, str]:
        """Return what is known at the end."""
        return {"other_bytes": str(_outside_bytes()), "retries": str(torch.cuda.memory_stats()["num_alloc_retries"])}

    def synchronize(self) -> None:
        """Wait until the card has done all that was asked of it."""
        torch.cuda.synchronize()

    def take_peak(self) -> Peak:
        """Return the peak since the last call, and start anew."""
        peak = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        torch.cuda.reset_peak_memory_stats()
        return peak

    def count_events(self) -> int:
        """Return how many allocations and frees there have been."""
        return _events() - self.events_before

    def allocated(self) -> str:
        """Return what is allocated now, in bytes."""
        return str(torch.cuda.memory_allocated())

    @contextmanager
    def recording(self, *, enabled: bool) -> Iterator[None]:
        """Record every allocation meanwhile, without stacks."""
        if enabled:
            torch.cuda.memory._record_memory_history(context=None)  # noqa: SLF001 - torch's own way
        yield
        if enabled:
            torch.cuda.memory._record_memory_history(enabled=None)  # noqa: SLF001 - likewise

    def trace(self) -> list[dict[str, Any]]:
        """Return what was recorded."""
        return [*torch.cuda.memory._snapshot()["device_traces"][0]]  # noqa: SLF001 - likewise


class NoCard:
    """No card: a dry run trains on the processor, and has no memory to tell of."""

    real = False

    def cells(self) -> dict[str, str]:
        """Return that there is no card."""
        return {"gpu": "none: dry run"}

    def closing_cells(self) -> dict[str, str]:
        """Return nothing."""
        return {}

    def synchronize(self) -> None:
        """Return at once: the processor works in order."""

    def take_peak(self) -> Peak:
        """Return nothing."""
        return 0, 0

    def count_events(self) -> int:
        """Return that nothing was counted."""
        return 0

    def allocated(self) -> str:
        """Return that it is not known."""
        return ""

    @contextmanager
    def recording(self, *, enabled: bool) -> Iterator[None]:
        """Record nothing."""
        del enabled
        yield

    def trace(self) -> list[dict[str, Any]]:
        """Return nothing."""
        return []


Card = CudaCard | NoCard


def asked_of_driver(field: str) -> str:
    """Return a field of the first card as nvidia-smi prints it."""
    words = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "--id=0"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def _events() -> int:
    """Return how many allocations and frees this process has made."""
    stats = torch.cuda.memory_stats()
    return int(stats["allocation.all.allocated"] + stats["allocation.all.freed"])


def _outside_bytes() -> int:
    """Return what is used of the card beyond what torch has reserved."""
    free, total = torch.cuda.mem_get_info()
    return int(total - free - torch.cuda.memory_reserved())
