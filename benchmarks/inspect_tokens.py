"""How fast rows are tokenized and counted, beside the tokenizer's own batch calls on the same rows.

    .venv/bin/python -m benchmarks.inspect_tokens [ROWS]

The tokenizer alone: transformers' `apply_chat_template` and `__call__`, a thousand rows at a time, ids and nothing else.
Ours: rows out of polars, the same rendering, ids, and every count that `holdfast inspect` tells of.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from benchmarks.machine import heading
from holdfast.adapters.tokens import LoadedTokenizer, TokenizerRequest, load_tokenizer
from holdfast.core.job.methods import Method
from holdfast.engine.tokens import Recipe, tokenize_rows
from holdfast.ports import Batch
from tests.helpers.tiny import make_tiny

ROWS = 100_000
AT_ONCE = 1000
"""Rows of a batch of `datasets.map`."""
READ_AT_ONCE = 20_000
ROUNDS = 3
WORDS = [
    "the",
    "sum",
    "of",
    "plus",
    "equals",
    "so",
    "then",
    "we",
    "take",
    "it",
    "and",
    "add",
    "what",
    "is",
    "left",
    "to",
    "find",
    "that",
    "answer",
    "one",
    "two",
    "three",
]


def make_rows(count: int) -> list[dict[str, Any]]:
    """Return chats of two turns, about a thousand characters each."""
    chance = Random(0)  # noqa: S311 - rows, no secrets

    def says(words: int) -> str:
        return " ".join(chance.choices(WORDS, k=words))

    return [
        {
            "messages": [
                {"role": "user", "content": f"{number}: {says(chance.randint(10, 80))}"},
                {"role": "assistant", "content": says(chance.randint(20, 300))},
            ]
        }
        for number in range(count)
    ]


def batches(rows: list[dict[str, Any]]) -> Iterator[Batch]:
    """Yield the rows as a reader of files would."""
    for at in range(0, len(rows), READ_AT_ONCE):
        yield Batch(at, pl.DataFrame(rows[at : at + READ_AT_ONCE]))


def alone(tokenizer: Any, rows: list[dict[str, Any]]) -> int:
    """Tokenize chats with the tokenizer's own batch call."""
    tokens = 0
    for at in range(0, len(rows), AT_ONCE):
        some = [row["messages"] for row in rows[at : at + AT_ONCE]]
        made = tokenizer.apply_chat_template(some, tokenize=True, return_dict=True)
        tokens += sum(map(len, made["input_ids"]))
    return tokens


def alone_on_texts(tokenizer: Any, rows: list[dict[str, Any]]) -> int:
    """Tokenize texts likewise."""
    tokens = 0
    for at in range(0, len(rows), AT_ONCE):
        made = tokenizer([row["text"] for row in rows[at : at + AT_ONCE]])
        tokens += sum(map(len, made["input_ids"]))
    return tokens


def ours(tokenizer: LoadedTokenizer, frames: list[Batch], recipe: Recipe) -> int:
    """Tokenize and count."""
    told = tokenize_rows(frames, tokenizer, recipe, of=None, limit=None)
    return round(told.lengths.mean * told.rows)


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    """Return how long something takes, and what it gives."""
    begun = time.perf_counter()
    made = work()
    return time.perf_counter() - begun, made


def compare(title: str, alone_s: Callable[[], int], ours_s: Callable[[], int], rows: int) -> None:
    """Measure in turns, and print the fastest of each, which other work on the machine disturbs least."""
    rounds = [(seconds(alone_s), seconds(ours_s)) for _ in range(ROUNDS)]
    theirs, own = min(one[0][0] for one in rounds), min(one[1][0] for one in rounds)
    same = rounds[0][0][1] == rounds[0][1][1]
    print(
        f"{title:34} alone {rows / theirs:8.0f} rows/s   ours {rows / own:8.0f} rows/s   ratio {theirs / own:.2f}   "
        f"{'same number of tokens' if same else 'TOKENS DIFFER'}"
    )


def main() -> None:
    """Measure each way that rows become tokens."""
    warnings.simplefilter("ignore")
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        make_tiny(Path(folder))
        loaded = load_tokenizer(TokenizerRequest(path=folder))
    tokenizer = loaded._tokenizer  # noqa: SLF001 - the very same one
    print(heading(f"tokens of {count} rows, fastest of {ROUNDS}"))
    chats = make_rows(count)
    frames = list(batches(chats))
    recipe = Recipe(method=Method.SFT, max_length=256)
    compare("chats", lambda: alone(tokenizer, chats), lambda: ours(loaded, frames, recipe), count)
    eos = loaded.eos or ""
    texts = [{"text": row["messages"][1]["content"] + eos} for row in chats]
    written = list(batches(texts))
    compare("texts", lambda: alone_on_texts(tokenizer, texts), lambda: ours(loaded, written, recipe), count)


if __name__ == "__main__":
    main()
