"""Activations of a layer: what the forward pass keeps for the backward pass, and what that needs besides.

Everything is in bytes per token, unless it says otherwise. h is the width of the residual stream, i that of the MLP; q, k, v and
o are those of queries, keys, values and what attention gives back.

Source: the saved tensors of each operation in torch 2.13, as a trace of transformers 5.23 shows them. For Llama in bfloat16
without checkpoints the sum is 16h + 4q + 4k + 8i, which agrees with the trace to 0.1 % (docs/estimates.md).
"""

from dataclasses import dataclass
from typing import Final

from holdfast.engine.plan.amount import Amount, counted, size
from holdfast.engine.plan.parameters import layer_parameters, mlp_width, projections, sharing_adapters
from holdfast.engine.plan.step import FLOAT32, TrainingStep

ATTENTION_INPUTS: Final = ("q_proj", "k_proj", "v_proj", "q_a_proj", "kv_a_proj_with_mqa")
MLP_INPUTS: Final = ("gate_proj", "up_proj")
EAGER: Final = 6
"""Bytes per head and pair of tokens: scores in 16 bits, softmax in float32. Its output in 16 bits takes the place of the scores."""
HELD_STREAMS: Final = 5
"""Tensors of the stream's width that the code of a layer holds while it is computed again (`rerun_forward`). Source: traces of transformers 5.23 with peft 0.21."""
EAGER_BACKWARD: Final = 16
"""The same while the gradient of the softmax is computed: its output, the gradient, their product and the result, all in float32.
Source: torch 2.11 SoftMax.cu, softmax_backward_cuda_out; seen on an H200."""


@dataclass(frozen=True, slots=True)
class LayerActivations:
    """Activations of one layer.

    Attributes:
        attention: What attention, the norm before it and their adapters keep.
        mlp: What the MLP and its adapters keep.
        mlp_norm: What the norm before the MLP keeps.
        backward: The most that is alive while the layer's backward pass runs, what was kept included.
    """

    attention: float
    mlp: float
    mlp_norm: float
    backward: float

    @property
    def kept(self) -> float:
        """What is kept from the forward to the backward pass."""
        return self.attention + self.mlp_norm + self.mlp


def layer_activations(step: TrainingStep) -> LayerActivations:
    """Return the activations of a layer."""
    norms = step.model.traits.norms // 2 * norm_kept(step, step.model.hidden)
    attention = norms + inputs_kept(step, ATTENTION_INPUTS) + attention_kept(step) + inputs_kept(step, ("o_proj",))
    mlp_norm = norms + inputs_kept(step, MLP_INPUTS)
    mlp = mlp_kept(step) + inputs_kept(step, ("down_proj",)) + routing_kept(step)
    return LayerActivations(
        attention=attention,
        mlp=mlp,
        mlp_norm=mlp_norm,
        backward=max(
            attention + mlp_norm + mlp + mlp_backward(step),
            attention + mlp_norm + norm_backward(step),
            attention + attention_backward(step),
        ),
    )


def norm_kept(step: TrainingStep, width: int) -> float:
    """Return what a norm keeps: its input in float32 (4 a element) and, if its weights are trained, the normalized input.

    Fused kernels, as LayerNorm is one, keep the input as it is.
    """
    if "norm" in step.fused or step.model.traits.norm_bias:
        return step.numerics.residual * width
    return (FLOAT32 + (0 if step.adapter else step.numerics.residual)) * width


def inputs_kept(step: TrainingStep, names: tuple[str, ...]) -> float:
    """Return the inputs that some projections keep, because the gradient of their weights needs them.

    Where the projections read the same tensor, it is kept once. Autocast makes a copy for each of them if the residual stream is in float32.
    The input of `o_proj` is what attention gives back, and is counted there.
    """
    matrices = {name: matrix for name, matrix in projections(step.model).items() if name in names}
    numerics = step.numerics
    if step.adapter is not None:
        return _adapter_inputs_kept(step, names)
    width = max((inputs for inputs, _ in matrices.values()), default=0)
    if names == ("o_proj",):
        return 0.0
    copies = (
        len(matrices) if numerics.autocast and numerics.residual > numerics.compute and names != ("down_proj",) else 1
    )
    return float(copies * numerics.compute * width)


def _adapter_inputs_kept(step: TrainingStep, names: tuple[str, ...]) -> float:
    """Return what adapters keep: peft casts the input to the adapter's dtype, and autocast back, so that each target has a copy of its own.

    An adapter in the dtype of the activations reads the tensor itself. Dropout keeps a copy and a mask of one byte in any case.
    """
    adapter, numerics = step.adapter, step.numerics
    assert adapter is not None  # noqa: S101 - the caller asked
    adapted = adapter.targets.intersection(names) - sharing_adapters(step.model, adapter.targets)
    widths = [inputs for name, (inputs, _) in projections(step.model).items() if name in adapted]
    element = numerics.compute if numerics.autocast else adapter.bytes
    copied = adapter.bytes != numerics.compute or numerics.residual != numerics.compute or adapter.dropout
    shared = 0 if names == ("o_proj",) else max(widths, default=0)
    inputs = sum(widths) if copied else shared
    masks = sum(widths) if adapter.dropout else 0
    return float(element * inputs + masks + element * adapter.rank * len(widths))


