"""Traces of real model classes, losses and optimizers, on fake tensors: what a user relies on when a plan says that it was traced."""

from dataclasses import replace
from functools import cache
from typing import Any, Final

import pytest

from holdfast.engine.plan.card import workspaces
from holdfast.engine.plan.trace_growth import grow_stream
from holdfast.engine.plan.trace_stream import phase_peaks, repeat_step
from holdfast.engine.plan.traced_step import play
from holdfast.payload.tracing.request import (
    TAGS,
    AdapterRequest,
    OptimizerRequest,
    QuantizationRequest,
    TraceAnswer,
)
from tests.helpers.traced_steps import DEPTHS, LAYERS, LLAMA, PROJECTIONS, TIED, small_request, trace_all

pytestmark = [pytest.mark.train, pytest.mark.long]

TOKENS, VOCABULARY = 4 * 256, 8192
WORKSPACES = workspaces(None).bytes
LORA = AdapterRequest(rank=16, targets=PROJECTIONS)
NARROW = replace(LORA, dtype="bfloat16")
MIXED: Final[dict[str, Any]] = {"dtype": "float32", "autocast": "bfloat16"}
SLIDING: Final = {
    "model_type": "qwen2",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 4096,
    "use_sliding_window": True,
    "sliding_window": 64,
    "layer_types": ["sliding_attention", "full_attention"] * 3,
}
MIXTURE: Final = {
    "model_type": "qwen3_moe",
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 128,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "vocab_size": 4096,
}
WHOLE: Final[dict[str, dict[str, Any]]] = {
    "mixed without checkpoints, evaluated": {**MIXED, "checkpointing": False, "eval_rows": 8},
    "foreach, accumulated": {"optimizer": OptimizerRequest("adamw_torch", copies=1), "accumulation": True},
    "lora on float32": {**MIXED, "adapter": replace(LORA, dropout=0.1)},
    "qlora": {"adapter": NARROW, "quantization": QuantizationRequest(nested=True), "autocast": "bfloat16"},
    "lora without checkpoints": {"adapter": LORA, "autocast": "bfloat16", "checkpointing": False},
    "padded": {"masked": True},
    "packed": {"masked": True, "flattened": True, "attention": "flash", **MIXED},
    "eager": {"attention": "eager"},
    "liger": {"head": "liger", "fused": ("norm", "mlp")},
    "dpo": {"method": "dpo", "reference": True, "scores_reference": True},
    "dpo with adapter": {"method": "dpo", "adapter": LORA, "scores_reference": True, **MIXED},
    "reward": {"method": "reward", "head": "score"},
    "grpo": {"method": "grpo", "completion": 64},
    "sliding": {"config": SLIDING, "layers": 6, "masked": True},
    "mixture": {"config": MIXTURE, "layers": 5},
}
ROUGHLY: Final = {"foreach, accumulated": 0.08, "qlora": 0.03}
"""How far the reserved memory of a grown stream may be off, where it is more than 2 %."""
DEEP: Final = {"sliding": ((2, 4), 2)}
TRAPS: Final[dict[str, dict[str, Any]]] = {
    "full": {},
    "mixed": MIXED,
    "lora": {"adapter": LORA},
    "qlora": {"adapter": NARROW, "quantization": QuantizationRequest(nested=True), "autocast": "bfloat16"},
    "fused head": {"adapter": LORA, "rows": 4},
    "logits in the model": {"adapter": LORA, "rows": 4, "head": "logits", "shift": "model"},
    "logits copied": {"adapter": LORA, "rows": 4, "head": "logits", "shift": "copy"},
    "labels shifted": {"adapter": LORA, "rows": 4, "head": "logits", "shift": "labels"},
    "tied": {"config": TIED},
    "fused optimizer": {"optimizer": OptimizerRequest("adamw_torch_fused")},
    "foreach optimizer": {"optimizer": OptimizerRequest("adamw_torch", copies=1)},
    "sgd": {"optimizer": OptimizerRequest("sgd", states=0)},
    "8-bit optimizer": {"optimizer": OptimizerRequest("other", bytes=1.0)},
    "8-bit optimizer of bitsandbytes": {"optimizer": OptimizerRequest("other", bytes=1.0, wide_embeddings=True)},
    "without a mask": {"checkpointing": False, "rows": 1, "length": 1024},
    "with a mask": {"checkpointing": False, "rows": 1, "length": 1024, "masked": True},
    "eager": {"attention": "eager", "rows": 1, "length": 1024},
    "dpo": {"method": "dpo", "scores_reference": True, "adapter": LORA, **MIXED},
    "dpo, evaluated": {"method": "dpo", "scores_reference": True, "adapter": LORA, "eval_rows": 4, **MIXED},
}
REFUSED: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "custom code": ({"config": {**LLAMA, "auto_map": {"AutoModelForCausalLM": "m.M"}}}, "its code is its own"),
    "GPTQ": ({"config": {**LLAMA, "quantization_config": {"quant_method": "gptq"}}}, "quantized with `gptq`"),
    "unknown": ({"config": {**LLAMA, "model_type": "no_such"}}, "has no class for `no_such`"),
    "nonsense": ({"config": {**LLAMA, "num_attention_heads": 7}}, "fails on fake tensors"),
}


