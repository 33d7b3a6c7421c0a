"""Model without its config, weights or tokenizer.

## What it does
Checks the file names of the model that is trained, in a folder on this machine or a repository on the Hub.

## Why is this bad
Without `config.json`, or with only an adapter, loading raises ValueError. Without weights under a name that
transformers looks for, it raises OSError: GGUF, ONNX, Flax and `consolidated.*` are not among these names. Without a
tokenizer nothing raises: transformers creates one that knows only its special tokens, every text becomes an empty
row, and the training teaches nothing.

## Fix safety
There is no automatic fix: the files must come from where the model was made.
"""

from collections.abc import Iterable, Iterator

from holdfast.catalog.builtin import BUILTIN, MODELS
from holdfast.catalog.hub.repositories import is_rooted
from holdfast.catalog.models.base_models import GENERATING, Base, base_of, is_plain, uses_own_tokenizer
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.job.document import Document

CONFIG, ADAPTER = "config.json", "adapter_config.json"
WEIGHTS = {
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
}
# Weights for other programs, by the ends of their names.
FOREIGN = {
    ".gguf": "GGUF",
    ".onnx": "ONNX",
    ".msgpack": "Flax",
    ".h5": "TensorFlow",
    ".pth": "consolidated",
    ".safetensors": "otherwise named",
}
# Words in the names of files that hold a vocabulary (tokenizer.json, vocab.txt, spiece.model, tekken.json, x.tiktoken),
# and the files beside it that have such a word too.
VOCABULARY = ("token", "vocab", "spiece", "spm", "sentencepiece", "tekken")
BESIDE = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}


def check(job: Document, model: ModelFacts) -> Iterator[Finding]:
    """Report a folder that does not exist, and the files that it lacks."""
    base = base_of(job, model)
    if base is None or not is_plain(job, base) or not _is_readable(model.repo):
        return
    if model.files is None:
        yield from _absent(job, base)
    elif fault := _fault(job, base, model, model.files):
        yield base.finding(fault)


def _is_readable(repo: Repo | None) -> bool:
    return repo is None or (repo.exists and repo.readable and repo.commit is not None)


def _absent(job: Document, base: Base) -> Iterator[Finding]:
    if base.name.startswith(BUILTIN):
        yield base.finding(f"holdfast makes no such model; it makes {', '.join(MODELS)}")
    elif job.kind == "job":
        where = "" if is_rooted(base.name) else " beside the job file or in the working directory"
        yield base.finding(f"there is no folder `{base.name}`{where}")


def _fault(job: Document, base: Base, model: ModelFacts, names: Iterable[str]) -> str:
    """Return the reason why a model cannot be loaded or used; empty if there is none."""
    files = frozenset(name for name in names if "/" not in name)
    alone = base.by_name and job.get("method", None) in GENERATING
    fault = _without_weights(model, files) if CONFIG in files else _without_config(files, alone=alone)
    return fault or (_unspoken(files) if uses_own_tokenizer(job, base) else "")


def _without_config(files: frozenset[str], *, alone: bool) -> str:
    """Return the reason why a model without a config cannot be loaded; empty where its adapter names another to load.

    Args:
        files: Names of its files.
        alone: Whether its loader takes no adapter for a model.
    """
    if ADAPTER not in files:
        return "it has no config.json"
    return "it has no config.json: it holds only an adapter: merge it first" if alone else ""


def _without_weights(model: ModelFacts, files: frozenset[str]) -> str:
    """Return that a model has no weights, and what it has; empty if it has some, or they are elsewhere."""
    if files & WEIGHTS or ADAPTER in files or "transformers_weights" in (model.config or {}):
        return ""
    others = " and ".join(_other_kinds(files))
    has = f", only {others} ones, which transformers does not take" if others else ""
    return f"it has no weights (model.safetensors){has}"


def _other_kinds(files: frozenset[str]) -> Iterator[str]:
    """Yield the kinds of weights for other programs among files."""
    return (kind for end, kind in FOREIGN.items() if any(name.endswith(end) for name in files))


def _unspoken(files: frozenset[str]) -> str:
    if any(word in name for name in files - BESIDE for word in VOCABULARY):
        return ""
    return "it has no tokenizer (tokenizer.json), and every text would become an empty row"


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""


def _holds(*names: str) -> dict[str, object]:
    return {"model": ModelFacts(files=frozenset(names))}


SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

model = AutoModelForCausalLM.from_pretrained("acme/quantized")
trainer = SFTTrainer(model=model, args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
ON_TOP = SCRIPT.replace("=rows", "=rows, peft_config=LoraConfig()")
ON_TOP = ON_TOP.replace("from trl", "from peft import LoraConfig\nfrom trl")
COMMAND = "trl sft --model_name_or_path acme/quantized --dataset_name trl-lib/Capybara\n"


def _on_the_hub(*names: str, exists: bool = True) -> dict[str, object]:
    return {"model": ModelFacts(files=frozenset(names), repo=Repo(name="acme/quantized", exists=exists))}


RULE = Rule(
    code="MOD102",
    name="incomplete-model-folder",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and peft 0.21: files taken out of a tiny Qwen2's folder one at a time. Without its "
        "tokenizer files, `AutoTokenizer` gives a `Qwen2Tokenizer` of one or two tokens, and `SFTTrainer` trains on. The same weights "
        "under nine other names are not found; with an adapter beside its config, its base is loaded."
    ),
    bad=(
        Case(job=JOB, facts={"model": ModelFacts(files=None)}, at="model"),
        Case(job=JOB, facts=_holds("model.safetensors", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("adapter_config.json", "adapter_model.safetensors", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("config.json", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("config.json", "model.safetensors", "tokenizer_config.json"), at="model"),
        Case(script=SCRIPT, facts=_on_the_hub("config.json", "tokenizer.json", "quantized-q4.gguf"), at="model.0"),
        Case(
            command=COMMAND,
            facts=_on_the_hub("adapter_config.json", "adapter_model.safetensors", "tokenizer.json"),
            at="train.model_name_or_path",
        ),
    ),
    good=(
        Case(job=JOB, facts=_holds("config.json", "model.safetensors", "tokenizer.json")),
        Case(job=JOB, facts=_holds("config.json", "model.safetensors.index.json", "vocab.json", "merges.txt")),
        Case(job=JOB, facts=_holds("config.json", "pytorch_model.bin", "spiece.model")),
        Case(script=SCRIPT, facts=_on_the_hub("config.json", "model.safetensors", "tokenizer.json")),
        Case(script=SCRIPT, facts=_on_the_hub(exists=False)),
        Case(
            script=SCRIPT.replace('quantized"', 'quantized", gguf_file="quantized-q4.gguf"'),
            facts=_on_the_hub("config.json", "tokenizer.json", "quantized-q4.gguf"),
        ),
        Case(job=JOB.replace("sft", "reward"), facts=_holds("adapter_config.json", "tokenizer.json")),
        Case(script=ON_TOP, facts=_on_the_hub("adapter_config.json", "adapter_model.safetensors")),
    ),
    kinds=ANY_KIND,
)
