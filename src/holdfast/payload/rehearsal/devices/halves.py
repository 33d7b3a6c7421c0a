"""Training in float16: what a gradient scaler refuses on a GPU is refused here, and weights of float16 meet their own kind.

Arithmetic of float16 is played in bfloat16, which needs no scaling, unless weights are float16: autocast takes no third type.
Source: `GradScaler.unscale_` of torch 1.10 to 2.13 raises for gradients of float16, with which weights of float16 end up;
`Trainer` (through `Accelerator.clip_grad_norm_`) and `GradScaler.step` call it. Adapters that PEFT puts on such weights are
float32, and pass.
"""

import os
from typing import Any

from ..wrapping import when_imported, wrap

SHARDING = ("ACCELERATE_USE_DEEPSPEED", "ACCELERATE_USE_FSDP")
REFUSED = "Attempting to unscale FP16 gradients."


class Float16State:
    """What is known of float16 in this process.

    Attributes:
        asked: Whether a trainer or an accelerator was set to fp16.
        scaled: Whether it would scale its gradients by torch's scaler: DeepSpeed and FSDP have their own ways.
        weights: Whether any model has weights of float16.
    """

    def __init__(self) -> None:
        self.asked = False
        self.scaled = False
        self.weights = False

    def ask(self, *, sharded: bool) -> None:
        """Take down that fp16 was requested."""
        by_launcher = any(os.environ.get(name, "").lower() in ("true", "1") for name in SHARDING)
        self.asked, self.scaled = True, self.scaled or not (sharded or by_launcher)

    def watch(self, torch: Any) -> None:
        """Watch what makes weights float16, and scalers."""
        self._half = torch.float16
        wrap(torch.nn.Module, "half", self._halve)
        scaler = torch.amp.GradScaler if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler
        wrap(scaler, "__init__", _remember)
        wrap(scaler, "unscale_", self._unscale)
        wrap(scaler, "step", self._unscale_and_step)
        when_imported("transformers.modeling_utils", self._watch_loading)
        when_imported("accelerate.accelerator", lambda module: wrap(module.Accelerator, "prepare_model", self._prepare))
        when_imported(
            "accelerate.optimizer", lambda module: wrap(module.AcceleratedOptimizer, "step", self._accelerated)
        )

    def type_for(self, torch: Any) -> Any:
        """Return the type that arithmetic of float16 is played in."""
        return torch.float16 if self.weights else torch.bfloat16

    def _watch_loading(self, module: Any) -> None:
        def load(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
            model = original(cls, *args, **kwargs)
            self._note(model[0] if isinstance(model, tuple) else model)
            return model

        wrap(module.PreTrainedModel, "from_pretrained", load)

    def _note(self, model: Any) -> None:
        self.weights = self.weights or any(each.dtype == self._half for each in model.parameters())

    def _halve(self, original: Any, module: Any) -> Any:
        self.weights = True
        return original(module)

    def _prepare(self, original: Any, accelerator: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        if self.asked:
            self._note(model)
        return original(accelerator, model, *args, **kwargs)

    def _accelerated(self, original: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        if self.scaled and optimizer.gradient_state.sync_gradients:
            self._refuse(optimizer.optimizer)
        return original(optimizer, *args, **kwargs)

    def _unscale(self, original: Any, scaler: Any, optimizer: Any) -> Any:
        if vars(scaler).get("_holdfast_asked"):
            self._refuse(optimizer)
        return original(scaler, optimizer)

    def _unscale_and_step(self, original: Any, scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        # An optimizer that scales for itself is not asked to unscale.
        if vars(scaler).get("_holdfast_asked") and not getattr(optimizer, "_step_supports_amp_scaling", False):
            self._refuse(optimizer)
        return original(scaler, optimizer, *args, **kwargs)

    def _refuse(self, optimizer: Any) -> None:
        """Raise what a scaler does of gradients of float16."""
        held = (each for group in optimizer.param_groups for each in group["params"])
        if any(each.grad is not None and each.grad.dtype == self._half for each in held):
            raise ValueError(REFUSED)


def _remember(original: Any, scaler: Any, *args: Any, **kwargs: Any) -> None:
    """Make a scaler, and remember whether it was to scale for a GPU."""
    device = kwargs.get("device", args[0] if args and isinstance(args[0], str) else "cuda")
    enabled = kwargs.get("enabled", True)
    original(scaler, *args, **kwargs)
    scaler._holdfast_asked = bool(enabled) and str(device).startswith("cuda")
