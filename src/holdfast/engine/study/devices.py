"""Which GPUs of this machine a trial gets, beside the others that run at once."""

from collections.abc import Sequence


def part_devices(devices: Sequence[str], parallel: int, slot: int) -> list[str]:
    """Return the GPUs of one of several trials that run at once: equal parts, as large as there are GPUs for.

    With fewer GPUs than trials, several trials share one.

    Args:
        devices: The GPUs, as `CUDA_VISIBLE_DEVICES` names them.
        parallel: How many trials run at once.
        slot: Which of them, from 0.

    >>> part_devices(["0", "1", "2", "3"], parallel=2, slot=1), part_devices(["0", "1"], parallel=3, slot=2)
    (['2', '3'], ['0'])
    """
    if not devices:
        return []
    share = len(devices) // parallel
    if not share:
        return [devices[slot % len(devices)]]
    return list(devices[slot * share : (slot + 1) * share])


def device_sets(devices: Sequence[str], parallel: int, slot: int) -> tuple[str, ...]:
    """Return what has a job run on its part of the GPUs, as `--set` takes it; nothing if one trial runs at a time."""
    part = part_devices(devices, parallel, slot) if parallel > 1 else []
    if not part:
        return ()
    return (f'environment.variables.CUDA_VISIBLE_DEVICES="{",".join(part)}"', f"where.processes={len(part)}")
