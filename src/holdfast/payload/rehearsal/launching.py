"""Several processes of one training, started by torchrun's own agent, each forked from this one.

They are on this machine, and speak over its loopback interface by gloo. What the agent prints of a rank that ends, and what it does to
the others, is what torchrun prints and does. Source: `torch.distributed.launcher` of torch 2.13.
"""

import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from .part_request import PartRequest

HERE = "127.0.0.1"
INTERFACE = "GLOO_SOCKET_IFNAME"
LOOPBACK = "lo"


def launch(part_request: PartRequest, play: Callable[[PartRequest], int]) -> int:
    """Play a part with as many processes as are requested; return the exit code of their launcher.

    Args:
        part_request: The part.
        play: Plays it in one of them.
    """
    api: Any = import_module("torch.distributed.launcher.api")
    elastic: Any = import_module("torch.distributed.elastic.multiprocessing")
    if sys.platform == "linux":
        os.environ.setdefault(INTERFACE, LOOPBACK)
    settings = api.LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=part_request.processes,
        run_id="rehearsal",
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr=HERE,
        max_restarts=0,
        start_method="fork",
    )
    try:
        api.elastic_launch(settings, _play_rank)(part_request, play)
    except (elastic.errors.ChildFailedError, elastic.SignalException):
        traceback.print_exc()
        return 1
    return 0


def _play_rank(part_request: PartRequest, play: Callable[[PartRequest], int]) -> None:
    """Play the part of one process; one that fails ends at once, as the process of a part does. The agent waits for the answer of others."""
    code = 1
    try:
        code = play(replace(part_request, rank=int(os.environ["RANK"])))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if code:
            os._exit(code)
