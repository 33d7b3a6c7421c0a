"""The LoRA adapter and the quantization that a job asks for."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.models.base_models import adapts, lora
from holdfast.catalog.models.default_targets import DEFAULT_TARGETS, NO_DEFAULT
from holdfast.catalog.models.lora_targets import ALL_LINEAR
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.document import Document
from holdfast.engine.plan.architecture import Architecture
from holdfast.engine.plan.parameters import FUSED, VISION_MLP, VISION_OUT, attention_projections, projections
from holdfast.engine.plan.plain_values import plain_value
from holdfast.engine.plan.step import LoraAdapter, WeightQuantization

RANK: Final = 8
"""`r` of peft.LoraConfig."""
COMMAND_RANK: Final = 16
COMMAND_DROPOUT: Final = 0.05
"""`lora_r` and `lora_dropout` of TRL's ModelConfig, 0.22 to 1.16."""
COUNTED: Final = frozenset({"r", "target_modules", "lora_dropout"})
WITHOUT_MEMORY: Final = frozenset(
    {
        "lora_alpha",
        "alpha_pattern",
        "use_rslora",
        "init_lora_weights",
        "fan_in_fan_out",
        "task_type",
        "peft_type",
        "base_model_name_or_path",
        "revision",
        "layers_pattern",
    }
)
"""Settings of LoRA that change no memory. Of all others, it is not known."""
UNKNOWN_EXPERTS: Final = "the memory of adapters on experts is not known"
EXPERTS: Final = ("gate_proj", "up_proj", "down_proj")
MIXTRAL: Final = "mixtral"
MIXTRAL_EXPERTS: Final = ("w1", "w3", "w2")
"""What the projections of an expert are called, and so the names by which peft finds them."""
ROUTER: Final = "gate"
OFF: Final[Mapping[str, str]] = {"bias": "none"}
"""Words by which a setting is turned off."""


def read_adapter(job: Document, api: Api, model_type: str, model: Architecture) -> LoraAdapter | None:
    """Return the adapter that a job trains; None if it trains the model itself.

    Raises:
        MissingFactError: It is no LoRA adapter, or its target modules are not known.
    """
    if not adapts(job):
        return None
    settings = _known_settings(job)
    given = settings.get("target_modules")
    named = _expert_names(given, model_type, model)
    experts = _wants_experts(given, named, model) and _adapts_experts(api, model)
    if named and not experts:
        raise MissingFactError("peft.target_modules", UNKNOWN_EXPERTS)
    return LoraAdapter(
        rank=_rank(job, settings),
        targets=_targets(set(given or ()) - named if named else given, model_type, model),
        dropout=_has_dropout(job, settings),
        experts=experts,
        router=experts and (given == ALL_LINEAR or ROUTER in named),
    )


def _wants_experts(given: Any, named: frozenset[str], model: Architecture) -> bool:
    """True if the target modules of an adapter mean the experts too."""
    return model.experts is not None and (given == ALL_LINEAR or bool(named))


def _known_settings(job: Document) -> Mapping[str, Any]:
    """Return the settings of the adapter.

    Raises:
        MissingFactError: They cannot be seen, or the memory of one is not known.
    """
    settings = job.get("peft", None) if job.kind == "job" else lora(job)
    if not isinstance(settings, Mapping):
        raise MissingFactError("peft", "the settings of the adapter cannot be seen")
    for name in sorted(settings.keys() - COUNTED - WITHOUT_MEMORY):
        if settings.get(name) and settings.get(name) != OFF.get(name):
            raise MissingFactError(f"peft.{name}", "its memory is not known")
    if job.kind == "command" and job.get("train.use_dora", None):
        raise MissingFactError("train.use_dora", "its memory is not known")
    return settings


def _expert_names(given: Any, model_type: str, model: Architecture) -> frozenset[str]:
    """Return the targets that name all projections of the experts, which peft turns into adapters on the stacked ones, and their router.

    Source: peft 0.21 utils/transformers_weight_conversion.py, _convert_peft_config_moe; tried with OLMoE, Qwen3-MoE and Mixtral.
    """
    if (
        model.experts is None
        or not model.traits.peft_experts
        or isinstance(given, str)
        or not isinstance(given, Iterable)
    ):
        return frozenset()
    names = {name for name in given if isinstance(name, str)}
    experts = MIXTRAL_EXPERTS if model_type == MIXTRAL else EXPERTS
    return frozenset(names & {*experts, ROUTER}) if names.issuperset(experts) else frozenset()


