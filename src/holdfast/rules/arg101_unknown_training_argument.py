"""A key under `train` that the method's TRL config class does not take.

## What it does
Compares each key under `train` with the arguments of the method's config class (`SFTConfig`, `DPOConfig`, …), and
names the argument that was meant: the new name of one that was renamed, the job key that took its place, or the
nearest one.

## Why is this bad
Everything under `train` is passed on unchanged. Building the config raises `TypeError: … got an unexpected keyword
argument`, after the environment was installed and the imports have run. Much advice in circulation still names
arguments that are gone: `warmup_ratio`, `max_seq_length`, `evaluation_strategy`.

## Fix safety
A renamed argument whose meaning is the same, and one that has its own key in the job file, are mended safely. So is
one taken away that has had no effect. The nearest name is a guess, and its fix unsafe.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from holdfast.catalog.train_arguments import arguments, arguments_of, versions
from holdfast.core.document import ABSENT, Document, Remove, Rename, Set
from holdfast.core.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job import Method

RENAMED = {
    "evaluation_strategy": "eval_strategy",
    "max_seq_length": "max_length",
    "no_cuda": "use_cpu",
    "per_gpu_eval_batch_size": "per_device_eval_batch_size",
    "per_gpu_train_batch_size": "per_device_train_batch_size",
    "vllm_guided_decoding_regex": "vllm_structured_outputs_regex",
    "vllm_max_model_len": "vllm_max_model_length",
    "wandb_log_unique_prompts": "log_unique_prompts",
}
# Arguments of a trainer, a script or another config class, and the key of the job file that stands for them.
ELSEWHERE = {
    "attn_implementation": "model.attn_implementation",
    "dtype": "model.dtype",
    "load_in_4bit": "quantization.load_in_4bit",
    "load_in_8bit": "quantization.load_in_8bit",
    "lora_alpha": "peft.lora_alpha",
    "lora_dropout": "peft.lora_dropout",
    "lora_r": "peft.r",
    "lora_target_modules": "peft.target_modules",
    "reward_funcs": "rewards",
    "torch_dtype": "model.dtype",
}
# Gone, with what stands in its place. To take away those of HARMLESS changes nothing.
GONE = {
    "generate_during_eval": "completions are drawn at each evaluation anyway: see `samples`",
    "logging_dir": "logs go into the run's own folder",
    "max_prompt_length": "prompts are no longer cut: shorten or drop long ones in the data",
    "overwrite_output_dir": "every run has a folder of its own",
    "push_to_hub_token": "a token has no place in a job file: name its variable in `environment.secrets`",
    "save_safetensors": "weights are always saved as safetensors",
    "tokenizer": "the tokenizer is the model's",
}
HARMLESS = frozenset({"generate_during_eval", "logging_dir", "overwrite_output_dir"})


def check(job: Document) -> Iterator[Finding]:
    """Object to each argument that the config class does not know."""
    known = arguments_of(job)
    written = job.get("train", {})
    for name in written if known and isinstance(written, Mapping) else ():
        if name not in known:
            hint, fix = _meant(job, str(name))
            yield Finding(f"train.{name}", f"{job.get('method')} has no training argument `{name}`: {hint}", fix)


def _meant(job: Document, name: str) -> tuple[str, Fix | None]:
    """Return what stands in the place of an unknown argument, in words and as a fix."""
    key = f"train.{name}"
    if name in RENAMED:
        new = RENAMED[name]
        lacking = "" if new in arguments_of(job) else f", which {job.get('method')} does not have"
        return f"it is called `{new}` now{lacking}", _rename(job, name, new, safe=True)
    if name == "warmup_ratio":
        ratio = job.get(key)
        safe = isinstance(ratio, int | float) and 0 <= ratio < 1  # from 1 on, `warmup_steps` counts steps
        return "`warmup_steps` takes a part of all steps now", _rename(job, name, "warmup_steps", safe=safe)
    if name == "group_by_length":
        edits = (Remove(key), Set("train.train_sampling_strategy", "group_by_length"))
        fix = Fix("write `train_sampling_strategy`", edits if job.get(key) else edits[:1])
        return "it is `train_sampling_strategy: group_by_length` now", fix
    if name in ELSEWHERE:
        target = ELSEWHERE[name]
        free = job.get(target) is ABSENT
        fix = Fix(f"move it to `{target}`", (Remove(key), Set(target, job.get(key))))
        return f"write `{target}`", fix if free else None
    if name in GONE:
        return GONE[name], Fix(f"take `{name}` out", (Remove(key),)) if name in HARMLESS else None
    return _nearest(job, name)


def _rename(job: Document, old: str, new: str, *, safe: bool) -> Fix | None:
    """Return the fix, unless the method has nothing of the new name either, or the job says that too."""
    if new not in arguments_of(job) or job.get(f"train.{new}") is not ABSENT:
        return None
    return Fix(f"rename `{old}` to `{new}`", (Rename(f"train.{old}", new),), safe=safe)


def _nearest(job: Document, name: str) -> tuple[str, Fix | None]:
    others = [method.value for method in Method if name in arguments(method.value)]
    if others:
        return f"it belongs to {', '.join(others)}", None
    nearest = get_close_matches(name, arguments_of(job), n=1, cutoff=0.7)
    if not nearest:
        return f"nothing in trl {versions()['trl']} is called like that", None
    return f"did you mean `{nearest[0]}`?", _rename(job, name, nearest[0], safe=False)


OLD = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_seq_length: 512  # enough
  warmup_ratio: 0.1
"""
NEW = OLD.replace("max_seq_length", "max_length").replace("warmup_ratio", "warmup_steps")
MISSPELT = NEW.replace("max_length", "max_lenght")
GROUPED = NEW.replace("warmup_steps: 0.1", "group_by_length: true")
MOVED = NEW.replace("warmup_steps: 0.1", "lora_r: 16")

RULE = Rule(
    code="ARG101",
    name="unknown-training-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The fields of trl 1.16's config classes, read from the installed library into the catalog "
        "(`tools/train_arguments.py`). Each example was given to the class: the bad ones raise TypeError."
    ),
    bad=(
        Case(job=OLD, at="train.max_seq_length", fixed=NEW),
        Case(job=MISSPELT, at="train.max_lenght", fixed=NEW),
        Case(job=NEW.replace("sft", "dpo").replace("max_length", "packing"), at="train.packing"),
        Case(
            job=GROUPED,
            at="train.group_by_length",
            fixed=GROUPED.replace("group_by_length: true", "train_sampling_strategy: group_by_length"),
        ),
        Case(job=MOVED, at="train.lora_r", fixed=MOVED.replace("  lora_r: 16\n", "peft:\n  r: 16\n")),
        Case(job=NEW.replace("max_length: 512  # enough", "tokenizer: gpt2"), at="train.tokenizer"),
    ),
    good=(Case(job=NEW),),
)
