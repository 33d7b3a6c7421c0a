"""Judging what rows have beside their words: tools that may be called, and images."""

from collections.abc import Iterator
from typing import Final

import polars as pl

from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type
from holdfast.engine.scan.named import column
from holdfast.engine.scan.reads import Reads
from holdfast.engine.scan.tally import DamageSign, DamageTally

NOT_JSON: Final = "not JSON"
NO_LIST: Final = "not a list of objects"
FEWER: Final = "fewer than the messages ask for"
NONE: Final = "none"


def judge_tools(numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
    """Judge the column `tools` of one batch: a list of schemas, or its JSON; null where a row has none."""
    tools, kind = pl.col("tools"), reads.types["tools"]
    if kind == Scalar("string"):
        _judge_written(numbers, frame, reads, tally)
    elif not _may_be_tools(kind):
        tally.judge(frame, numbers, "tools", [DamageSign("malformed-tools", tools.is_not_null(), NO_LIST)])


def _may_be_tools(kind: Type) -> bool:
    match kind:
        case ListOf(Struct()) | ListOf(Scalar("json" | "null")) | Scalar("json" | "null"):
            return True
        case _:
            return False


def _judge_written(numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
    """Judge tools that are JSON; each spelling once, since rows often share theirs."""
    written = frame.get_column("tools")
    spellings = written.unique().drop_nulls().to_frame("text")
    text = pl.col("text")
    read = text.str.json_path_match("$").is_not_null() | (text.str.strip_chars() == "null")
    listed = text.str.contains(r"\A\s*\[\s*[{\]]") | (text.str.strip_chars() == "null")
    judged = spellings.with_columns(read=read, listed=listed)
    unread = judged.filter(~pl.col("read")).get_column("text")
    tally.add("malformed-tools", "tools", numbers.filter(written.is_in(unread.implode())), NOT_JSON)
    if reads.turns:
        unlisted = judged.filter(pl.col("read") & ~pl.col("listed")).get_column("text")
        tally.add("malformed-tools", "tools", numbers.filter(written.is_in(unlisted.implode())), NO_LIST)


def judge_images(numbers: pl.Series, frame: pl.DataFrame, reads: Reads, tally: DamageTally) -> None:
    """Judge the columns of images of one batch against the places that the messages keep for them."""
    placeholders = _places(frame, reads)
    for name in reads.images:
        count = _count(frame.schema[name], name)
        if count is None:
            continue
        table = frame.select(
            count=count.fill_null(0), placeholders=placeholders if placeholders is not None else pl.lit(0)
        )
        fewer = pl.col("count") < pl.col("placeholders")
        tally.judge(table, numbers, name, [*_signs(fewer)])


def _signs(fewer: pl.Expr) -> Iterator[DamageSign]:
    yield DamageSign("missing-image", fewer, FEWER)
    yield DamageSign("missing-image", (pl.col("count") == 0) & ~fewer, NONE)


def _count(dtype: pl.DataType, name: str) -> pl.Expr | None:
    """Return the number of images per row; None for an unknown kind of storage."""
    if isinstance(dtype, pl.List):
        return column(name).list.eval(_is_there(dtype.inner, pl.element())).list.sum()
    return _is_there(dtype, column(name)).cast(pl.Int64)


def _is_there(dtype: object, image: pl.Expr) -> pl.Expr:
    match dtype:
        case pl.Struct(fields=parts):  # bytes, or the path of a file
            return pl.any_horizontal(image.struct.field(part.name).is_not_null() for part in parts)
        case _:
            return image.is_not_null()


def _places(frame: pl.DataFrame, reads: Reads) -> pl.Expr | None:
    """Return the number of images that the messages of a row refer to: parts of type `image` without an image of their own."""
    asking = [_image_parts(name) for name in reads.turns if _keeps_places(frame.schema[name])]
    return pl.sum_horizontal(asking) if asking else None


def _keeps_places(dtype: pl.DataType) -> bool:
    match dtype:
        case pl.List(inner=pl.Struct(fields=fields)):
            content = next((part.dtype for part in fields if part.name == "content"), None)
        case _:
            content = None
    match content:
        case pl.List(inner=pl.Struct()):
            return True
        case _:
            return False


def _image_parts(name: str) -> pl.Expr:
    places = pl.element().struct.field("content").list.eval(pl.element().struct.field("type") == "image").list.sum()
    return column(name).list.eval(places).list.sum().fill_null(0)
