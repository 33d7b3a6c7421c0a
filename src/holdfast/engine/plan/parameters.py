"""Parameters, counted by where they are in a model. Each count is of one layer, unless its name says otherwise."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.core.check.finding import MissingFactError
from holdfast.engine.plan.architecture import Architecture, Experts
from holdfast.engine.plan.architecture_reading import CONFIG, read_architecture

Matrix = tuple[int, int]
"""Inputs and outputs of a linear projection."""
QKV: Final = ("q_proj", "k_proj", "v_proj")
VISION_OUT: Final = "out_proj"
VISION_MLP: Final = ("fc1", "fc2")
"""Projections of SigLIP beside those of queries, keys and values. Source: transformers 5.23 modeling_siglip.py."""
FUSED: Final[Mapping[str, tuple[str, ...]]] = {"qkv_proj": QKV, "gate_up_proj": ("gate_proj", "up_proj")}
"""Names under which some types hold several projections as one."""


def read_model(config: Mapping[str, Any], parameters: int = 0) -> Architecture:
    """Return the sizes of a model; parameters outside its decoder are those that are left of all.

    Args:
        config: `config.json`.
        parameters: All parameters, as the safetensors metadata counts them; 0 if unknown.

    Raises:
        MissingFactError: See `read_architecture`; or the size of a vision tower is not known.
    """
    model = read_architecture(config)
    if not isinstance(config.get("text_config"), Mapping):
        return model
    extra = parameters - total_parameters(model)
    if extra < 0 or not parameters:
        raise MissingFactError(CONFIG, "the size of what it has beside a decoder is not known")
    return replace(model, extra_parameters=extra)


def projections(model: Architecture) -> dict[str, Matrix]:
    """Return the linear projections of a layer by their usual names; those of one expert only, of a mixture."""
    return attention_projections(model) | mlp_projections(model, mlp_width(model))


def attention_projections(model: Architecture) -> dict[str, Matrix]:
    """Return the projections around attention."""
    shape, hidden = model.attention, model.hidden
    latent_q, latent_kv = shape.compressed
    out = {"o_proj": (shape.output, hidden)}
    if not latent_kv:
        return {"q_proj": (hidden, shape.query), "k_proj": (hidden, shape.key), "v_proj": (hidden, shape.value), **out}
    queries = (
        {"q_a_proj": (hidden, latent_q), "q_b_proj": (latent_q, shape.query)}
        if latent_q
        else {"q_proj": (hidden, shape.query)}
    )
    expanded = shape.key - shape.heads * shape.rotary + shape.value
    return {
        **queries,
        "kv_a_proj_with_mqa": (hidden, latent_kv + shape.rotary),
        "kv_b_proj": (latent_kv, expanded),
        **out,
    }


def mlp_projections(model: Architecture, width: int) -> dict[str, Matrix]:
    """Return the projections of an MLP of some width."""
    gate = {"gate_proj": (model.hidden, width)} if model.traits.gated else {}
    return {**gate, "up_proj": (model.hidden, width), "down_proj": (width, model.hidden)}


def mlp_width(model: Architecture) -> int:
    """Return the intermediate width that one token goes through: of all experts that it is sent to, in a mixture."""
    if model.experts is None:
        return model.intermediate
    return model.experts.chosen * model.experts.width + model.experts.shared


def attention_parameters(model: Architecture) -> int:
    """Return the parameters of attention: projections, their biases, norms of heads and latents, sinks."""
    shape, traits = model.attention, model.traits
    matrices = attention_projections(model)
    found = _weights(matrices.values())
    if "qkv" in model.biases:
        biased = ("q_a_proj", "kv_a_proj_with_mqa") if shape.compressed[1] else QKV
        found += sum(matrices[name][1] for name in biased if name in matrices)
    if "output" in model.biases:
        found += model.hidden
    if traits.head_norms == "head":
        found += 2 * (shape.query // shape.heads)
    if traits.head_norms == "width":
        found += shape.query + shape.key
    return found + sum(shape.compressed) + shape.heads * traits.sinks


def mlp_parameters(model: Architecture, width: int) -> int:
    """Return the parameters of one MLP."""
    matrices = mlp_projections(model, width)
    biases = sum(outputs for _, outputs in matrices.values()) if "mlp" in model.biases else 0
    return _weights(matrices.values()) + biases


def expert_parameters(model: Architecture, experts: Experts) -> int:
    """Return the parameters of a mixture: its router, its experts and what all tokens share."""
    router = model.hidden * experts.count + (experts.count if model.traits.router_bias else 0)
    shared = mlp_parameters(model, experts.shared) if experts.shared else 0
    gate = (
        model.hidden if experts.shared and "shared_width" in model.traits.keys else 0
    )  # qwen2_moe weighs what is shared
    return router + experts.count * mlp_parameters(model, experts.width) + shared + gate


def layer_parameters(model: Architecture) -> int:
    """Return the parameters of a layer: the average one, where some layers are dense and others not."""
    return decoder_parameters(model) // model.layers


def decoder_parameters(model: Architecture) -> int:
    """Return the parameters of all layers."""
    norms = model.traits.norms * _norm(model)
    shared = model.layers * (attention_parameters(model) + norms)
    if model.experts is None:
        return shared + model.layers * mlp_parameters(model, model.intermediate)
    dense = model.experts.dense_layers
    sparse = (model.layers - dense) * expert_parameters(model, model.experts)
    return shared + dense * mlp_parameters(model, model.intermediate) + sparse


def embedding_parameters(model: Architecture) -> int:
    """Return the parameters of the embedding."""
    return model.vocabulary * model.hidden


def head_parameters(model: Architecture) -> int:
    """Return the parameters of the head that are not the embedding's."""
    return 0 if model.tied else model.vocabulary * model.hidden


