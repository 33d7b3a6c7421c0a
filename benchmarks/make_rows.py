"""Make chat rows, about 1 KB each, by a seed: `python benchmarks/make_rows.py 1000000 rows.jsonl rows.parquet --damage 100`.

Damage goes to rows whose numbers are told beside the file, in `rows.jsonl.damage.json`: a row each of kinds in turn.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

WORDS = 4000
# Of a row: turns, words of a question and of an answer; about 1 KB together.
TURNS, ASKED, ANSWERED = 2, 22, 42
BATCH = 20_000
Row = dict[str, Any]


def words_of(seed: int) -> list[str]:
    """Return made-up words of two to ten letters."""
    chosen = random.Random(seed)  # noqa: S311 - no secret
    return ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(2, 10))) for _ in range(WORDS)]


def row_of(number: int, words: list[str], chosen: random.Random) -> Row:
    """Return one good row; no two are the same."""
    messages = []
    for _ in range(TURNS):
        messages.append({"role": "user", "content": " ".join(chosen.choices(words, k=ASKED))})
        messages.append({"role": "assistant", "content": " ".join(chosen.choices(words, k=ANSWERED))})
    return {"messages": messages, "id": number}


def without_answer(row: Row, _: Row) -> None:
    """Take the last answer away."""
    row["messages"].pop()


def empty_answer(row: Row, _: Row) -> None:
    """Leave nothing of the last answer."""
    row["messages"][-1]["content"] = ""


def null_answer(row: Row, _: Row) -> None:
    """Make the last answer null."""
    row["messages"][-1]["content"] = None


def unknown_role(row: Row, _: Row) -> None:
    """Give the first turn to nobody."""
    row["messages"][0]["role"] = "human"


def no_messages(row: Row, _: Row) -> None:
    """Take all turns away."""
    row["messages"] = []


def null_messages(row: Row, _: Row) -> None:
    """Make the messages null."""
    row["messages"] = None


def two_questions(row: Row, _: Row) -> None:
    """Ask twice before there is an answer."""
    row["messages"][1]["role"] = "user"


def no_assistant(row: Row, _: Row) -> None:
    """Let the assistant say nothing in the whole row."""
    for message in row["messages"]:
        message["role"] = "user"


def duplicate(row: Row, first: Row) -> None:
    """Repeat the first row."""
    row["messages"] = first["messages"]


def bad_encoding(row: Row, _: Row) -> None:
    """Leave marks of a text that was decoded wrongly."""
    row["messages"][-1]["content"] += " caf\u00c3\u00a9 \ufffd"


DAMAGES = {
    damage.__name__: damage
    for damage in (
        without_answer, empty_answer, null_answer, unknown_role, no_messages, null_messages, two_questions, no_assistant,
        duplicate, bad_encoding,
    )
}  # fmt: skip


def rows_of(count: int, seed: int, damaged: int) -> Iterator[tuple[Row, str]]:
    """Yield rows, each with the name of what is wrong with it; empty where nothing is."""
    words, chosen = words_of(seed), random.Random(seed + 1)  # noqa: S311
    kinds = list(DAMAGES)
    places = sorted(chosen.sample(range(1, count), min(damaged, count - 1)))
    named = {place: kinds[number % len(kinds)] for number, place in enumerate(places)}
    first: Row = {}
    for number in range(count):
        row = row_of(number, words, chosen)
        first = first or json.loads(json.dumps(row))
        if name := named.get(number):
            DAMAGES[name](row, first)
        yield row, name or ""


def make(count: int, paths: list[Path], *, seed: int = 0, damaged: int = 0) -> dict[str, list[int]]:
    """Write the same rows into each file, and return the numbers of damaged ones by what is wrong with them."""
    told: dict[str, list[int]] = {}
    lines = [path.open("w", encoding="utf-8") for path in paths if path.suffix == ".jsonl"]
    parts: list[pl.DataFrame] = []
    batch: list[Row] = []
    for number, (row, name) in enumerate(rows_of(count, seed, damaged)):
        if name:
            told.setdefault(name, []).append(number)
        for file in lines:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        batch.append(row)
        if len(batch) == BATCH:
            parts.append(_frame(batch, paths))
            batch = []
    for file in lines:
        file.close()
    _write_parquet([*parts, _frame(batch, paths)], paths)
    for path in paths:
        path.with_name(f"{path.name}.damage.json").write_text(json.dumps(told))
    return told


SCHEMA: dict[str, Any] = {"messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})), "id": pl.Int64}


def _frame(batch: list[Row], paths: list[Path]) -> pl.DataFrame:
    wanted = any(path.suffix == ".parquet" for path in paths)
    return pl.DataFrame(batch if wanted else [], schema=SCHEMA, orient="row")


def _write_parquet(parts: list[pl.DataFrame], paths: list[Path]) -> None:
    for path in paths:
        if path.suffix == ".parquet":
            pl.concat(parts).write_parquet(path, row_group_size=BATCH, compression="zstd")


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("paths", type=Path, nargs="+", help="files that end in .jsonl or .parquet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--damage", type=int, default=0, help="how many rows are damaged")
    asked = parser.parse_args()
    told = make(asked.count, asked.paths, seed=asked.seed, damaged=asked.damage)
    for path in asked.paths:
        print(f"{path}: {asked.count:,} rows, {path.stat().st_size / 1e6:,.0f} MB")
    print({name: len(rows) for name, rows in told.items()})


if __name__ == "__main__":
    main()
