"""Adapter for modules that the model does not have.

## What it does
Checks `target_modules`, `exclude_modules`, `layers_to_transform` and `modules_to_save` of a LoRA adapter against the
names of the model's weights, as peft does: a list by the ends of names, a single text as a regular expression for the
whole name.

## Why is this bad
If nothing matches, peft raises NoMatchingPeftModuleError after the model is loaded. If only some of the names match,
the others are silently ignored, and less is trained than intended. Names in `modules_to_save` that match nothing are
also silently ignored.

## Fix safety
There is no automatic fix. `all-linear` matches every model, but is a different training.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from holdfast.catalog.models.base_models import adapts, base_of, lora, lora_key, trusts_code
from holdfast.catalog.models.lora_targets import Targets, ends_of, modules_of, named_in_text
from holdfast.catalog.models.model_types import load_model_types
from holdfast.catalog.references import some_of
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.nearest import nearest

NEAR = 0.75
"""The least likeness of two names of modules, from 0 to 1, of which one may be a misspelling: `v_prj` of `v_proj`, not of `c_attn`."""
SLIP = 1
"""The largest difference in length between a name and its misspelling."""
ROLES = (
    frozenset({"o_proj", "out_proj", "wo", "dense", "c_proj", "attn_out", "proj"}),
    frozenset({"q_proj", "query", "wq", "q", "q_lin", "to_q"}),
    frozenset({"k_proj", "key", "wk", "k", "k_lin", "to_k"}),
    frozenset({"v_proj", "value", "wv", "v", "v_lin", "to_v"}),
    frozenset({"qkv_proj", "c_attn", "query_key_value", "wqkv", "qkv", "Wqkv"}),
    frozenset({"gate_up_proj", "gate_and_up_proj", "fc1", "dense_h_to_4h", "c_fc"}),
    frozenset({"gate_proj", "w1"}),
    frozenset({"up_proj", "w3"}),
    frozenset({"down_proj", "w2", "fc2", "dense_4h_to_h"}),
)
"""Names that architectures have for the same layer: the output of attention, the query, and so on."""
TARGETS, SAVED, LAYERS = "target_modules", "modules_to_save", "layers_to_transform"
# Modules that a trainer adds to a model, or that have no weights of their own because they share those of others.
ADDED = ("score", "classifier", "lm_head")


def check(job: Document, model: ModelFacts, tensors: frozenset[str]) -> Iterator[Finding]:
    """Report an adapter without any module, and each target that matches no module."""
    base = base_of(job, model)
    if base is None or not adapts(job) or not _is_as_saved(model.config or {}) or trusts_code(job, base):
        return
    settings = lora(job)
    if settings is None or any(isinstance(value, Unknown) for value in settings.values()):
        return
    if tensors:
        yield from _targets(job, settings, tensors)
        yield from _saved(job, settings.get(SAVED), modules_of(tensors))


def _is_as_saved(config: Mapping[str, Any]) -> bool:
    """True if a model's modules are surely called as its weights are."""
    kind = load_model_types().get(str(config.get("model_type")))
    return kind is not None and not kind.renamed and not {"text_config", "vision_config"} & config.keys()


def _targets(job: Document, settings: Mapping[str, Any], tensors: frozenset[str]) -> Iterator[Finding]:
    key, targets, found = lora_key(job, TARGETS), settings.get(TARGETS), _named_targets(settings)
    if found is None:
        return
    modules = modules_of(tensors)
    try:
        fits = any(map(found.takes, modules))
    except re.error as error:
        yield Finding(key, f"`{targets}` is not a valid regular expression: {error}")
        return
    idle = _idle(found, modules)
    has = _has(idle or [str(targets)], ends_of(tensors))
    if not fits:
        yield Finding(key, f"{_nothing(targets, settings)}; {has}")
    elif idle:
        fit = "fits" if len(idle) == 1 else "fit"
        fault = f"{some_of(idle)} {fit} no module, so less is trained than intended; {has}"
        yield Finding(key, fault, severity=Severity.WARNING)


def _named_targets(settings: Mapping[str, Any]) -> Targets | None:
    """Return the targets; None without any, with parameters beside them, or with a list that is written as text, which MOD133 reports."""
    targets = Targets.of(settings)
    if targets is None or settings.get("target_parameters") or named_in_text(targets.pattern):
        return None
    return targets


def _idle(targets: Targets, modules: Sequence[str]) -> list[str]:
    """Return the names that no module has, apart from those of parts that a trainer may add."""
    names = (name for name in targets.names if not name.endswith(ADDED))
    return [name for name in names if not any(targets.names_module(name, module) for module in modules)]


def _meant(name: str, modules: Sequence[str]) -> str | None:
    """Return the module that a name is meant for: the one with the same role in this model, or the one that is misspelt."""
    if name in modules:
        return None
    if roles := _same_layer(name):  # another architecture's name for a layer, not a misspelling
        same = [module for module in modules if module in roles]
        return same[0] if len(same) == 1 else None
    near = tuple(module for module in modules if abs(len(module) - len(name)) <= SLIP)
    return nearest(name, near, cutoff=NEAR)


