"""Chat template that ends turns with a token at which the model does not stop.

## What it does
For sft on conversations, checks the token with which the chat template ends a turn (`<|im_end|>`, `<|eot_id|>` and
the like) against the tokens at which the model stops generating: `eos_token_id` of its `generation_config.json`.

## Why is this bad
The model learns to end its turn with that token, and continues after it: it also writes the user's turns, until the
maximum length is reached. Base models with an instruct model's template have this problem, Qwen2.5's among them.
Nothing in the training shows it.

## Fix safety
The fix is unsafe because it changes the tokenizer: `eos_token` of `SFTConfig` makes that token the EOS of the
tokenizer, and a token at which the model stops. Both are saved with the model.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import arguments_of
from holdfast.catalog.models.base_models import base_of, is_conversational, rows_are_raw, uses_own_tokenizer
from holdfast.catalog.models.chat_templates import ends_of_turn, token_number, token_text
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.rows.columns import STRING, ListOf, Struct

END = "train.eos_token"


def check(job: Document, api: Api, model: ModelFacts, dataset: Dataset) -> Iterator[Finding]:
    """Report a token that ends a turn, but at which the model does not stop."""
    base = base_of(job, model)
    if base is None or job.get("method", None) != "sft" or not uses_own_tokenizer(job, base):
        return
    set_by_job = any(job.get(key, None) is not None for key in (END, "train.chat_template_path"))
    end = _unheeded(model)
    if (
        not end
        or set_by_job
        or "eos_token" not in arguments_of(job, api)
        or not rows_are_raw(job)
        or not is_conversational(dataset.readable())
    ):
        return
    fix = Fix(f"end texts with `{end}`", (Set(END, end),), safe=False) if job.kind != "command" else None
    yield base.finding(
        f"its chat template ends a turn with `{end}`, at which the model does not stop: set it as `eos_token`", fix
    )


def _unheeded(model: ModelFacts) -> str | None:
    """Return the token that ends a turn if the model surely does not stop at it."""
    template, tokens = model.chat_template or "", model.tokenizer or {}
    ends, eos = ends_of_turn(template), token_text(tokens.get("eos_token"))
    if len(ends) != 1 or "eos_token" in template or not eos or eos in template or model.generation is None:
        return None
    number, stops = token_number(tokens, ends[0]), model.generation.get("eos_token_id")
    heeded = stops if isinstance(stops, list) else [stops]
    return ends[0] if number is not None and stops is not None and number not in heeded else None


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  max_length: 2048
"""
ENDED = JOB + "  eos_token: '<|im_end|>'\n"
SCRIPT = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capybara", split="train")
args = SFTConfig(output_dir="out")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
MESSAGES = ListOf(Struct({"role": STRING, "content": STRING}))
CHATML = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"


def _facts(*stops: int, end: str = "<|endoftext|>", columns: str = "messages") -> dict[str, object]:
    added = {"151643": {"content": "<|endoftext|>"}, "151645": {"content": "<|im_end|>"}}
    kind = STRING if columns == "text" else MESSAGES
    return {
        "model": ModelFacts(
            files=frozenset({"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}),
            tokenizer={"eos_token": end, "added_tokens_decoder": added},
            chat_template=CHATML,
            generation={"eos_token_id": stops[0] if len(stops) == 1 else list(stops)},
        ),
        "dataset": Dataset(columns=tuple(columns.split()), types=dict.fromkeys(columns.split(), kind)),
    }


RULE = Rule(
    code="MOD127",
    name="unlearned-stop",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16 and transformers 5.23. Tried with a tiny model with ChatML and another `eos_token`: the rows end with `<|im_end|>`, and "
        "after the training `generation_config.eos_token_id` is what it was; with `eos_token` in the config both are there."
    ),
    bad=(
        Case(job=JOB, facts=_facts(151643), at="model", fixed=ENDED),
        Case(
            script=SCRIPT,
            facts=_facts(151643),
            at="trainer.model",
            fixed=SCRIPT.replace('"out"', '"out", eos_token="<|im_end|>"'),
        ),
    ),
    good=(
        Case(job=JOB, facts=_facts(151645, 151643)),
        Case(job=JOB, facts=_facts(151645, end="<|im_end|>")),
        Case(job=ENDED, facts=_facts(151643)),
        Case(job=JOB, facts=_facts(151643, columns="text")),
        Case(job=JOB.replace("sft", "dpo"), facts=_facts(151643, columns="chosen rejected")),
    ),
    kinds=ANY_KIND,
)
