"""A model folder that lacks its config, its weights or its tokenizer.

## What it does
For a model that is a folder on this machine, looks at the names of its files.

## Why is this bad
Without `config.json`, or with an adapter alone, loading raises ValueError; without weights, OSError. Without a
tokenizer nothing raises: transformers makes one that knows its special tokens alone, every text becomes an empty row,
and the training that follows teaches nothing.

## Fix safety
There is no automatic fix: the files must come from where the model was made.
"""

from collections.abc import Iterator

from holdfast.core.facts import Model
from holdfast.core.finding import Case, Finding, Rule, Severity

WEIGHTS = (".safetensors", ".safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
# Words in the names of files that hold a vocabulary (tokenizer.json, vocab.txt, spiece.model, tekken.json, x.tiktoken),
# and the files beside it that have such a word too.
VOCABULARY = ("token", "vocab", "spiece", "spm", "sentencepiece", "tekken")
BESIDE = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}


def check(model: Model) -> Iterator[Finding]:
    """Object to a folder that is not there, and to what it lacks."""
    if model.files is None:
        yield Finding("model", "there is no such folder, and a Hub id is `name` or `owner/name`")
        return
    if "config.json" not in model.files:
        adapter = ": it holds an adapter alone, merge it first" if "adapter_config.json" in model.files else ""
        yield Finding("model", f"the folder has no config.json{adapter}")
    elif not any(name.endswith(WEIGHTS) and not name.startswith("adapter_") for name in model.files):
        yield Finding("model", "the folder has no weights (model.safetensors)")
    elif not any(word in name for name in model.files - BESIDE for word in VOCABULARY):
        yield Finding("model", "the folder has no tokenizer (tokenizer.json), and every text would become an empty row")


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""


def _holds(*names: str) -> dict[str, object]:
    return {"model": Model(files=frozenset(names))}


RULE = Rule(
    code="MOD102",
    name="incomplete-model-folder",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16 and transformers 5.23: files taken out of a tiny Qwen2's folder one at a time. Without its "
        "tokenizer files, `AutoTokenizer` gives a `Qwen2Tokenizer` of one or two tokens, and `SFTTrainer` trains on."
    ),
    bad=(
        Case(job=JOB, facts={"model": Model(files=None)}, at="model"),
        Case(job=JOB, facts=_holds("model.safetensors", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("adapter_config.json", "adapter_model.safetensors", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("config.json", "tokenizer.json"), at="model"),
        Case(job=JOB, facts=_holds("config.json", "model.safetensors", "tokenizer_config.json"), at="model"),
    ),
    good=(
        Case(job=JOB, facts=_holds("config.json", "model.safetensors", "tokenizer.json")),
        Case(job=JOB, facts=_holds("config.json", "model.safetensors.index.json", "vocab.json", "merges.txt")),
        Case(job=JOB, facts=_holds("config.json", "pytorch_model.bin", "spiece.model")),
    ),
)
