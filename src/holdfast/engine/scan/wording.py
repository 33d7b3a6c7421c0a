"""Signs of damage in words: none at all, broken encodings, messages that came as text.

They are conservative: what can be meant is left alone, such as escape sequences of a terminal, `SÃO`, or `IRMÃ”`.
"""

from typing import Final

import polars as pl

from holdfast.core.rows.scan import Mark
from holdfast.engine.scan.tally import DamageSign

BLANK: Final = r"\A\s*\z"

# Bytes 0x80-0xBF as cp1252 has them, without the quotes, dashes and dots that may follow a word.
_LATIN: Final = "\u00a1-\u00a9\u00aa\u00ac\u00ae-\u00b1\u00b4-\u00b6\u00b8\u00ba\u00bc-\u00bf"
_TRAIL: Final = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # noqa: RUF001 - they are what is looked for
MOJIBAKE: Final = "|".join(
    (
        f"Ã[{_LATIN}‰ŠŒŽšœžŸ€ƒˆ˜™]",  # é as Ã©  # noqa: RUF001 - as above
        "[a-z]Ã[²³¹]|Ã[²³¹][a-z]",  # ó as Ã³, and no footnote to a word that ends in Ã
        "â€|â\u0080",  # quotes and dashes
        "ðŸ|ð\u009f",  # emoji
        "ï¿½|ï»¿",  # a replaced character, and a byte-order mark, read wrongly once more
        "Â[\u00a0\u00a1-\u00aa\u00ac-\u00b6\u00b8-\u00ba\u00bc-\u00bf]",  # 25 °C as 25 Â°C
        f"(?:[ÐÑ][{_TRAIL}]){{3}}",  # Cyrillic
        f"(?:[ãäåæçèé][{_TRAIL}]{{2}}){{2}}",  # Chinese, Japanese, Korean
    )
)
"""UTF-8 that was read as Latin-1 or cp1252."""
REPLACED: Final = "\ufffd"
# All but tab, newline, vertical tab, form feed, return, and the escape that colours a terminal.
CONTROL: Final = r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]"
SURROGATE: Final = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
ESCAPED: Final = "escapes such as \\ud83d as text"
QUOTED: Final = r'\A\s*(?:\{\s*"|\[\s*\{\s*")'
"""JSON of an object, or of a list of such."""
DAMAGE: Final = {
    "U+FFFD, where a character was lost": REPLACED,
    "UTF-8 read as another encoding": MOJIBAKE,
    "control characters": CONTROL,
    ESCAPED: SURROGATE,
}
ANY_DAMAGE: Final = "|".join(f"(?:{pattern})" for pattern in DAMAGE.values())

_KEYS: Final = "role|from|content|value"
AS_JSON: Final = rf'\A\s*\[\s*\{{\s*"(?:{_KEYS})"\s*:'
AS_PYTHON: Final = rf"\A\s*\[\s*\{{\s*'(?:{_KEYS})'\s*:"


def is_blank(text: pl.Expr) -> pl.Expr:
    """Return the expression that is true of texts of white space alone."""
    return text.str.contains(BLANK)


def encoding_signs() -> list[DamageSign]:
    """Return the signs of broken encodings in a column `text`."""
    found = {what: pl.col("text").str.contains(pattern) for what, pattern in DAMAGE.items()}
    # What is JSON within a text has its escapes read when it is parsed.
    found[ESCAPED] &= ~pl.col("text").str.contains(QUOTED)
    return [DamageSign("encoding", holds, what) for what, holds in found.items()]


def text_signs(empty: Mark) -> list[DamageSign]:
    """Return the signs of a column `text` that holds one text a row; `empty` is the mark of a blank one."""
    text = pl.col("text")
    return [
        DamageSign(empty, is_blank(text)),
        DamageSign("json-text", text.str.contains(AS_JSON), "JSON"),
        DamageSign("json-text", text.str.contains(AS_PYTHON), "Python"),
    ]


def damaged(table: pl.DataFrame) -> pl.DataFrame:
    """Return the lines of a table whose `text` may be damaged: one search for all, since most data has none."""
    return table.filter(pl.col("text").str.contains(ANY_DAMAGE))