def total_parameters(model: Architecture) -> int:
    """Return all parameters of a model, tied ones once."""
    ends = embedding_parameters(model) + head_parameters(model) + _norm(model)
    return decoder_parameters(model) + ends + model.extra_parameters


def linear_parameters(model: Architecture) -> int:
    """Return the weights of all linear projections in layers: those that bitsandbytes quantizes. Experts held as one tensor are not."""
    found = _weights(attention_projections(model).values()) * model.layers
    if model.experts is None:
        return found + model.layers * _weights(mlp_projections(model, model.intermediate).values())
    dense = model.experts.dense_layers * _weights(mlp_projections(model, model.intermediate).values())
    shared = (model.layers - model.experts.dense_layers) * (
        _weights(mlp_projections(model, model.experts.shared).values()) if model.experts.shared else 0
    )
    return found + dense + shared


def active_parameters(model: Architecture) -> int:
    """Return the weights in layers and head that one token is multiplied with: what its arithmetic is counted by."""
    per_layer = _weights(attention_projections(model).values()) + _weights(
        mlp_projections(model, mlp_width(model)).values()
    )
    return model.layers * per_layer + model.vocabulary * model.hidden


def adapter_parameters(model: Architecture, targets: frozenset[str], rank: int) -> int:
    """Return the parameters of a LoRA adapter: `rank * (inputs + outputs)` for each module that it goes to.

    Projections that a type holds as one module have one adapter together, and so the inputs of one.
    """
    matrices = projections(model)
    per_layer = sum(rank * sum(matrix) for name, matrix in matrices.items() if name in targets)
    shared = sum(rank * matrices[name][0] for name in sharing_adapters(model, targets))
    return model.layers * (per_layer - shared) + _vision_adapters(model, targets, rank)


def expert_adapter_parameters(model: Architecture, rank: int, *, router: bool) -> int:
    """Return the parameters of the adapters on experts, and perhaps on their routers. Gate and up projection are one tensor, whose adapter has twice the rank.

    Source: peft 0.21 utils/transformers_weight_conversion.py; OLMoE with them has 189,284,352 trained parameters (docs/estimates.md).
    """
    experts = model.experts
    assert experts is not None  # noqa: S101 - only a mixture has such adapters
    each = 2 * (model.hidden + 2 * experts.width) + experts.width + model.hidden
    routed = model.hidden + experts.count if router else 0
    return model.layers * rank * (routed + experts.count * each)


def _vision_adapters(model: Architecture, targets: frozenset[str], rank: int) -> int:
    """Return the parameters of the adapters in a vision tower: peft matches modules by the ends of their names, there too."""
    tower = model.vision
    if tower is None:
        return 0
    attention = 2 * tower.hidden * len(targets & {*QKV, VISION_OUT})
    mlp = (tower.hidden + tower.intermediate) * len(targets & set(VISION_MLP))
    return rank * tower.layers * (attention + mlp)


def sharing_adapters(model: Architecture, targets: frozenset[str]) -> frozenset[str]:
    """Return the projections whose adapter is that of another, the first of the module that holds them."""
    together = [FUSED[name] for name in model.traits.fused if targets.issuperset(FUSED[name])]
    return frozenset(name for names in together for name in names[1:])


def _norm(model: Architecture) -> int:
    return model.hidden * (2 if model.traits.norm_bias else 1)


def _weights(matrices: Iterable[Matrix]) -> int:
    return sum(inputs * outputs for inputs, outputs in matrices)
