"""Broken and hostile variants of good files, made by choices: a number below a bound, from hypothesis or from a seeded generator."""

import ast
import bz2
import gzip
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

Choose = Callable[[int], int]
"""Gives a number from 0 up to a bound, without the bound."""
Change = Callable[[bytes, Choose], bytes]

MOST_BYTES: Final = 1 << 20
"""An input never grows beyond this, so that what takes long is the reader and not the input's size."""
MOST_CHANGES: Final = 4
TOKENS: Final = (
  *(token.encode("utf-8", "surrogatepass")
    for token in (
        "\0", "\x1a", "\x1b[31m", "\ufeff", "\u2028", "\ud83d", "\\ud83d", "\U0001f600", "é", "\xa0", "\r", "\r\n\r\n", "\t",
        "'", '"', '"""', "\\", "`", "$(", "${", "%s", "{{", "}}", "{", "}", "[", "]", "(", ")", "<<", "#", ":", ",", "=", ";", "&", "*a",
        "&a ", "!!python/object:os.system ", "!!float ", "? ", "- ", "...", "---", "|", "~", "null", "None", "true", "yes", "NaN",
        "Infinity", "-Infinity", "1e999", "-1e999", "1e-999", ".inf", ".nan", "9" * 5000, "-" + "9" * 400, "0x" + "f" * 4000, "1_0", "-0",
        "9223372036854775808", "18446744073709551616", "1.0.0.0.0.0.0.0", "==" + "9" * 4400, "2026-13-45", "0" * 500,
        "/", "/dev/zero", "/dev/stdin", "..", "../" * 50, "~root", "a" * 5000, "[" * 3000, '{"a":' * 3000, "(" * 300, "-" * 3000,
        "a.b" * 500, "not " * 500, "import ", "async ", "lambda: ", "yield ", "*", "**", ":=", "f'{", "b'\\xff'", "if 0:\n ", "\n\n\n",
        "Traceback (most recent call last):\n", '  File "x.py", line 99999999999999999999, in <module>\n', "CUDA out of memory. Tried to allocate 9e999 GiB",
    )),
  b"\xff\xfe", b"\xfe\xff", b"\x1f\x8b\x08", b"\x80", b"\xc3", b"\xed\xa0\x80", b"\xff" * 10, b"\x00" * 64)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, -(10**400), 0.5, 1e308, float("inf"), float("nan"), "", " ", "\0", "\ud83d", "é" * 40, "a" * 3000,
    "/", "..", "~", "~root", "trl", "1.0", "true", "null", "{", "x:y", "*", "**/*", "train[:1]", "train[99999999999999999999:]", [], [[]], [None], [1, "a"], {}, {"": {}},
    {"a": None}, {"a": {"a": {"a": []}}}, [{}], ["x"] * 50, {"path": "/"}, {"path": ["a"]}, {"dtype": "int64", "_type": "Value"},
)  # fmt: skip
"""Of any type, to stand where another is meant."""
NUMBER: Final = re.compile(rb"\d+")
QUOTED: Final = re.compile(rb"\"[^\"\n]*\"|'[^'\n]*'")
ENCODINGS: Final = ("utf-16", "utf-16-le", "utf-8-sig", "utf-32", "latin-1", "cp037")


