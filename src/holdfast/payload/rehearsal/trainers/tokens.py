"""What becomes of the rows' texts as tokens: whether any answer is left that could be learnt."""

import math
from collections.abc import Mapping, Sequence, Sized
from contextlib import suppress
from itertools import chain
from typing import Any

from ..events import EventWriter

LOOKED_AT = 16
"""Rows that are looked at."""
COUNTS = ("gradient_accumulation_steps", "per_device_train_batch_size", "max_steps", "num_train_epochs")
"""Settings that say how many updates there are."""
UNFILLED = 8
"""How many times the batches that there are an update may wait for, from which on it is taken for a mistake."""
PAIR = ("chosen", "rejected")
"""Columns of two answers."""
QUESTIONS = ("question", "instruction", "query", "problem")
"""Names of columns that hold nothing but the prompt."""
LOADED = "_holdfast_template"
"""Attribute of a tokenizer: the chat template that it was loaded with."""
SIZE = "_holdfast_size"
"""Attribute of a tokenizer: how many tokens it was loaded with."""
RESIZE = (
    "Call `model.resize_token_embeddings(len(tokenizer))` after tokens are added; with LoRA train the new rows too: "
    '`modules_to_save=["embed_tokens", "lm_head"]`.'
)
_last: list[Any] = []
"""The tokenizer that was loaded last."""


def note_loaded(processor: Any) -> None:
    """Remember the chat template and the number of tokens that a tokenizer or a processor was loaded with."""
    if isinstance(template := getattr(processor, "chat_template", None), str | None):
        vars(processor)[LOADED] = template
    tokenizer = getattr(processor, "tokenizer", processor)
    if isinstance(tokenizer, Sized) and hasattr(tokenizer, "decode"):
        vars(tokenizer)[SIZE] = len(tokenizer)
        _last[:] = [tokenizer]


def tokenizer_of(trainer: Any) -> Any:
    """Return the tokenizer that a trainer was given, or the last one that the script loaded; None if there is none."""
    processor = getattr(trainer, "processing_class", None) or next(iter(_last), None)
    return getattr(processor, "tokenizer", processor)


def look_at_added(trainer: Any, events: EventWriter) -> None:
    """Report tokens that the script added, and that the model has no row in its embedding for.

    Nothing is said of a tokenizer that was loaded with more tokens than the model has: some of the Hub's are, and their
    rows hold none of these.

    Args:
        trainer: A trainer that is about to train.
        events: Receives the report.
    """
    tokenizer, find = tokenizer_of(trainer), getattr(trainer.model, "get_input_embeddings", None)
    loaded = getattr(tokenizer, SIZE, None)
    size = len(tokenizer) if loaded is not None else 0
    with suppress(NotImplementedError, AttributeError):
        rows = find().num_embeddings if find and loaded is not None else None
        if isinstance(rows, int) and size > max(loaded or 0, rows):
            because = (
                f"the script adds {size - (loaded or 0)} to the {loaded} tokens of its tokenizer, and the embedding of the "
                f"model has {rows} rows: a row with a token from {rows} on raises IndexError. {RESIZE}"
            )
            events.warning("token-id-out-of-embedding-range", "tokenize", because)


def own_template(processor: Any) -> str | None:
    """Return the chat template that a script gave its tokenizer; None if it has the one that it was loaded with."""
    template = getattr(processor, "chat_template", None)
    return template if isinstance(template, str) and template != vars(processor).get(LOADED) else None


def look_at_answers(trainer: Any, rows: Any, events: EventWriter) -> None:
    """Report where the questions alone fill what is kept of each row, so that no answer is left of any.

    Args:
        trainer: A trainer that was made.
        rows: The conversations it was given, before they were made tokens of.
        events: Receives the report.
    """
    most = getattr(trainer.args, "max_length", None)
    tokenizer = getattr(trainer, "processing_class", None)
    if not most or not getattr(tokenizer, "chat_template", None) or getattr(trainer.args, "packing", False):
        return
    lengths = [length for row in list(rows)[:LOOKED_AT] if (length := _length(row, tokenizer))]
    if lengths and min(lengths) >= most:
        because = f"the questions alone fill the {most} tokens of `max_length` in each row: no answer is trained on"
        fix = advise_length(min(lengths), longest_row(rows, tokenizer))
        events.fault("answers-not-in-training-text", "tokenize", because, fix=fix, shortest_question=min(lengths))


def advise_length(too_short: int, longest: int) -> str:
    """Return the fix for a `max_length` that leaves no answer.

    Args:
        too_short: A length, in tokens, that is still too short.
        longest: Tokens of the longest row that was looked at; 0 if it is not known.
    """
    if longest > too_short:
        return f"Raise `max_length` to {longest}, the length of the longest row looked at, or more."
    return f"Raise `max_length` above {too_short}, so that the questions and the answers fit."