def attention_kept(step: TrainingStep) -> float:
    """Return what attention keeps: queries, keys, values, its output and the log of the softmax's sum (4 a head).

    A mask makes `sdpa` repeat the keys and values of grouped heads, and is a 16-bit matrix for each row. Eager attention keeps
    scores and probabilities of each head and pair of tokens.
    """
    shape, element = step.model.attention, step.numerics.compute
    kept = element * (shape.query + shape.key + shape.value + shape.output) + FLOAT32 * shape.heads
    if step.model.traits.head_norms:
        kept += (FLOAT32 + (0 if step.adapter else element)) * (shape.query + shape.key)
    kept += (FLOAT32 + 2 * element) * sum(shape.compressed)  # latents: kept by their norms and the projections after
    if step.attention == "eager":
        return kept + EAGER * shape.heads * step.attended
    windowed = shape.window and shape.sliding and step.attended > shape.window
    if step.attention == "sdpa" and (step.masked or windowed):
        kept += element * step.attended + element * (shape.query - shape.key + shape.output - shape.value)
    return float(kept)


def mlp_kept(step: TrainingStep) -> float:
    """Return what the MLP keeps between its projections: 6i for a gate, its activation and what that is multiplied with.

    The product is the input of `down_proj`. A fused kernel computes the activation again, and keeps 4i.
    """
    width = mlp_width(step.model)
    factors = 1 if not step.model.traits.gated else 2 if "mlp" in step.fused else 3
    return float(factors * step.numerics.mlp * width)


def routing_kept(step: TrainingStep) -> float:
    """Return what a mixture keeps to send tokens to experts: a copy of the input and the output per chosen expert, and 4 a router logit."""
    if step.model.experts is None:
        return 0.0
    copies = 2 * step.model.experts.chosen * step.model.hidden * step.numerics.compute
    return float(copies + FLOAT32 * step.model.experts.count)


def mlp_backward(step: TrainingStep) -> float:
    """Return what the backward pass of the product in the MLP needs: the stream's gradient, and those of three tensors of width i.

    By then `down_proj` has freed its input, and so has its adapter. Where kernels are fused, adapters are taken to keep it: so it was in the
    published runs (docs/estimates.md), whose kernels were not read.
    """
    width, numerics = mlp_width(step.model), step.numerics
    gradients = 1 if "mlp" in step.fused else 3 if step.model.traits.gated else 2
    freed = 0 if step.adapter and step.fused else numerics.mlp * width
    return float(numerics.residual * step.model.hidden + gradients * numerics.mlp * width - freed)


def rerun_forward(step: TrainingStep, kept: float) -> float:
    """Return what is alive when a checkpointed layer is computed again up to its last saved tensor: the input of the adapter on `down_proj`.

    That is all that the layer keeps, and the tensors that only its running code holds: the gradient of its output and that times the
    adapter's scale, the residual stream, the input of the MLP and the output of `down_proj`; the product in the MLP, and that in the
    adapter's dtype. Adapters of the activations' dtype read the product itself; it is one of those that are kept.

    Args:
        step: The step.
        kept: What the layer keeps.
    """
    adapter, numerics = step.adapter, step.numerics
    if adapter is None or "down_proj" not in adapter.targets or step.fused:
        return 0.0
    streams = HELD_STREAMS - 1 if step.reentrant else HELD_STREAMS
    cast = (numerics.mlp + adapter.bytes) * mlp_width(step.model) if adapter.bytes != numerics.mlp else 0
    return kept + float(streams * numerics.residual * step.model.hidden + cast)


def norm_backward(step: TrainingStep) -> float:
    """Return what the backward pass of a norm needs: three tensors of the stream, and three in float32; one more of an adapter in float32."""
    hidden = step.model.hidden
    if "norm" in step.fused:
        return float(3 * step.numerics.residual * hidden)
    casts = 4 if step.adapter and step.adapter.bytes == FLOAT32 else 3
    return float((3 * step.numerics.residual + casts * FLOAT32) * hidden)


def attention_backward(step: TrainingStep) -> float:
    """Return what the backward pass of flash attention needs: gradients of all that it read, those of queries in float32 too.

    Those of grouped keys and values are computed for each query head, and then summed. Eager attention has the gradients of pairs instead.
    """
    shape, element = step.model.attention, step.numerics.compute
    if step.attention == "eager":
        return float(
            (EAGER_BACKWARD - EAGER) * shape.heads * step.attended + step.numerics.residual * step.model.hidden
        )
    gradients = element * (shape.query + shape.key + shape.value + shape.output) + FLOAT32 * shape.query
    expanded = element * (shape.query + shape.output) if shape.grouped else 0
    return float(gradients + expanded + step.numerics.residual * step.model.hidden)


def layer_casts(step: TrainingStep) -> Amount:
    """Return a layer's weights in 16 bits that the backward pass keeps.

    Autocast makes them of weights in float32; peft makes them of the experts that it adapts, with the adapter's product added.
    """
    if step.adapter and step.adapter.experts:
        return counted(_expert_weights(step), "parameters of experts") * size(step.numerics.weights)
    each = size(step.numerics.compute if step.casts_weights else 0)
    return counted(layer_parameters(step.model), "parameters of a layer") * each


def expert_gradient(step: TrainingStep) -> Amount:
    """Return the gradient of a layer's gate and up projections, of all experts, where peft adapts them."""
    adapted = _expert_weights(step) * 2 // 3 if step.adapter and step.adapter.experts else 0
    return counted(adapted, "parameters of gates and up projections") * size(step.numerics.weights)


def _expert_weights(step: TrainingStep) -> int:
    experts = step.model.experts
    return 3 * experts.count * experts.width * step.model.hidden if experts else 0


def largest_matrix(step: TrainingStep) -> Amount:
    """Return the elements of a layer's largest projection."""
    largest = max(inputs * outputs for inputs, outputs in projections(step.model).values())
    return counted(largest, "parameters of a matrix")
