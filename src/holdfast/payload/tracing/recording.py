"""The birth and death of every storage, as operations on fake tensors make and drop them."""

import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .request import TAGS, TracedPhase, TraceMark

ADD = torch.ops.aten.add.Tensor
ADD_IN_PLACE = torch.ops.aten.add_.Tensor
FLASH_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_backward.default
EFFICIENT_BACKWARD = torch.ops.aten._scaled_dot_product_efficient_attention_backward.default
SOFTMAX_BACKWARD = torch.ops.aten._softmax_backward_data.default
FLASH_ROWS, FLASH_WIDTH = 128, 32
"""What flash attention rounds lengths and head widths up to. Source: flash-attention 2.7 csrc/flash_attn/flash_api.cpp, mha_bwd."""


class Recorder(TorchDispatchMode):
    """Notes every storage that an operation makes, and its end.

    Attributes:
        sizes: Bytes of each.
        tags: The purpose of each.
        events: Births and deaths.
        marks: Where phases begin.
        phase: The phase at work.
        operations: Operations that were dispatched.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.tags: list[int] = []
        self.events: list[int] = []
        self.marks: list[TraceMark] = []
        self.phase: TracedPhase = "load"
        self.operations = 0
        self._tag = TAGS.index("weights")
        self._live: dict[int, int] = {}
        self._references: dict[int, Any] = {}
        self._borrowed: tuple[int, int] | None = None
        self.mark("load")

    def begin(self) -> None:
        """Begin with what is alive now, in the order in which it was made: how it came to be is forgotten."""
        alive = sorted(self._live.items(), key=lambda item: item[1])
        sizes = [(key, self.sizes[place], self.tags[place]) for key, place in alive]
        self.marks.clear()
        self.events.clear()
        self.sizes = [size for _, size, _ in sizes]
        self.tags = [tag for _, _, tag in sizes]
        self._live = {key: place for place, (key, _, _) in enumerate(sizes)}
        self.operations = 0
        self.mark("load")
        self.events.extend(place + 1 for place in range(len(sizes)))

    def learn_references(self) -> None:
        """Count the references to a gradient that nothing but the engine holds, and to its storage."""
        self._borrowed = (0, 0)
        leaf = torch.ones(2, requires_grad=True)
        self.phase = "backward"
        (leaf.sin() + leaf.cos()).sum().backward()
        self.phase = "load"

    def mark(self, phase: TracedPhase, layer: int = -1) -> None:
        """Begin a part of a phase."""
        self.phase = phase
        self.marks.append(TraceMark(len(self.events), phase, layer))

    def tag(self, name: str) -> None:
        """Have what is made from now on be for a purpose."""
        self._tag = TAGS.index(name)

    def tag_tensors(self, tensors: Iterator[Any], name: str) -> None:
        """Say what some tensors are for, whenever they were made."""
        for tensor in tensors:
            place = self._live.get(tensor.untyped_storage()._cdata)
            if place is not None:
                self.tags[place] = TAGS.index(name)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and note what it made."""
        del types
        self.operations += 1
        if func is ADD and self._sums_gradients(args, kwargs):
            return ADD_IN_PLACE(*args)
        with self._workspace(func, args):
            made = func(*args, **(kwargs or {}))
            self._note(made)
        return made

    def _sums_gradients(self, args: Any, kwargs: Any) -> bool:
        """Whether the engine sums two gradients, which it does in place where it alone holds the first.

        It never does so of fake tensors. Source: torch/csrc/autograd/input_buffer.cpp, can_accumulate_inplace.
        """
        if self.phase not in {"backward", "loss"} or torch.is_grad_enabled() or kwargs or len(args) != len("ab"):
            return False
        held, added = args
        if not isinstance(held, torch.Tensor) or not isinstance(added, torch.Tensor):
            return False
        if held.shape != added.shape or held.dtype != added.dtype:
            return False
        counted = held._use_count(), torch._C._storage_Use_Count(held.untyped_storage()._cdata)  # pyright: ignore[reportAttributeAccessIssue]  # private in torch
        if self._borrowed == (0, 0):
            self._borrowed = counted
        return self._borrowed == counted

    def _note(self, made: Any) -> None:
        if isinstance(made, torch.Tensor):
            self._born(made)
        elif isinstance(made, tuple | list):
            for each in made:
                self._note(each)

    def _born(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._live:
            return
        place = self._allocate(storage.nbytes())
        self._live[key] = place
        self._references[key] = weakref.ref(storage, lambda _: self._died(key))

    def _died(self, key: int) -> None:
        self._references.pop(key, None)
        self.events.append(-self._live.pop(key) - 1)

    def _allocate(self, size: int) -> int:
        place = len(self.sizes)
        self.sizes.append(size)
        self.tags.append(self._tag)
        self.events.append(place + 1)
        return place

    @contextmanager
    def _workspace(self, func: Any, args: Any) -> Iterator[None]:
        """Have a kernel's own memory be there while it runs."""
        workspace = WORKSPACES.get(func)
        places = [self._allocate(size) for size in workspace(args)] if workspace else []
        yield
        self.events.extend(-place - 1 for place in places)


def _flash_workspace(args: Any) -> Iterator[int]:
    """Yield the sizes of what the backward pass of flash attention allocates beside gradients.

    Gradients of queries in float32, the sums of rows, and gradients of keys and values for each query head.
    """
    query, key = args[1], args[2]
    batch, heads, length, width = query.shape
    rows, columns = -(-length // FLASH_ROWS) * FLASH_ROWS, -(-width // FLASH_WIDTH) * FLASH_WIDTH
    yield 4 * batch * heads * rows * columns
    yield 4 * batch * heads * rows
    if key.shape[1] != heads:
        yield from [key.element_size() * batch * key.shape[2] * heads * width] * 2


def _efficient_workspace(args: Any) -> Iterator[int]:
    """Yield those of memory-efficient attention: the sums of rows, and gradients of queries in float32."""
    query = args[1]
    batch, heads, length, width = query.shape
    yield 4 * batch * heads * length
    yield 4 * batch * heads * length * width


def _softmax_workspace(args: Any) -> Iterator[int]:
    """Yield that of softmax: the gradient times the output.

    Source: torch 2.11 aten/src/ATen/native/cuda/SoftMax.cu, softmax_backward_cuda_out; seen on an H200.
    """
    gradient = args[0]
    yield gradient.numel() * gradient.element_size()


WORKSPACES: Mapping[Any, Callable[[Any], Iterator[int]]] = {
    FLASH_BACKWARD: _flash_workspace,
    EFFICIENT_BACKWARD: _efficient_workspace,
    SOFTMAX_BACKWARD: _softmax_workspace,
}
"""What kernels allocate for themselves while they run."""
