"""The arguments of one call, or the keys of one dict, changed as text by LibCST: comments, quotes and layout stay."""

from collections.abc import Iterable
from typing import Any

import libcst

from holdfast.adapters.readers.script.rows import NOTHING, SPACE, ItemRow, comma, written
from holdfast.core.job.document import Remove, Set, ValueEdit
from holdfast.core.job.source import render_value


def change(source: str, edits: Iterable[ValueEdit]) -> str | None:
    """Return a call or a dict with its arguments changed, or None if the text is neither, or has no such argument.

    >>> change("SFTConfig(a=1, b=2)", [Remove("train.a"), Set("train.c", "x")])
    'SFTConfig(b=2, c="x")'
    >>> change("{'a': 1, 'b': 2}", [Remove("train.a")])
    "{'b': 2}"
    """
    try:
        node = libcst.parse_expression(source)
    except libcst.ParserSyntaxError:
        return None
    writer = WRITERS.get(type(node))
    if writer is None:
        return None
    row = writer.take(node)
    for edit in edits:
        name = edit.key.rpartition(".")[2]
        names = [writer.name(item) for item in row.items]
        if name not in names and not isinstance(edit, Set):
            return None
        row = _changed(writer, row, names, edit)
    return written(writer.put(node, row), source)


def _changed(writer: Any, row: ItemRow[Any], names: list[str], edit: ValueEdit) -> ItemRow[Any]:
    """Return the row with one edit made; a new argument comes last, but before `**rest`."""
    name = edit.key.rpartition(".")[2]
    at = names.index(name) if name in names else -1
    if isinstance(edit, Remove):
        return row.drop(at, remarks=True)
    if not isinstance(edit, Set):
        return row.with_item(at, writer.named(row.items[at], edit.name))
    value = libcst.parse_expression(render_value(edit.value))
    if at >= 0:
        return row.with_item(at, row.items[at].with_changes(value=value))
    end = next((index for index, each in enumerate(row.items) if writer.is_rest(each)), len(row.items))
    return row.insert(end, writer.new(name, value))


class CallWriter:
    """Takes a call apart, and puts it together."""

    @staticmethod
    def take(call: libcst.Call) -> ItemRow[libcst.Arg]:
        """Return its arguments."""
        return ItemRow.of(call.args, call.whitespace_before_args, lambda argument: argument.whitespace_after_arg)

    @staticmethod
    def put(call: libcst.Call, row: ItemRow[libcst.Arg]) -> libcst.Call:
        """Return it with other arguments."""
        arguments = [
            argument.with_changes(comma=comma(gap), whitespace_after_arg=NOTHING)
            if parted
            else argument.with_changes(comma=libcst.MaybeSentinel.DEFAULT, whitespace_after_arg=gap)
            for argument, gap, parted in row.spaced()
        ]
        return call.with_changes(args=arguments, whitespace_before_args=row.gaps[0])

    @staticmethod
    def name(argument: libcst.Arg) -> str:
        """Return an argument's keyword; nothing if it has none."""
        return argument.keyword.value if argument.keyword else ""

    @staticmethod
    def named(argument: libcst.Arg, name: str) -> libcst.Arg:
        """Return an argument with another keyword."""
        return argument.with_changes(keyword=libcst.Name(name))

    @staticmethod
    def new(name: str, value: libcst.BaseExpression) -> libcst.Arg:
        """Return an argument."""
        return libcst.Arg(value, keyword=libcst.Name(name), equal=libcst.AssignEqual(NOTHING, NOTHING))

    @staticmethod
    def is_rest(argument: libcst.Arg) -> bool:
        """True if it is `**rest`."""
        return argument.star == "**"


class DictWriter:
    """Takes a literal dict apart, and puts it together."""

    @staticmethod
    def take(node: libcst.Dict) -> ItemRow[libcst.BaseDictElement]:
        """Return its elements."""
        return ItemRow.of(node.elements, node.lbrace.whitespace_after, lambda _: node.rbrace.whitespace_before)

    @staticmethod
    def put(node: libcst.Dict, row: ItemRow[libcst.BaseDictElement]) -> libcst.Dict:
        """Return it with other elements."""
        elements = [
            element.with_changes(comma=comma(gap) if parted else libcst.MaybeSentinel.DEFAULT)
            for element, gap, parted in row.spaced()
        ]
        # After a comma the gap is the comma's; without one it is the bracket's; with no element at all, one is enough.
        last = NOTHING if row.trailing and elements else row.gaps[-1]
        first = row.gaps[0] if elements else NOTHING
        return node.with_changes(
            elements=elements,
            lbrace=node.lbrace.with_changes(whitespace_after=first),
            rbrace=node.rbrace.with_changes(whitespace_before=last),
        )

    @staticmethod
    def name(element: libcst.BaseDictElement) -> str:
        """Return an element's key; nothing if it is not plain text."""
        key = element.key if isinstance(element, libcst.DictElement) else None
        text = key.evaluated_value if isinstance(key, libcst.SimpleString) else ""
        return text if isinstance(text, str) else ""

    @staticmethod
    def named(element: libcst.DictElement, name: str) -> libcst.DictElement:
        """Return an element with another key, quoted as before."""
        quote = element.key.quote if isinstance(element.key, libcst.SimpleString) else '"'
        return element.with_changes(key=libcst.SimpleString(f"{quote}{name}{quote}"))

    @staticmethod
    def new(name: str, value: libcst.BaseExpression) -> libcst.DictElement:
        """Return an element."""
        return libcst.DictElement(libcst.SimpleString(f'"{name}"'), value, whitespace_after_colon=SPACE)

    @staticmethod
    def is_rest(_: libcst.BaseDictElement) -> bool:
        """True if nothing may come after it: what comes last counts, so nothing is put before `**rest`."""
        return False


WRITERS: dict[type[libcst.CSTNode], Any] = {libcst.Call: CallWriter, libcst.Dict: DictWriter}