def _adapts_experts(api: Api, model: Architecture) -> bool:
    """Whether `all-linear`, or the names of all projections of experts, goes to the experts too.

    Source: peft 0.20 utils/transformers_weight_conversion.py. Older releases take linear modules alone, as which transformers 5 holds no experts.

    Raises:
        MissingFactError: It does, and their memory is not known.
    """
    separate = since(api, "transformers", "5.0.0") is False  # each expert has linear modules of its own
    if separate or model.experts is None or model.experts.shared or model.experts.dense_layers:
        raise MissingFactError("peft.target_modules", UNKNOWN_EXPERTS)
    return model.traits.peft_experts and since(api, "peft", "0.20.0") is not False


def read_quantization(job: Document) -> WeightQuantization | None:
    """Return how a job quantizes the weights while they are loaded; None if it does not."""
    given = job.get("quantization", None)
    settings = given if isinstance(given, Mapping) else {}
    loaded = [bits for bits in (4, 8) if _loads(job, settings, bits)]
    if not loaded:
        return None
    nested = settings.get("bnb_4bit_use_double_quant") or job.get("train.use_bnb_nested_quant", None)
    return WeightQuantization(bits=loaded[0], nested=bool(nested))


def _loads(job: Document, settings: Mapping[str, Any], bits: int) -> bool:
    """True if weights are loaded in so many bits: by bitsandbytes' config, or by a flag of a command line."""
    name = f"load_in_{bits}bit"
    return bool(settings.get(name) or (job.kind == "command" and job.get(f"train.{name}", None)))


def _rank(job: Document, settings: Mapping[str, Any]) -> int:
    value = job.get("train.lora_r", COMMAND_RANK) if job.kind == "command" else settings.get("r", RANK)
    if type(value) is not int or value < 1:
        raise MissingFactError("peft.r", f"{plain_value('peft.r', value)!r} is not a rank")
    return value


def _has_dropout(job: Document, settings: Mapping[str, Any]) -> bool:
    by_command = job.kind == "command" and job.get("train.lora_dropout", COMMAND_DROPOUT)
    return bool(settings.get("lora_dropout") or by_command)


def _why_no_target(model_type: str) -> str:
    if model_type in NO_DEFAULT:
        return (
            f"peft 0.21 has no default for `{model_type}`, and raises an error: name the modules, such as `all-linear`"
        )
    return f"where peft puts an adapter in `{model_type}` is not known"


def _targets(given: Any, model_type: str, model: Architecture) -> frozenset[str]:
    plain_value("peft.target_modules", given)
    if given is None:
        return _default_targets(model_type)
    vision = frozenset((VISION_OUT, *VISION_MLP) if model.vision else ())
    if given == ALL_LINEAR:
        return linear_names(model) | vision
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise MissingFactError("peft.target_modules", f"which modules {given!r} names is not known")
    names = frozenset(part for name in given for part in FUSED.get(str(name), (str(name),)))
    _require_projections(names - vision, model)
    return names


def _default_targets(model_type: str) -> frozenset[str]:
    found = DEFAULT_TARGETS.get(model_type)
    if found is None:
        raise MissingFactError("peft.target_modules", _why_no_target(model_type))
    return found


def _require_projections(names: frozenset[str], model: Architecture) -> None:
    """Object to targets that are no projections of a decoder's layers, or that are held as one tensor for all experts.

    Raises:
        MissingFactError: One of them is.
    """
    if unknown := names - projections(model).keys():
        raise MissingFactError("peft.target_modules", f"`{min(unknown)}` is not a known projection")
    if model.experts and names - linear_names(model):
        raise MissingFactError("peft.target_modules", UNKNOWN_EXPERTS)


def linear_names(model: Architecture) -> frozenset[str]:
    """Return the projections that are linear modules: the experts of a mixture are held as one tensor, and are none."""
    return frozenset(attention_projections(model) if model.experts else projections(model))
