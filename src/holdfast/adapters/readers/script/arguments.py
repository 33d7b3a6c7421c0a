"""The arguments of one call changed as text, by LibCST: comments, quotes and layout of the others stay."""

from collections.abc import Iterable
from dataclasses import dataclass

import libcst

from holdfast.adapters.readers.script.edits import render_value
from holdfast.core.document import Edit, Remove, Set

NOTHING = libcst.SimpleWhitespace("")
SPACE = libcst.SimpleWhitespace(" ")
LINE = libcst.TrailingWhitespace(whitespace=NOTHING)


def change(source: str, edits: Iterable[Edit]) -> str | None:
    """Return a call with its arguments changed, or None where the text is no call, or has no such argument.

    >>> change("SFTConfig(a=1, b=2)", [Remove("train.a"), Set("train.c", "x")])
    'SFTConfig(b=2, c="x")'
    """
    try:
        call = libcst.parse_expression(source)
    except libcst.ParserSyntaxError:
        return None
    if not isinstance(call, libcst.Call):
        return None
    row = Row.of(call)
    for edit in edits:
        name = edit.key.rpartition(".")[2]
        if isinstance(edit, Set):
            row.put(name, libcst.parse_expression(render_value(edit.value)))
        elif name not in row.names:
            return None
        elif isinstance(edit, Remove):
            row.drop(name)
        else:
            row.rename(name, edit.name)
    return libcst.Module([]).code_for_node(row.apply_to(call))


@dataclass
class Row:
    """A call's arguments, apart from what stands between them.

    Attributes:
        arguments: The arguments.
        gaps: What stands before the first, and after each: spaces, or line breaks with comments.
        trailing: Whether a comma stands after the last.
    """

    arguments: list[libcst.Arg]
    gaps: list[libcst.BaseParenthesizableWhitespace]
    trailing: bool

    @classmethod
    def of(cls, call: libcst.Call) -> "Row":
        """Take a call's arguments apart."""
        arguments = list(call.args)
        return cls(
            arguments=arguments,
            gaps=[call.whitespace_before_args, *map(_gap, arguments)],
            trailing=bool(arguments) and isinstance(arguments[-1].comma, libcst.Comma),
        )

    @property
    def names(self) -> list[str]:
        """The keyword of each argument; empty where it has none."""
        return [argument.keyword.value if argument.keyword else "" for argument in self.arguments]

    def put(self, name: str, value: libcst.BaseExpression) -> None:
        """Give an argument a value; a new one comes last, but before `**rest`."""
        if name in self.names:
            at = self.names.index(name)
            self.arguments[at] = self.arguments[at].with_changes(value=value)
            return
        at = next((index for index, each in enumerate(self.arguments) if each.star == "**"), len(self.arguments))
        equal = libcst.AssignEqual(NOTHING, NOTHING)
        self.arguments.insert(at, libcst.Arg(value, keyword=libcst.Name(name), equal=equal))
        self.gaps[at : at + 1] = self._split(at)

    def drop(self, name: str) -> None:
        """Take an argument away, with the comment on its line."""
        at = self.names.index(name)
        before, after = self.gaps[at : at + 2]
        keeps = at == 0 and not isinstance(before, libcst.ParenthesizedWhitespace) and not _remarked(after)
        self.gaps[at : at + 2] = [before if keeps else _joined(before, after, last=at == len(self.arguments) - 1)]
        del self.arguments[at]

    def rename(self, name: str, new: str) -> None:
        """Give an argument another name."""
        at = self.names.index(name)
        self.arguments[at] = self.arguments[at].with_changes(keyword=libcst.Name(new))

    def apply_to(self, call: libcst.Call) -> libcst.Call:
        """Return the call with these arguments."""
        final = len(self.arguments) - 1
        spaced = [
            _spaced(argument, gap, comma=index < final or self.trailing)
            for index, (argument, gap) in enumerate(zip(self.arguments, self.gaps[1:], strict=True))
        ]
        return call.with_changes(args=spaced, whitespace_before_args=self.gaps[0])

    def _split(self, at: int) -> list[libcst.BaseParenthesizableWhitespace]:
        """Return what stands before and after a new argument, in the place of the gap that it comes into."""
        old = self.gaps[at]
        broken = [gap for gap in self.gaps[:at] if isinstance(gap, libcst.ParenthesizedWhitespace)]
        if not broken:
            return [SPACE if at else NOTHING, old]
        if not isinstance(old, libcst.ParenthesizedWhitespace):
            return [broken[-1].with_changes(first_line=LINE, empty_lines=[]), old]
        return [broken[-1].with_changes(first_line=old.first_line, empty_lines=[]), old.with_changes(first_line=LINE)]


def _gap(argument: libcst.Arg) -> libcst.BaseParenthesizableWhitespace:
    """Return what stands between an argument and the next, or the closing bracket."""
    comma = argument.comma
    return comma.whitespace_after if isinstance(comma, libcst.Comma) else argument.whitespace_after_arg


def _joined(
    first: libcst.BaseParenthesizableWhitespace, second: libcst.BaseParenthesizableWhitespace, *, last: bool
) -> libcst.BaseParenthesizableWhitespace:
    """Return what is left between two arguments when the one between them is gone."""
    if not isinstance(first, libcst.ParenthesizedWhitespace):
        return second
    if isinstance(second, libcst.ParenthesizedWhitespace):
        return second.with_changes(first_line=first.first_line)
    return second if last and not _remarked(first) else first


def _remarked(gap: libcst.BaseParenthesizableWhitespace) -> bool:
    """Tell whether a comment stands at the end of the line."""
    return isinstance(gap, libcst.ParenthesizedWhitespace) and gap.first_line.comment is not None


def _spaced(argument: libcst.Arg, gap: libcst.BaseParenthesizableWhitespace, *, comma: bool) -> libcst.Arg:
    if comma:
        return argument.with_changes(comma=libcst.Comma(whitespace_after=gap), whitespace_after_arg=NOTHING)
    return argument.with_changes(comma=libcst.MaybeSentinel.DEFAULT, whitespace_after_arg=gap)
