"""Special token without an embedding in the model.

## What it does
Checks the ids of the tokenizer's `pad_token` and `eos_token`, if `tokenizer_config.json` gives them, against the
model's `vocab_size`.

## Why is this bad
A token was added to the tokenizer, and the model was not resized. The first batch with rows of different lengths is
padded with that token, and raises IndexError; on a GPU, `device-side assert triggered`. An end-of-text token is in
the first batch anyway.

## Fix safety
There is no automatic fix. For padding, name a token that the model has in `pad_token` of the config: the end-of-text
token works, because trl masks padding by its position. Otherwise load the model, and resize it:
`model.resize_token_embeddings(len(tokenizer))`.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.models.base_models import base_of, uses_own_tokenizer
from holdfast.catalog.models.chat_templates import token_number, token_text
from holdfast.catalog.models.vocabulary import pads_batches, vocabulary_size
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document

# Methods whose trainers pad rows with the tokenizer's token before the model sees them.
PADDING = ("sft", "dpo", "kto", "reward")
ENDS, PADS = "eos_token", "pad_token"


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a special token without an embedding."""
    base, method = base_of(job, model), job.get("method", None)
    if (
        base is None
        or method not in PADDING
        or not uses_own_tokenizer(job, base)
        or _size(model) is None
        or job.get("train.chat_template_path", None) is not None
    ):
        return
    if (fault := _fault(job, model, PADS)) and pads_batches(job, api):
        yield base.finding(f"the padding token {fault}")
    if fault := _fault(job, model, ENDS):
        yield base.finding(f"the EOS token {fault}", severity=Severity.WARNING)


def _size(model: ModelFacts) -> int | None:
    return vocabulary_size(model.config or {})


def _fault(job: Document, model: ModelFacts, name: str) -> str:
    """Return what is wrong with a special token; empty if it has an embedding, is not known, or the job sets another."""
    size, tokens = _size(model), model.tokenizer or {}
    token = token_text(tokens.get(name))
    number = token_number(tokens, token) if token else None
    if size is None or number is None or number < size or job.get(f"train.{name}", None) is not None:
        return ""
    return f"`{token}` has the id {number}, but the model has {size} tokens: IndexError"


JOB = """
method: sft
model: acme/padded
dataset: trl-lib/Capybara
"""
SCRIPT = """from trl import DPOConfig, DPOTrainer

trainer = DPOTrainer(model="acme/padded", args=DPOConfig(output_dir="out"), train_dataset=rows)
"""


def _facts(size: int, *, pad: str = "[PAD]", end: str = "</s>") -> dict[str, object]:
    added = {"2": {"content": "</s>"}, "32000": {"content": "[PAD]"}, "32001": {"content": "<end>"}}
    tokenizer = {"pad_token": {"content": pad}, "eos_token": end, "added_tokens_decoder": added}
    files = frozenset({"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"})
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": size}
    return {"model": ModelFacts(files=files, config=config, tokenizer=tokenizer)}


RULE = Rule(
    code="MOD126",
    name="token-beyond-vocabulary",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and a tiny model: a `pad_token` and an `eos_token` beyond its embedding raise IndexError "
        "with sft, dpo, kto and reward; with one row a batch, with packing, and with another `pad_token` the first does not, and with "
        "grpo and rloo neither does."
    ),
    bad=(
        Case(job=JOB, facts=_facts(32000), at="model"),
        Case(job=JOB, facts=_facts(32001, end="<end>"), at="model"),
        Case(script=SCRIPT, facts=_facts(32000), at="trainer.model"),
    ),
    good=(
        Case(job=JOB, facts=_facts(32001)),
        Case(job=JOB, facts=_facts(32000, pad="</s>")),
        Case(job=JOB + "train: {pad_token: </s>}\n", facts=_facts(32000)),
        Case(job=JOB + "train: {packing: true}\n", facts=_facts(32000)),
        Case(job=JOB + "train: {per_device_train_batch_size: 1}\n", facts=_facts(32000)),
        Case(script=SCRIPT.replace("train_dataset", "processing_class=tokenizer, train_dataset"), facts=_facts(32000)),
    ),
    kinds=ANY_KIND,
)
