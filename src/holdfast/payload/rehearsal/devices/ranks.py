"""Several processes of one training: a rehearsal plays the first of them, as the only one.

Covered: launchers that number processes by variables, `torch.multiprocessing.spawn`, `notebook_launcher`, groups of processes
that are named by number and rank, `DistributedDataParallel`. Not covered: `multiprocessing.Process` whose function trains.
Source: torch 2.13 and accelerate 1.15, whose signatures give the names.
"""

import inspect
import os
import sys
from functools import partial
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace
from typing import Any

from ..events import EventWriter
from ..wrapping import when_imported, wrap, wrap_everywhere

WHAT = "several processes"
GROUPS = "torch.distributed.distributed_c10d"
SHOWN_BY = "one process was run; a run of a few steps on the machines of the job shows it"


def alone(events: EventWriter) -> int:
    """Make of several processes one; return how many GPUs each machine is said to have."""
    ranks = {name: os.environ.get(name, "") for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE")}
    sizes = [int(size) for size in ranks.values() if size.isdigit()]
    if max(sizes, default=1) > 1:
        events.not_rehearsed(WHAT, SHOWN_BY)
        alone_is = {"WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1", "RANK": "0", "LOCAL_RANK": "0"}
        os.environ.update({name: one for name, one in alone_is.items() if name in os.environ})
    return sizes[-1] if sizes else 1


def install(events: EventWriter, *, together: bool) -> None:
    """Play the first of the processes that the script starts itself; a group of them is real only if several play `together`."""
    group = [] if together else [(GROUPS, "init_process_group", _gather)]
    for module, name, around in (
        ("torch.multiprocessing.spawn", "spawn", _play_first),
        ("accelerate.launchers", "notebook_launcher", _launch),
        *group,
    ):
        when_imported(module, partial(wrap_everywhere, name=name, around=partial(around, events)))


def do_without_gpus(events: EventWriter, shown_by: str) -> None:
    """Let groups of processes, and models in them, do without NCCL and without GPUs."""

    def begin(original: Any, backend: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(backend, str) and "nccl" in backend:
            events.not_rehearsed("NCCL", shown_by)
            backend = "gloo"
        kwargs.pop("device_id", None)
        return original(backend, *args, **kwargs)

    def share(original: Any, model: Any, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(original).bind(model, *args, **kwargs)
        given.arguments.update(device_ids=None, output_device=None)
        original(*given.args, **given.kwargs)

    when_imported(GROUPS, partial(wrap_everywhere, name="init_process_group", around=begin))
    when_imported(
        "torch.nn.parallel.distributed", lambda module: wrap(module.DistributedDataParallel, "__init__", share)
    )


def _play_first(events: EventWriter, original: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the place of `spawn`: call what each process would, with its number."""
    given = inspect.signature(original).bind(*args, **kwargs)
    given.apply_defaults()
    arguments = given.arguments
    if arguments["nprocs"] > 1:
        events.not_rehearsed(WHAT, SHOWN_BY)
    ForkingPickler.dumps(arguments["fn"])  # which raises as it would
    arguments["fn"](0, *arguments["args"])
    return None if arguments["join"] else SimpleNamespace(processes=[], join=lambda *_, **__: True)


def _launch(events: EventWriter, original: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the place of `notebook_launcher`: with one process it calls the function here."""
    given = inspect.signature(original).bind(*args, **kwargs)
    started = sys.modules["accelerate.state"].AcceleratorState._shared_state
    if (given.arguments.get("num_processes") or 1) > 1 and not started:
        events.not_rehearsed(WHAT, SHOWN_BY)
        given.arguments["num_processes"] = 1
    return original(*given.args, **given.kwargs)


def _gather(events: EventWriter, original: Any, *args: Any, **kwargs: Any) -> Any:
    """Take the place of `init_process_group`: a group of one where the script says how many there are."""
    given = inspect.signature(original).bind(*args, **kwargs)
    size = given.arguments.get("world_size", -1)
    if isinstance(size, int) and size > 0 and given.arguments.get("store") is None:
        if size > 1:
            events.not_rehearsed(WHAT, SHOWN_BY)
        store = sys.modules["torch.distributed"].HashStore()
        given.arguments.update(world_size=1, rank=0, store=store, init_method=None)
    return original(*given.args, **given.kwargs)
