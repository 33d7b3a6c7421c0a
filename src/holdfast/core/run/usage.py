"""The memory that a machine has in use, as the service that lends it measures it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineUsage:
    """Memory in use, in bytes.

    Attributes:
        memory_bytes: Of the machine.
        memory_total_bytes: How much the machine has.
        gpu_bytes: Of the GPU that has the most in use; 0 without a GPU.
        gpu_total_bytes: How much that GPU has.
    """

    memory_bytes: int
    memory_total_bytes: int
    gpu_bytes: int = 0
    gpu_total_bytes: int = 0

    def peak(self, other: "MachineUsage | None") -> "MachineUsage":
        """Return the most of this and an earlier measurement.

        >>> now = MachineUsage(memory_bytes=3, memory_total_bytes=9)
        >>> now.peak(MachineUsage(memory_bytes=5, memory_total_bytes=9)).memory_bytes, now.peak(None) == now
        (5, True)
        """
        if other is None:
            return self
        return MachineUsage(
            memory_bytes=max(self.memory_bytes, other.memory_bytes),
            memory_total_bytes=max(self.memory_total_bytes, other.memory_total_bytes),
            gpu_bytes=max(self.gpu_bytes, other.gpu_bytes),
            gpu_total_bytes=max(self.gpu_total_bytes, other.gpu_total_bytes),
        )