@cache
def trace_depths_of(name: str) -> tuple[list[TraceAnswer], TraceAnswer, int]:
    """Return the traces of a step with few layers, that with all, and the period of layers."""
    request = small_request(**WHOLE[name])
    depths, period = DEEP.get(name, (DEPTHS, 1))
    asked = {str(count): replace(request, layers=count) for count in (*depths, request.layers)}
    *few, whole = trace_all(asked).values()
    return few, whole, period


@pytest.fixture(scope="module")
def traces() -> dict[str, TraceAnswer]:
    asked = {name: small_request(**changes) for name, changes in TRAPS.items()}
    return trace_all(asked | {name: small_request(**changes) for name, (changes, _) in REFUSED.items()})


@pytest.mark.parametrize("name", WHOLE)
def test_few_layers_stand_for_the_whole_model(name: str) -> None:
    few, whole, period = trace_depths_of(name)
    assert whole.problem == ""
    expected = phase_peaks([whole], whole.layers)
    grown = phase_peaks(few, whole.layers, period)
    assert grown.keys() == expected.keys()
    for phase, peak in expected.items():
        assert grown[phase].bytes == pytest.approx(peak.bytes, rel=0.002), phase


@pytest.mark.parametrize("name", WHOLE)
def test_a_grown_stream_reserves_what_the_whole_one_does(name: str) -> None:
    few, whole, period = trace_depths_of(name)
    grown = grow_stream(few[0], few[1], whole.layers, period)
    if name == "dpo":  # layers of two models alternate
        assert grown is None
        return
    assert grown is not None
    for expandable in (False, True):
        found, expected = (
            play(repeat_step(each), WORKSPACES, expandable=expandable).reserved for each in (grown, whole)
        )
        assert found == pytest.approx(expected, rel=ROUGHLY.get(name, 0.02)), expandable


def peak(traces: dict[str, TraceAnswer], name: str, phase: Any) -> float:
    assert traces[name].problem == ""
    return phase_peaks([traces[name]], LAYERS)[phase].bytes


def test_float32_is_the_default_of_newer_trl_and_doubles_weights(traces: dict[str, TraceAnswer]) -> None:
    assert peak(traces, "mixed", "load") == pytest.approx(2 * peak(traces, "full", "load"), rel=0.001)


def test_logits_take_as_many_bytes_as_the_release_of_transformers_says(traces: dict[str, TraceAnswer]) -> None:
    """4.45: a cast in the model and a copy, 12; 4.46 to 4.48: the 16-bit logits beside these; from 4.49 on no copy, and 12 going back."""
    names = ("logits in the model", "logits copied", "labels shifted")
    cast, copied, shifted = (peak(traces, name, "loss") / TOKENS / VOCABULARY for name in names)
    assert copied - cast == pytest.approx(2, abs=0.1)
    assert copied - shifted == pytest.approx(2, abs=0.1)


