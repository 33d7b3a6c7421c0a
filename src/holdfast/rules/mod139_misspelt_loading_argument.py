"""Misspelt argument of `from_pretrained`.

## What it does
Checks the arguments with which a program loads a model, in `from_pretrained` of transformers or in
`model_init_kwargs` of a TRL config, against the known ones: `num_label`, `attn_implementaton`. A model's config may
have settings of its own, so the rule reports only names that nearly match a known argument and that no transformers
config has. Ignores models that bring their own code (`trust_remote_code`).

## Why is this bad
An argument that neither `from_pretrained` nor the model's config knows is passed to the model's class: TypeError,
"LlamaForCausalLM.__init__() got an unexpected keyword argument 'attn_implementaton'", after the model is downloaded.

## Fix safety
The fix is unsafe because the nearest name is a guess. In `model_init_kwargs` there is no automatic fix.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Rename
from holdfast.core.text.nearest import nearest, plays_same_role

NAMES: Final = frozenset(
    {"attn_implementation", "cache_dir", "device_map", "dtype", "id2label", "ignore_mismatched_sizes", "label2id"}
    | {"load_in_4bit", "load_in_8bit", "local_files_only", "low_cpu_mem_usage", "max_memory", "num_labels"}
    | {"offload_folder", "quantization_config", "revision", "subfolder", "torch_dtype", "trust_remote_code"}
    | {"use_cache", "use_safetensors"}
)
"""Arguments that are often given."""
NEAR: Final = 0.88
"""The least likeness of a misspelling to a name; no setting of a configuration is so similar, see `source`."""
METHOD: Final = ".from_pretrained"
KWARGS: Final = "model_init_kwargs"


def check(job: Document) -> Iterator[Finding]:
    """Report each argument whose name is almost that of another."""
    for call in job.calls:
        if call.guard.tolerates("TypeError"):
            continue
        given = call.arguments.get(KWARGS) if call.package == "trl" else None
        if isinstance(given, dict):
            yield from _misspelt(f"{call.key}.{KWARGS}", given)
        elif call.path.startswith("transformers.") and call.path.endswith(METHOD) and _is_model(call.path):
            yield from _misspelt(call.key, call.arguments)


def _is_model(path: str) -> bool:
    """True if a model is loaded, by the name of the class: `AutoModelForCausalLM`, `LlamaModel`."""
    name = path.removesuffix(METHOD).rpartition(".")[2]
    return name.startswith("AutoModel") or name.endswith("Model") or "For" in name


def _misspelt(under: str, given: Iterable[str]) -> Iterator[Finding]:
    names = list(given)
    if "trust_remote_code" in names:
        return
    for name in names:
        alike = frozenset(each for each in NAMES.difference(names) if plays_same_role(name, each))
        meant = nearest(name, alike, cutoff=NEAR) if name not in NAMES else None
        if meant:
            key = f"{under}.{name}"
            written = under.rpartition(".")[2] != KWARGS
            fix = Fix(f"rename `{name}` to `{meant}`", (Rename(key, meant),), safe=False) if written else None
            yield Finding(key, f"`from_pretrained` takes no `{name}`: did you mean `{meant}`?", fix)


SCRIPT = """
from transformers import AutoModelForSequenceClassification

model = AutoModelForSequenceClassification.from_pretrained("Qwen/Qwen2.5-0.5B", num_labels=2)
"""
KWARGS_GIVEN = """
from trl import SFTConfig

args = SFTConfig(output_dir="out", model_init_kwargs={"attn_implementation": "sdpa", "dtype": "bfloat16"})
"""

RULE = Rule(
    code="MOD139",
    name="misspelt-loading-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23, tried with tiny Llama and Bert models: `num_label`, `load_in_4bits`, `attn_implementaton`, `torch_dtyp` and `device_mp` "
        "raise TypeError. None of the 2348 parameters of its configurations is nearer to a name of these than 0.87."
    ),
    bad=(
        Case(script=SCRIPT.replace("num_labels", "num_label"), at="calls.0.num_label", fixed=SCRIPT),
        Case(
            script=KWARGS_GIVEN.replace("implementation", "implementaton"),
            at="calls.0.model_init_kwargs.attn_implementaton",
        ),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=KWARGS_GIVEN),
        Case(script=SCRIPT.replace("num_labels=2", "num_label=2, trust_remote_code=True")),
        Case(script=SCRIPT.replace("num_labels", "num_qa_labels")),
    ),
    kinds=PROGRAMS,
)
