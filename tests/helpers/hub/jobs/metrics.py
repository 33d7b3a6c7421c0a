"""The stream of measurements.

Source: `fetch_job_metrics` of `huggingface_hub/hf_api.py` 2.4.0 and its comments: an `event: metric` every second, no history, no end when the job ends;
406 for a job that has ended; nothing while it waits for its hardware.
"""

import json
from collections.abc import Iterator
from typing import Any

import psutil

from tests.helpers.hub.hardware import flavors
from tests.helpers.hub.jobs.records import Job
from tests.helpers.hub.world import World

GB = 1_000_000_000
OLD_S = 30.0  # how long a stream stays open once the job has ended


def stream(world: World, job: Job) -> Iterator[bytes]:
    """Give measurements for as long as the job runs; then nothing, without an end."""
    while not world.closing.is_set():
        machine = job.machine
        if machine is not None and not job.ended:
            yield f"event: metric\ndata: {json.dumps(measured(world, job, machine.pid))}\n\n".encode()
        elif job.ended and job.finished_s is not None and world.clock.now_s > job.finished_s + OLD_S:
            return
        else:
            yield b""
        world.closing.wait(world.jobs.metrics_s)


def measured(world: World, job: Job, pid: int) -> dict[str, Any]:
    """Return one measurement: the memory is that of the job's processes."""
    flavor = next((one for one in flavors() if one["name"] == job.spec["flavor"]), flavors()[0])
    return {
        "cpu_usage_pct": 0,
        "cpu_millicores": 1000 * int(flavor["cpu"].split()[0]),
        "memory_used_bytes": _memory(pid),
        "memory_total_bytes": int(flavor["ram"].split()[0]) * GB,
        "rx_bps": 0,
        "tx_bps": 0,
        "gpus": _gpus(world, flavor["accelerator"]),
        "replica": job.id[-5:],
    }


def _gpus(world: World, accelerator: dict[str, str] | None) -> dict[str, Any]:
    if accelerator is None:
        return {}
    count, total = int(accelerator["quantity"]), int(accelerator["vram"].split()[0]) * GB
    used = {"utilization": 0, "memory_used_bytes": world.jobs.seen_gpu_bytes, "memory_total_bytes": total // count}
    return {f"{k:08x}": used for k in range(count)}


def _memory(pid: int) -> int:
    try:
        process = psutil.Process(pid)
        return sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])
    except psutil.Error:
        return 0