def longest_row(rows: Any, tokenizer: Any) -> int:
    """Return how many tokens the longest of a few rows has, uncut; 0 if that is not known."""
    with suppress(Exception):  # a template's or a tokenizer's own code: what it raises, the trainer raises too
        return max((_count_tokens(row, tokenizer) for row in list(rows)[:LOOKED_AT]), default=0)
    return 0


def _count_tokens(row: Mapping[str, Any], tokenizer: Any) -> int:
    """Return the tokens of a row's conversation, of its prompt with its completion, or of its text; 0 for any other row."""
    if "input_ids" in row:
        return len(row["input_ids"])
    parts = _parts(row)
    if all(isinstance(part, str) for part in parts):
        return len(tokenizer("".join(parts))["input_ids"])
    if all(isinstance(part, list) for part in parts):
        return _count_messages(list(chain.from_iterable(parts)), tokenizer, answered=True)
    return 0


def _parts(row: Mapping[str, Any]) -> list[Any]:
    """Return the prompt and the completion of a row, or its conversation, or its text."""
    return [row[name] for name in ("prompt", "completion") if name in row] or [row.get("messages", row.get("text"))]


def _count_messages(messages: list[Any], tokenizer: Any, *, answered: bool) -> int:
    """Return the tokens of messages in the chat template, followed by the head of an answer unless they are answered."""
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=not answered)
    return len(tokenizer(text, add_special_tokens=False)["input_ids"])


def _length(row: Any, tokenizer: Any) -> int:
    """Return the tokens before the last answer of a conversation; 0 if there is no answer, or none is known."""
    messages = row.get("messages") if isinstance(row, Mapping) else None
    if not messages or not isinstance(messages[-1], Mapping) or messages[-1].get("role") != "assistant":
        return 0
    with suppress(Exception):  # a template's own code: what it raises, the trainer has raised before
        return _count_messages(messages[:-1], tokenizer, answered=False)
    return 0


def look_at_prompts(rows: Any, events: EventWriter) -> None:
    """Report pairs of answers without their questions: the trainer takes what both begin with for the prompt.

    Source: `extract_prompt` of TRL 1.16, where rows have no column `prompt`.

    Args:
        rows: What the trainer was given, before it was made tokens of.
        events: Receives the report.
    """
    looked = list(rows)[:LOOKED_AT]
    if not looked or "prompt" in looked[0] or not set(PAIR) <= looked[0].keys():
        return
    unread = [name for name in looked[0] if _holds_requests(looked, name)]
    if unread and not any(map(_begin_alike, looked)):
        because = f"`chosen` and `rejected` begin with nothing alike: `{unread[0]}` is not read"
    elif asked := [name for name in unread if name.strip().lower() in QUESTIONS]:
        because = (
            f"the trainer takes what `chosen` and `rejected` both begin with for the prompt: `{asked[0]}` is not read"
        )
    else:
        return
    events.warning("dataset-missing-column", "data", f"there is no column `prompt`, and {because}")


def _begin_alike(row: Mapping[str, Any]) -> bool:
    chosen, rejected = (row[name] for name in PAIR)
    return bool(chosen and rejected) and bool(chosen[:1] == rejected[:1])


def _holds_requests(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    return name not in PAIR and all(_has_request(each, name) for each in rows)


def _has_request(row: Mapping[str, Any], name: str) -> bool:
    """True if a column holds words that the row's answers do not."""
    text = row[name]
    return isinstance(text, str) and " " in text.strip() and text not in str(row["chosen"])


def look_at_updates(settings: Mapping[str, Any], rows: int, events: EventWriter) -> None:
    """Report a training that makes a single update, because it waits for more batches than there are.

    A few rows that nearly fill the update are a doubt: people try a job on them. An update that waits for many times the
    batches that there are is of no use.

    Args:
        settings: The arguments of a trainer, as they were requested.
        rows: Its rows.
        events: Receives the report.
    """
    accumulated, batch = settings["gradient_accumulation_steps"], settings["per_device_train_batch_size"]
    if not all(isinstance(settings[name], int | float) for name in COUNTS):
        return  # of which the library is to complain
    if settings["max_steps"] > 0 or settings["num_train_epochs"] > 1 or "num_generations" in settings:
        return
    batches = math.ceil(rows / max(1, batch))
    if not 0 < batches < accumulated:
        return
    because = (
        f"{rows} rows make {batches} batches of {batch}, and one update takes {accumulated}: there is one update in all"
    )
    if accumulated >= UNFILLED * batches:
        fix = "Lower `gradient_accumulation_steps`, or take more rows or epochs."
        events.fault("too-few-training-steps", "step", because, fix=fix, rows=rows)
    else:
        events.warning("too-few-training-steps", "step", because)
