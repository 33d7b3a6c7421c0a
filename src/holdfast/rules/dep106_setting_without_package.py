"""Setting that needs a package which the script header does not install.

## What it does
For a script with a header (PEP 723), checks the settings that make a library import another package: `report_to`,
`optim`, 4 and 8 bits, `attn_implementation`, `use_vllm`, `use_liger_kernel`, `deepspeed`, and TRL's math rewards.

## Why is this bad
trl and transformers install none of these packages. The import runs when the trainer is built, or at the first step,
after the model is downloaded: ImportError.

## Fix safety
The fix is safe: it adds the package to the header. It is unsafe for vLLM, because each of its releases requires its
own PyTorch. If one of several packages is enough, the choice is yours.
"""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.api import Api
from holdfast.catalog.environment.packages import REQUIREMENTS
from holdfast.catalog.environment.stated import declared_names, known_installed, stated_requirements
from holdfast.catalog.trl_rewards import MATHEMATICAL
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import LibraryName
from holdfast.core.job.document import Document, Set

TRACKERS = {"trackio": ("trackio",), "wandb": ("wandb",), "tensorboard": ("tensorboard", "tensorboardx")}
TRACKERS |= {"mlflow": ("mlflow",), "swanlab": ("swanlab",), "comet_ml": ("comet-ml",)}
# `paged_*` and `lion_*`, `ademamix*`, `*bnb*` and `adamw_8bit` are all bitsandbytes'; the torch ones are torchao's.
OPTIMIZERS = {"adamw_torch_4bit": "torchao", "adamw_torch_8bit": "torchao", "adamw_8bit": "bitsandbytes"}
OPTIMIZERS |= {"stable_adamw": "torch-optimi", "grokadamw": "grokadamw", "lomo": "lomo-optim", "adalomo": "lomo-optim"}
STARTS = {"paged_": "bitsandbytes", "lion_": "bitsandbytes", "ademamix": "bitsandbytes", "rmsprop_bnb": "bitsandbytes"}
STARTS |= {"adamw_bnb": "bitsandbytes", "schedule_free_": "schedulefree"}
ATTENTION = {"flash_attention_2": ("flash-attn", "kernels"), "kernels-community/": ("kernels",)}
SWITCHES = {"train.use_vllm": "vllm", "train.use_liger_kernel": "liger-kernel", "train.deepspeed": "deepspeed"}
SWITCHES |= {"quantization.load_in_4bit": "bitsandbytes", "quantization.load_in_8bit": "bitsandbytes"}
SettingNeed = tuple[str, tuple[str, ...]]


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each setting whose package the header does not install."""
    texts = stated_requirements(job)
    if texts is None or _is_read_by_none(job):
        return
    named = declared_names(job)
    for key, packages in _needs(job):
        if named.isdisjoint(packages) and known_installed(texts, api.versions).isdisjoint(packages):
            fault = f"this needs {_either(packages)}, which nothing in the header installs"
            yield Finding(key, fault, _adding(job, packages))


def _either(packages: tuple[str, ...]) -> str:
    return " or ".join(f"`{each}`" for each in packages)


def _is_read_by_none(job: Document) -> bool:
    """True if a command line has the script started by something else than uv, which alone reads its header."""
    launchers = job.get("launch.by", None)
    return (
        isinstance(launchers, list) and bool(launchers) and "uv" not in str(launchers[-1]).replace("uvx", "uv").split()
    )


def _adding(job: Document, packages: tuple[str, ...]) -> Fix | None:
    """Return the edit that adds a package to the header; None if one of several will do."""
    edits = (Set(REQUIREMENTS, [*job.get(REQUIREMENTS), packages[0]]),)
    return Fix(f"add `{packages[0]}` to the header", edits, safe=packages[0] != "vllm") if len(packages) == 1 else None


def _needs(job: Document) -> Iterator[SettingNeed]:
    """Yield the key of each setting that needs something, with the packages of which one will do."""
    for tracker in _listed(job.get("train.report_to", None)):
        if isinstance(tracker, str) and tracker in TRACKERS:
            yield "train.report_to", TRACKERS[tracker]
    if package := _optimizer(job.get("train.optim", None)):
        yield "train.optim", (package,)
    for key, package in SWITCHES.items():
        if job.get(key, None):
            yield key, (package,)
    yield from _model_needs(job)
    if any(map(_is_mathematical, _listed(job.get("trainer.reward_funcs", None)))):
        yield "trainer.reward_funcs", ("math-verify",)


def _model_needs(job: Document) -> Iterator[SettingNeed]:
    attention = job.get("model.attn_implementation", None)
    for start, packages in ATTENTION.items():
        if isinstance(attention, str) and attention.startswith(start):
            yield "model.attn_implementation", packages


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _is_mathematical(reward: Any) -> bool:
    return (
        isinstance(reward, LibraryName)
        and reward.path.startswith("trl.")
        and reward.path.rpartition(".")[2] in MATHEMATICAL
    )


def _optimizer(name: Any) -> str | None:
    if not isinstance(name, str):
        return None
    return OPTIMIZERS.get(name) or next((each for start, each in STARTS.items() if name.startswith(start)), None)


SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="none")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
TRACKED = SCRIPT.replace('"none"', '"trackio"')
PAGED = SCRIPT.replace("report_to", 'optim="paged_adamw_8bit", report_to')
FUSED = SCRIPT.replace("report_to", "use_liger_kernel=True, report_to")
REWARDED = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import GRPOTrainer
from trl.rewards import accuracy_reward

trainer = GRPOTrainer(model="Qwen/Qwen2.5-0.5B", reward_funcs=[accuracy_reward], train_dataset=rows)
"""

RULE = Rule(
    code="DEP106",
    name="setting-without-package",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23 and trl 1.16. Tried in an environment with neither of these packages: each setting raises while "
        "the trainer is built, `use_liger_kernel` at the start of `train()`, `accuracy_reward` when it is first asked."
    ),
    bad=(
        Case(script=TRACKED, at="train.report_to", fixed=TRACKED.replace("5.23.0", '5.23.0", "trackio')),
        Case(script=SCRIPT.replace('"none"', '"tensorboard"'), at="train.report_to"),
        Case(script=PAGED, at="train.optim", fixed=PAGED.replace("5.23.0", '5.23.0", "bitsandbytes')),
        Case(script=FUSED, at="train.use_liger_kernel", fixed=FUSED.replace("5.23.0", '5.23.0", "liger-kernel')),
        Case(script=REWARDED, at="trainer.reward_funcs", fixed=REWARDED.replace("5.23.0", '5.23.0", "math-verify')),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=TRACKED.replace("==5.23.0", '==5.23.0", "trackio')),
        Case(script=SCRIPT.replace("report_to", 'optim="adamw_torch_fused", report_to')),
        Case(script=REWARDED.replace("==5.23.0", '==5.23.0", "math-verify')),
        Case(script=SCRIPT.replace('"none"', '"wandb"').partition("# ///\n")[2]),
    ),
    kinds=PROGRAMS,
)
