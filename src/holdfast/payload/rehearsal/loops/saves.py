"""The models that a loop saves: whether what it trained is in them.

A copy that was loaded or made before the training has the weights that the training began with. Covered: `save_pretrained` of
models. Not covered: adapters, weights in another precision, and what is saved by `torch.save` or accelerate.
"""

import re
from typing import Any

from ..events import EventWriter
from ..libraries import torch

OTHERWISE = re.compile(r"torch\.save\(|\.save_(?:state|model)\(|push_to_hub|upload_|safetensors|save_file\(")
"""How a script's text looks that saves in a way that is not looked at."""
COPIES = re.compile(r"deepcopy|load_state_dict|copy_\(|\bema|average|best", re.IGNORECASE)
"""How a script's text looks that brings trained weights into a copy now and then: with few steps it may not come to that."""
UNSAVED = "no-checkpoint-saved"
Print = tuple[tuple[int, ...], float, float]
"""What a tensor is known by: its shape, its sum and its norm."""


class SavedModels:
    """Looks at models when they are saved.

    Attributes:
        untrained: Of each, in order, how many tensors the training had changed, where it has all of them as they were
            before; else 0.
        bases: Of each, where its weights were loaded from; empty if it is not known.
    """

    def __init__(self) -> None:
        self._begun: dict[int, tuple[Any, Print]] = {}
        self.untrained: list[int] = []
        self.bases: list[str] = []

    def begin(self, tensors: list[Any]) -> None:
        """Remember tensors that an optimizer is about to change for the first time."""
        self._begun |= {id(each): (each, _print_of(each)) for each in tensors if each.requires_grad}

    @property
    def largest_from_zero(self) -> float:
        """The largest weight of those tensors that began as 0, as half of each adapter does."""
        ends = [float(each.detach().abs().max()) for each, (_, _, norm) in self._begun.values() if not norm]
        return max(ends, default=0.0)

    def look(self, model: Any, state: Any) -> None:
        """Look at a model that is saved.

        Args:
            model: The model.
            state: Its tensors by name, where the script gives them.
        """
        moved = [(begun, now) for each, begun in self._begun.values() if (now := _print_of(each)) != begun]
        saved = {_print_of(each) for each in (state or model.state_dict()).values() if torch.is_tensor(each)}
        is_old = bool(moved) and all(begun in saved and now not in saved for begun, now in moved)
        self.bases.append(getattr(model, "name_or_path", ""))
        self.untrained.append(len(moved) if is_old else 0)

    def judge(self, source: str, events: EventWriter) -> None:
        """Report where nothing that was saved has been trained.

        Args:
            source: The script's text.
            events: Receives the report.
        """
        if not self.untrained or not all(self.untrained) or OTHERWISE.search(source):
            return
        because = (
            f"the model that is saved has the weights that training began with: training changed {self.untrained[-1]} "
            "tensors of another model, and none of them is in it"
        )
        if COPIES.search(source):
            events.warning(UNSAVED, "save", because)
        else:
            events.fault(UNSAVED, "save", because, fix="Call `save_pretrained` of the model that the optimizer trains.")


def _print_of(tensor: Any) -> Print:
    values = tensor.detach().double()
    return tuple(values.shape), float(values.sum()), float(values.norm())
