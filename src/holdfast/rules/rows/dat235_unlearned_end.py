"""Training data that never teaches the model to stop.

## What it does
Checks the labels of every row that is not truncated for a token at which the model stops generating: the tokenizer's
EOS, or one that `generation_config.json` names.

## Why is this bad
The model never learns a token that is never a label. Later it writes its answer and continues, up to the maximum
completion length. The loss does not show it. A usual cause is a base model whose chat template ends turns with
`<|im_end|>` while its EOS is `<|endoftext|>`.

## Fix safety
There is no automatic fix. If the rows end with another special token, name it in `train.eos_token`: the trainers of
sft and reward set it in the tokenizer and in the generation config; for others, save the model with both set. With
`assistant_only_loss`, the template's `{% generation %}` must also enclose that token.
"""

from collections.abc import Iterator

from holdfast.catalog.calls.train_arguments import arguments
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(job: Document, tokens: Tokens) -> Iterator[Finding]:
    """Report training data in which no complete row ends what the model is to write."""
    whole = tokens.rows - tokens.truncated - tokens.failed.count
    if job.get("model", "") is None or not tokens.stops or not whole or tokens.without_end.count < whole:
        return
    stops = " or ".join(f"`{token}`" for token in tokens.stops)
    ends = tokens.turn_end
    advice = f": try `train.eos_token: {ends!r}`" if "eos_token" in arguments(str(job.get("method"))) else ""
    ending = f"; their last special token is `{ends}`{advice}" if ends else ""
    key = "train.assistant_only_loss" if job.get("train.assistant_only_loss", None) else "model"
    yield Finding(key, f"{stops}, at which the model stops, is never a label, so it does not learn to stop{ending}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)


def _facts(without: int, stop: str) -> dict[str, object]:
    return {
        "tokens": Tokens(
            rows=40,
            lengths=LENGTHS,
            max_length=1024,
            truncated=2,
            without_end=RowCount(without, tuple(range(min(without, 3)))),
            stops=(stop,),
            turn_end="<|im_end|>",
        )
    }


RULE = Rule(
    code="DAT235",
    name="unlearned-end",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "trl 1.16: `SFTTrainer` appends EOS to texts, and nothing to conversations; `eos_token` goes to the tokenizer and to "
        "the generation config. Tried with a tiny model, trained until it repeats its one chat: with EOS other than the "
        "template's end of turn, the saved model writes on to the last token allowed; with `eos_token` set to it, it stops."
    ),
    bad=(Case(job=JOB, facts=_facts(38, "<|endoftext|>"), at="model"),),
    good=(
        Case(job=JOB, facts=_facts(0, "<|im_end|>")),
        Case(job=JOB, facts=_facts(12, "<|im_end|>")),
    ),
    kinds=WITH_ROWS,
)