def make_input(seeds: Sequence[bytes], choose: Choose, changes: Sequence[Change]) -> bytes:
    """Return a variant of one of some good inputs.

    Args:
        seeds: The good ones.
        choose: Makes the choices.
        changes: Those that know the format; the ones that know only bytes are made as well.
    """
    data = seeds[choose(len(seeds))]
    every = [*BYTE_CHANGES, *list(changes) * max(1, len(BYTE_CHANGES) // max(1, len(changes)))]
    for _ in range(1 + choose(MOST_CHANGES)):
        data = every[choose(len(every))](data, choose)[:MOST_BYTES]
    return data


def _span(data: bytes, choose: Choose) -> tuple[int, int]:
    start = choose(len(data) + 1)
    return start, min(len(data), start + 1 + choose((1, 4, 16, 64, 1024)[choose(5)]))


def _flip(data: bytes, choose: Choose) -> bytes:
    at = choose(len(data) + 1)
    return data[:at] + bytes([choose(256)]) + data[at + 1 :]


def _cut(data: bytes, choose: Choose) -> bytes:
    start, end = _span(data, choose)
    return data[:start] + data[end:]


def _truncate(data: bytes, choose: Choose) -> bytes:
    return data[: choose(len(data) + 1)]


def _repeat(data: bytes, choose: Choose) -> bytes:
    start, end = _span(data, choose)
    return data[:end] + data[start:end] * (1, 2, 10, 200, 5000)[choose(5)] + data[end:]


def _move(data: bytes, choose: Choose) -> bytes:
    start, end = _span(data, choose)
    at = choose(len(data) + 1)
    return data[:at] + data[start:end] + data[at:]


def _insert(data: bytes, choose: Choose) -> bytes:
    at = choose(len(data) + 1)
    return data[:at] + TOKENS[choose(len(TOKENS))] + data[at:]


def _replace_number(data: bytes, choose: Choose) -> bytes:
    return _replace_match(NUMBER, data, choose)


def _replace_quoted(data: bytes, choose: Choose) -> bytes:
    return _replace_match(QUOTED, data, choose)


def _replace_match(pattern: re.Pattern[bytes], data: bytes, choose: Choose) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return _insert(data, choose)
    start, end = found[choose(len(found))].span()
    return data[:start] + TOKENS[choose(len(TOKENS))] + data[end:]


def _swap_lines(data: bytes, choose: Choose) -> bytes:
    lines = data.split(b"\n")
    one, other = choose(len(lines)), choose(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _drop_line(data: bytes, choose: Choose) -> bytes:
    lines = data.split(b"\n")
    del lines[choose(len(lines))]
    return b"\n".join(lines)


def _nest(data: bytes, choose: Choose) -> bytes:
    start, end = _span(data, choose)
    opening, closing = ((b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b'{"a":', b"}"), (b"- ", b""), (b"not ", b""))[
        choose(6)
    ]
    depth = (1, 20, 99, 400, 3000, 20_000)[choose(6)]
    return data[:start] + opening * depth + data[start:end] + closing * depth + data[end:]


def _encode(data: bytes, choose: Choose) -> bytes:
    return data.decode("utf-8", "replace").encode(ENCODINGS[choose(len(ENCODINGS))], "replace")


def _compress(data: bytes, choose: Choose) -> bytes:
    return (gzip.compress, bz2.compress)[choose(2)](data)


BYTE_CHANGES: Final[tuple[Change, ...]] = (
    _flip, _cut, _truncate, _repeat, _move, _insert, _insert, _replace_number, _replace_quoted, _swap_lines, _drop_line, _nest, _encode, _compress,
)  # fmt: skip


def change_json(data: bytes, choose: Choose) -> bytes:
    """Return JSON, or JSON Lines, in which a value is one of another type, is gone, or stands under another name."""
    lines = data.split(b"\n")
    at = choose(len(lines))
    try:
        lines[at] = _dumped(_changed(json.loads(lines[at]), choose))
        return b"\n".join(lines)
    except (ValueError, RecursionError):
        pass
    try:
        return _dumped(_changed(json.loads(data), choose))
    except (ValueError, RecursionError):
        return _insert(data, choose)


def change_toml(data: bytes, choose: Choose) -> bytes:
    """Return TOML in which a value is one of another type, is gone, or stands under another name."""
    try:
        table = _changed(tomllib.loads(data.decode()), choose)
    except (ValueError, RecursionError):
        return _insert(data, choose)
    entries = table.items() if isinstance(table, dict) else ()
    return "\n".join(f"{json.dumps(name)} = {_toml(value)}" for name, value in entries).encode("utf-8", "replace")


def change_yaml(data: bytes, choose: Choose) -> bytes:
    """Return YAML likewise; as JSON, which is YAML too."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return _dumped(_changed(YAML(typ="safe", pure=True).load(data.decode()), choose))
    except (ValueError, RecursionError, YAMLError, TypeError, AttributeError, KeyError, IndexError, AssertionError):
        return _insert(data, choose)


def change_python(data: bytes, choose: Choose) -> bytes:
    """Return a script in which an expression is another one, or a statement stands in another place."""
    try:
        tree = ast.parse(data)
        nodes = [
            node for node in ast.walk(tree) if any(isinstance(value, ast.expr | list) for value in vars(node).values())
        ]
        _change_node(nodes[choose(len(nodes))], choose)
        return ast.unparse(tree).encode("utf-8", "replace")
    except (
        ValueError,
        SyntaxError,
        RecursionError,
        MemoryError,
        AttributeError,
        TypeError,
        IndexError,
        KeyError,
        AssertionError,
    ):
        return _insert(data, choose)


EXPRESSIONS: Final = (
    "None", "...", "True", "-1", "1e999", "10 ** 10 ** 10", "'x' * 10 ** 12", "2 ** 99999", "1 << 10 ** 9", "'%*d' % (10 ** 9, 1)", "f'{1:{10**9}}'", "[]", "{}", "()", "{**x}", "[*x]",
    "x", "x.y", "x()", "x(*y, **z)", "x[0]", "x[1:2:0]", "lambda: x", "(yield)", "await x", "x if y else z", "[x for x in y]", "{x: x for x in x}",
    "(x := 1)", "not x", "1 // 0", "1 % 0", "'' % 1", "'{}'.format()", "'{0.a}'.format(x)", "int('9' * 5000)", "range(10 ** 18)", "list(range(10 ** 9))", "b'\\xff'.decode()", "open('/dev/zero').read()",
    "'\\ud83d'", "'\\0'", "super().x", "__import__('os')", "SFTConfig", "SFTConfig()", "dict(**{'a': 1})", "[0] * 10 ** 10", "sum([[]] * 10 ** 7, [])", "str(10 ** 5000)", "1j", "x @ y", "print",
)  # fmt: skip


def _change_node(node: ast.AST, choose: Choose) -> None:
    named = [name for name, value in vars(node).items() if isinstance(value, ast.expr | list)]
    name = named[choose(len(named))]
    value = getattr(node, name)
    new = ast.parse(EXPRESSIONS[choose(len(EXPRESSIONS))], mode="eval").body
    if isinstance(value, ast.expr):
        setattr(node, name, new)
    elif value and (part := value[choose(len(value))]) is not None:
        value.insert(choose(len(value) + 1), new if isinstance(part, ast.expr) else part)


def change_records(data: bytes, choose: Choose) -> bytes:
    """Return lines of cells, or of words, in which a cell is hostile, is gone, or stands twice."""
    lines = data.split(b"\n")
    at = choose(len(lines))
    sign = (b",", b"\t", b" ", b"=", b"|", b":")[choose(6)]
    cells = lines[at].split(sign)
    cell = choose(len(cells))
    cells[cell : cell + choose(2)] = [TOKENS[choose(len(TOKENS))]] * choose(3)
    lines[at] = sign.join(cells)
    return b"\n".join(lines)


def change_integers(data: bytes, choose: Choose) -> bytes:
    """Return a binary file in which one number, of 1 to 8 bytes or a varint, is at its bounds."""
    size = (1, 2, 4, 8)[choose(4)]
    at = (choose(len(data) + 1), max(0, len(data) - 1 - choose(400)), choose(64))[choose(3)]
    numbers = (
        bytes(size),
        b"\xff" * size,
        b"\xff" * (size - 1) + b"\x7f",
        b"\x01" + bytes(size - 1),
        bytes(size - 1) + b"\x80",
        b"\xff" * 9 + b"\x01",
    )
    new = numbers[choose(len(numbers))]
    return data[:at] + new + data[at + size :]


def change_safetensors(data: bytes, choose: Choose) -> bytes:
    """Return a safetensors file with another header, whose length is told as it is."""
    length = int.from_bytes(data[:8], "little")
    header = change_json(data[8 : 8 + length], choose)
    return len(header).to_bytes(8, "little") + header + data[8 + length :]


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")


def _toml(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(name))} = {_toml(part)}" for name, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case None:
            return '"None"'
        case bool():
            return str(value).lower()
        case float() | int():
            return str(value) if not isinstance(value, int) or abs(value) < 10**400 else "9" * 400
        case _:
            return json.dumps(str(value))


def _changed(tree: Any, choose: Choose) -> Any:
    """Return a tree of JSON values with one of its places changed."""
    places = list(_places(tree))
    if not places:
        return VALUES[choose(len(VALUES))]
    holder, key = places[choose(len(places))]
    match choose(5):
        case 0 if isinstance(holder, dict):
            holder[VALUES_AS_NAMES[choose(len(VALUES_AS_NAMES))]] = holder.pop(key)
        case 1:
            del holder[key]
        case 2:
            other, at = places[choose(len(places))]
            holder[key] = json.loads(json.dumps(other[at], default=str))
        case 3:
            for _ in range((1, 5, 60, 150)[choose(4)]):
                holder[key] = [holder[key]] if choose(2) else {"a": holder[key]}
        case _:
            holder[key] = VALUES[choose(len(VALUES))]
    return tree


VALUES_AS_NAMES: Final = tuple(value for value in VALUES if isinstance(value, str))


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    pairs: Iterator[tuple[Any, Any]] = (
        iter(tree.items()) if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else iter(())
    )
    for key, value in list(pairs):
        yield tree, key
        yield from _places(value)