def test_the_fused_head_has_one_tile_of_logits_however_small_the_vocabulary(traces: dict[str, TraceAnswer]) -> None:
    spared = peak(traces, "labels shifted", "loss") - peak(traces, "fused head", "loss")
    assert spared == pytest.approx(12 * TOKENS * VOCABULARY - 2 * TOKENS * 32768, rel=0.15)


def test_the_foreach_optimizer_needs_a_copy_of_the_parameters(traces: dict[str, TraceAnswer]) -> None:
    weights = 2 * traces["full"].parameters
    more = peak(traces, "foreach optimizer", "optimizer") - peak(traces, "fused optimizer", "optimizer")
    assert more == pytest.approx(weights, rel=0.01)


def test_optimizers_keep_the_states_that_they_say(traces: dict[str, TraceAnswer]) -> None:
    count = traces["full"].parameters
    bare = peak(traces, "sgd", "optimizer")
    assert peak(traces, "fused optimizer", "optimizer") - bare == pytest.approx(4 * count, rel=0.01)
    assert peak(traces, "8-bit optimizer", "optimizer") - bare == pytest.approx(2 * count, rel=0.01)


def test_a_tied_head_is_one_with_the_embedding(traces: dict[str, TraceAnswer]) -> None:
    assert traces["full"].parameters - traces["tied"].parameters == VOCABULARY * 512


def test_weights_in_4_bits_take_half_a_byte(traces: dict[str, TraceAnswer]) -> None:
    spared = peak(traces, "lora", "load") - peak(traces, "qlora", "load")
    linear = LAYERS * (2 * 512 * 512 + 2 * 512 * 128 + 3 * 512 * 1536)
    narrow_adapter = 2 * traces["lora"].trained
    assert spared == pytest.approx((2 - 0.516) * linear + narrow_adapter, rel=0.01)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_says_why(traces: dict[str, TraceAnswer], name: str) -> None:
    assert REFUSED[name][1] in traces[name].problem
    assert not traces[name].events


def test_an_answer_names_the_releases(traces: dict[str, TraceAnswer]) -> None:
    assert {"torch", "transformers", "trl"} <= {name for name, _ in traces["full"].versions}


def test_no_mask_is_kept_where_all_tokens_are_of_one_text(traces: dict[str, TraceAnswer]) -> None:
    """A mask of 16 bits is kept in each layer; transformers makes none where nothing is padded."""
    mask = 2 * 1024 * 1024
    masked, plain = (phase_peaks([traces[name]], LAYERS)["forward"].bytes for name in ("with a mask", "without a mask"))
    assert masked - plain > (LAYERS - 1) * mask


def test_the_gradient_of_softmax_holds_a_product_in_float32(traces: dict[str, TraceAnswer]) -> None:
    matrix = 8 * 1024 * 1024 * 4
    assert matrix * 4 < phase_peaks([traces["eager"]], LAYERS)["backward"].bytes


def test_an_evaluation_of_dpo_is_no_part_of_its_step(traces: dict[str, TraceAnswer]) -> None:
    plain, evaluated = (phase_peaks([traces[name]], LAYERS) for name in ("dpo", "dpo, evaluated"))
    for phase in ("forward", "loss", "backward", "optimizer"):
        assert evaluated[phase].bytes == plain[phase].bytes


def test_bitsandbytes_keeps_states_of_embeddings_in_float32(traces: dict[str, TraceAnswer]) -> None:
    narrow, wide = (
        phase_peaks([traces[name]], LAYERS)["optimizer"].parts[TAGS.index("optimizer")]
        for name in ("8-bit optimizer", "8-bit optimizer of bitsandbytes")
    )
    assert wide - narrow == 2 * 3 * LLAMA["vocab_size"] * LLAMA["hidden_size"]