def _same_layer(name: str) -> frozenset[str]:
    """Return the names that architectures have for a layer which one of them calls so."""
    return frozenset[str]().union(*(role for role in ROLES if name in role))


def _has(names: Sequence[str], modules: Sequence[str]) -> str:
    """Return a phrase with the existing modules: those that names may be meant for, then the others, the likeliest first."""
    likeness = {module: max(SequenceMatcher(None, name, module).ratio() for name in names) for module in modules}
    has = f"the model has {some_of(sorted(modules, key=lambda module: -likeness[module]))}"
    meant = dict.fromkeys(filter(None, (_meant(name, modules) for name in names)))
    return f"did you mean {some_of(meant)}? {has[0].upper()}{has[1:]}" if meant else has


def _nothing(targets: Any, settings: Mapping[str, Any]) -> str:
    """Return the message for an adapter that matches no module."""
    also = [name for name in (LAYERS, "exclude_modules", SAVED) if settings.get(name) not in (None, [], "")]
    given = f" with these {' and '.join(f'`{name}`' for name in also)}" if also else ""
    hint = ", which has to match a whole name because it is a single string," if isinstance(targets, str) else ""
    return f"{targets!r}{hint} matches no module of this model{given}"


def _saved(job: Document, saved: Any, modules: Sequence[str]) -> Iterator[Finding]:
    names = [saved] if isinstance(saved, str) else saved
    for name in names if isinstance(names, list | tuple) else ():
        if (
            isinstance(name, str)
            and name
            and not name.endswith(ADDED)
            and not any(each.endswith(name) for each in modules)
        ):
            fault = f"no module of this model is called `{name}`, and nothing of it is trained or saved"
            yield Finding(lora_key(job, SAVED), fault, severity=Severity.WARNING)
            return


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
peft:
  target_modules: [q_proj, v_proj]
"""
SCRIPT = """from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

adapter = LoraConfig(target_modules=["q_proj", "v_proj"], layers_to_transform=[0, 1])
trainer = SFTTrainer(model="acme/small", args=SFTConfig(output_dir="out"), train_dataset=rows, peft_config=adapter)
"""
COMMAND = "trl sft --model_name_or_path acme/small --dataset_name trl-lib/Capybara --use_peft --lora_target_modules q_proj v_proj\n"
LAYER = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "self_attn.o_proj",
    "mlp.up_proj",
    "input_layernorm",
)
WEIGHTS = frozenset(
    {"model.embed_tokens.weight", "model.norm.weight"}
    | {f"model.layers.{index}.{name}.weight" for index in range(2) for name in LAYER}
)


def _facts(kind: str = "qwen2", name: str = "Qwen2ForCausalLM") -> dict[str, object]:
    files = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
    return {"model": ModelFacts(files=files, config={"architectures": [name], "model_type": kind}), "tensors": WEIGHTS}


def _job(old: str, new: str) -> str:
    return JOB.replace(old, new)


KEY = "peft.target_modules"

RULE = Rule(
    code="MOD123",
    name="unmatched-target",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "peft 0.21, `check_target_module_exists`. Tried with trl 1.16 and a tiny Qwen2: 34 settings, each of these among them, and "
        "`trl sft` with one name and with two. Of models whose modules transformers 5.23 names otherwise than their checkpoints nothing "
        "is said."
    ),
    bad=(
        Case(job=_job("q_proj, v_proj", "c_attn"), facts=_facts(), at=KEY),
        Case(job=_job("[q_proj, v_proj]", '"*.q_proj"'), facts=_facts(), at=KEY),
        Case(job=_job("v_proj", "qkv_proj"), facts=_facts(), at=KEY),
        Case(job=JOB + "  exclude_modules: [q_proj, v_proj]\n", facts=_facts(), at=KEY),
        Case(job=JOB + "  modules_to_save: [embed_token]\n", facts=_facts(), at="peft.modules_to_save"),
        Case(script=SCRIPT.replace("[0, 1]", "[2, 3]"), facts=_facts(), at=KEY),
        Case(command=COMMAND.replace("q_proj v_proj", "w_one w_two"), facts=_facts(), at="train.lora_target_modules"),
    ),
    good=(
        Case(job=JOB, facts=_facts()),
        Case(job=_job("[q_proj, v_proj]", r"'.*\.(q|v)_proj'"), facts=_facts()),
        Case(job=_job("[q_proj, v_proj]", "all-linear"), facts=_facts()),
        Case(job=JOB + "  modules_to_save: [embed_tokens, lm_head]\n", facts=_facts()),
        Case(job=_job("q_proj, v_proj", "w1, w2, w3"), facts=_facts("mixtral", "MixtralForCausalLM")),
        Case(script=SCRIPT, facts=_facts()),
        Case(command=COMMAND, facts=_facts()),
    ),
    kinds=ANY_KIND,
)
