"""A GPU that is not here: the script's own lines see one, libraries do not, and what is moved to it stays where it is.

Memory that is requested on "cuda" is given on the processor by kernels of torch's dispatcher, which cost nothing else
anything; the few calls that look for the device before they get there are given the processor.

Covered: moves, factories, default device, autocast, events, streams, random states, process groups of NCCL, torch.compile;
settings of trainers are in `settings`. Not covered: a tensor's `device` says `cpu`; what `torch.cuda` tells of memory is 0.
"""

import functools
import os
import re
import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

from ..events import EventWriter
from ..guards import own_lines
from ..part_request import PartRequest
from ..wrapping import replace_everywhere, when_imported, wrap
from . import ranks, settings
from .halves import Float16State
from .places import UntouchedPlaces

NAME = "NVIDIA A100-SXM4-80GB"
CAPABILITY = (8, 0)
MEMORY = 80 * 2**30  # bytes
CUDA = re.compile(r"cuda(:\d+)?")
VISIBLE = "CUDA_VISIBLE_DEVICES"
MEMORY_FIGURES = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
USING = ("step", "evaluate")
"""Stages in which a trainer has moved its model."""
FORKED = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method"
Own = Callable[[FrameType], bool]
_kernels: list[Any] = []  # torch forgets a kernel when its library is collected


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Have the script find the GPU that its job will have; nothing if it has none, or this machine has it."""
    ranks.install(events, together=part_request.processes > 1)
    if part_request.gpu == "here":
        when_imported("torch", lambda torch: _report_memory(torch, events))
    if part_request.gpu != "assumed":
        return
    count = ranks.alone(events) if part_request.processes == 1 else part_request.processes
    halves = Float16State()
    when_imported("torch", lambda torch: AssumedDevice(torch, own_lines(part_request), events, halves).take_over(count))
    ranks.do_without_gpus(events, settings.SHOWN_BY)
    settings.install(events, halves)


def _report_memory(torch: Any, events: EventWriter) -> None:
    if torch.cuda.is_available():
        events.fact(
            "gpu", name=torch.cuda.get_device_name(0), memory_bytes=torch.cuda.get_device_properties(0).total_memory
        )


class AssumedDevice:
    """What takes the place of torch's functions."""

    def __init__(self, torch: Any, own: Own, events: EventWriter, halves: Float16State) -> None:
        self._torch, self._own, self._events, self._halves = torch, own, events, halves
        self._places = UntouchedPlaces(torch, own, events)
        self._pid, self._touched = os.getpid(), False

    def take_over(self, count: int) -> None:
        """Take the place of what looks for a GPU; one that this machine has is left alone."""
        if not _hide_gpus(self._torch):
            return
        self._show(count)
        self._do_nothing()
        self._take_moves()
        self._take_memory()
        self._take_events()
        self._halves.watch(self._torch)
        self._places.watch()
        wrap(self._torch.amp.autocast_mode.autocast, "__init__", self._autocast)
        wrap(self._torch, "compile", self._compile)

    def _show(self, count: int) -> None:
        """Tell the script's own lines of a large GPU."""
        properties = SimpleNamespace(name=NAME, major=8, minor=0, total_memory=MEMORY, multi_processor_count=108)
        properties.warp_size, properties.is_integrated, properties.is_multi_gpu_board = 32, False, False
        shown: dict[str, Any] = {
            "is_available": True,
            "device_count": count,
            "get_device_name": NAME,
            "get_device_capability": CAPABILITY,
            "get_device_properties": properties,
            "mem_get_info": (MEMORY, MEMORY),
            "is_bf16_supported": True,
            "is_tf32_supported": True,
            "current_device": 0,
            "get_arch_list": ["sm_80", "sm_90"],
            "is_initialized": True,
        }
        for name, value in shown.items():
            wrap(self._torch.cuda, name, functools.partial(self._see, value))
        self._show_accelerator(count)

    def _show_accelerator(self, count: int) -> None:
        """Tell the script's own lines of it under the name that fits all makes, since torch 2.6."""
        accelerator = getattr(self._torch, "accelerator", None)
        if accelerator is None:
            return
        shown = {"current_accelerator": self._torch.device("cuda"), "is_available": True, "device_count": count}
        shown |= {"current_device_index": 0, "current_device_idx": 0}
        for name, value in shown.items():
            wrap(accelerator, name, functools.partial(self._see, value))
        for name in ("set_device_index", "set_device_idx", "synchronize", "empty_cache", "set_stream"):
            wrap(accelerator, name, lambda *_, **__: None)
        for name in MEMORY_FIGURES:
            wrap(accelerator, name, lambda *_, **__: 0)
        wrap(accelerator, "reset_peak_memory_stats", lambda *_, **__: None)
        wrap(accelerator, "current_stream", lambda *_, **__: FinishedStream())

    def _see(self, value: Any, original: Any, *args: Any, **kwargs: Any) -> Any:
        if not self._own(sys._getframe(2)):
            return original(*args, **kwargs)
        self._report_once()
        return value

    def _do_nothing(self) -> None:
        """Let calls that only steer a GPU do nothing."""
        cuda = self._torch.cuda
        names = "set_device synchronize empty_cache ipc_collect reset_peak_memory_stats reset_max_memory_allocated "
        names += "set_per_process_memory_fraction set_rng_state set_rng_state_all set_stream init _lazy_init"
        for name in names.split():
            wrap(cuda, name, lambda *_, **__: None)
        for name in ("_exchange_device", "_maybe_exchange_device"):
            wrap(cuda, name, lambda *_, **__: 0)
        wrap(cuda, "memory_summary", lambda *_, **__: "")
        wrap(cuda, "get_rng_state", lambda *_, **__: self._torch.get_rng_state())
        wrap(cuda, "get_rng_state_all", lambda *_, **__: [self._torch.get_rng_state()])
        wrap(cuda, "can_device_access_peer", lambda *_, **__: True)

    def _take_moves(self) -> None:
        """Let moves end at the processor."""
        torch = self._torch
        for owner in (torch.Tensor, torch.nn.Module):
            wrap(owner, "to", self._moved)
            wrap(owner, "cuda", lambda _original, self_, *_, **__: self._stay(self_))
        wrap(torch.Tensor, "pin_memory", lambda _original, tensor, *_, **__: tensor)
        for name in ("tensor", "as_tensor", "asarray"):
            wrap(torch, name, self._made)
        wrap(torch.Tensor, "new_tensor", self._made)
        wrap(torch.serialization, "load", self._loaded)
        original, torch.load = torch.load, torch.serialization.load
        replace_everywhere("load", original, torch.load)
        torch.Generator = _generator(torch, self)

    def near(self, device: Any) -> Any:
        """Return the processor for a GPU, and anything else as it is."""
        kind = type(device)
        far = (
            (kind is int)
            or (kind is str and CUDA.fullmatch(device) is not None)
            or (kind is self._torch._C.device and device.type == "cuda")
        )
        if not far:
            return device
        self._touch()
        return "cpu"

    def _moved(self, original: Any, thing: Any, *args: Any, **kwargs: Any) -> Any:
        device = kwargs.get("device", args[0] if args else None)
        given = self.near(device)
        if args:
            args = (given if "device" not in kwargs else args[0], *args[1:])
        if "device" in kwargs:
            kwargs["device"] = given
        moved = original(thing, *args, **kwargs)
        self._places.moved(moved, far=given is not device, named=device is not None)
        return moved

    def _made(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if (device := kwargs.get("device")) is not None:
            kwargs["device"] = self.near(device)
            self._places.crowded = self._places.crowded or kwargs["device"] is not device
        elif (default := self._default()) is not None:
            self._places.crowded = True
            kwargs["device"] = self.near(default)
        else:
            made = original(*args, **kwargs)
            self._places.made(made, args[0] if args else None, sys._getframe(2))
            return made
        return original(*args, **kwargs)

    def _default(self) -> Any:
        """Return the device of `torch.set_default_device` or `with torch.device`, which torch gives its own functions alone."""
        modes = self._torch.overrides._get_current_function_mode_stack()
        return next((each.device for each in reversed(modes) if type(each).__name__ == "DeviceContext"), None)

    def _loaded(self, original: Any, file: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:
        return original(file, "cpu" if map_location is None else self.near(map_location), *args, **kwargs)

    def _stay(self, thing: Any) -> Any:
        self._touch()
        self._places.moved(thing, far=True, named=True)
        return thing

    def _take_memory(self) -> None:
        """Give memory of the processor where some of a GPU is requested."""
        torch = self._torch
        library = torch.library.Library("aten", "IMPL", "CUDA")

        def empty(size: Any, *, dtype: Any = None, layout: Any = None, memory_format: Any = None, **_: Any) -> Any:
            self._touch()
            self._places.crowded = True
            return torch.empty(size, dtype=dtype, layout=layout, device="cpu", memory_format=memory_format)

        def strided(size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, **_: Any) -> Any:
            self._touch()
            self._places.crowded = True
            return torch.empty_strided(size, stride, dtype=dtype, layout=layout, device="cpu")

        library.impl("empty.memory_format", empty)
        library.impl("empty_strided", strided)
        _kernels.append(library)

    def _take_events(self) -> None:
        cuda = self._torch.cuda
        cuda.Event, cuda.Stream = FinishedEvent, FinishedStream
        wrap(cuda, "current_stream", lambda *_, **__: FinishedStream())
        wrap(cuda, "default_stream", lambda *_, **__: FinishedStream())
        wrap(cuda, "stream", lambda _original, *_, **__: FinishedStream())

    def _autocast(
        self, original: Any, this: Any, device_type: Any = "cuda", dtype: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        if device_type == "cuda":
            self._report_once()
            device_type, dtype = "cpu", self._torch.bfloat16 if dtype == self._torch.bfloat16 else self._half_type()
        elif device_type == "cpu" and dtype == self._torch.bfloat16 and self._halves.asked:
            dtype = self._half_type()  # which `settings` has made bfloat16
        original(this, device_type, dtype, *args, **kwargs)

    def _half_type(self) -> Any:
        return self._halves.type_for(self._torch)

    def _compile(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        compiled = original(*args, **kwargs)
        if hasattr(self._torch.compiler, "set_stance"):  # since torch 2.6
            self._events.not_rehearsed("torch.compile", settings.SHOWN_BY)
            self._torch.compiler.set_stance("force_eager")
        return compiled

    def _report_once(self) -> None:
        self._events.not_rehearsed("CUDA", settings.SHOWN_BY)

    def _touch(self) -> None:
        """Use the GPU. Raises RuntimeError in a process that was forked off one that has used it, as CUDA does."""
        self._report_once()
        if os.getpid() == self._pid:
            self._touched = True
        elif self._touched or self._events.stage in USING:
            raise RuntimeError(FORKED)


def _hide_gpus(torch: Any) -> bool:
    """Keep this machine's GPUs from this process; return whether that went well, as it does where none was used before.

    The driver reads the variable once, when it is first asked. The script finds it as it was.
    """
    before = os.environ.get(VISIBLE)
    os.environ[VISIBLE] = ""
    try:
        hidden = not torch.cuda.is_available()
    finally:
        if before is None:
            del os.environ[VISIBLE]
        else:
            os.environ[VISIBLE] = before
    if hidden:
        wrap(torch.cuda, "device_count", lambda *_, **__: 0)  # which NVML tells, whatever the driver has read
    return hidden


class FinishedStream:
    """A stream that everything has gone through already."""

    device_index, cuda_stream, priority = 0, 0, 0

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> "FinishedStream":  # noqa: PYI034 - Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None: ...

    def synchronize(self) -> None:
        """Wait for nothing."""

    def query(self) -> bool:
        """Whether all is done."""
        return True

    def wait_stream(self, stream: Any) -> None:
        """Wait for nothing."""

    def wait_event(self, event: Any) -> None:
        """Wait for nothing."""

    def record_event(self, event: Any = None) -> Any:
        """Return an event that has happened."""
        return event or FinishedEvent()


class FinishedEvent:
    """An event that has happened."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def record(self, stream: Any = None) -> None:
        """Happen."""

    def wait(self, stream: Any = None) -> None:
        """Wait for nothing."""

    def synchronize(self) -> None:
        """Wait for nothing."""

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def elapsed_time(self, _end: Any) -> float:
        """Return milliseconds until another event; more than none, since scripts divide by it."""
        return 1.0


def _generator(torch: Any, assumed: AssumedDevice) -> Any:
    """Return a class that makes generators of the processor; those of torch are instances of it."""
    real = torch._C.Generator

    class Kind(type):
        def __instancecheck__(cls, thing: Any) -> bool:
            return isinstance(thing, real)

        def __call__(cls, device: Any = "cpu") -> Any:
            return real(assumed.near(device))

    return Kind("Generator", (), {"__doc__": real.__doc__})
