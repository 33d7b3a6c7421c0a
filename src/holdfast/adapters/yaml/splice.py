"""The least a YAML text must change to say something else: comments, quotes, order and layout stay."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.adapters.yaml.page import SourceLines, Splice
from holdfast.adapters.yaml.render import STEP, render_entry, render_inline, render_lines
from holdfast.adapters.yaml.tree import Branch, Child, Leaf, after_colon, says, value_of

GAP = re.compile(r"\s*,?\s*")
COMMA = re.compile(r"\s*,")

Step = tuple[Splice, ...]


def steps(page: SourceLines, child: Child, value: Any, *, flow: bool = False) -> Iterator[Step]:
    """Yield steps towards an entry that says the value. After each the text has to be read anew.

    Args:
        page: The text.
        child: An entry of its tree.
        value: What it should say.
        flow: Whether the entry stands in brackets.
    """
    node = child.node
    if says(node, value):
        return
    if isinstance(node, Branch) and _alike(node, value):
        yield from _steps_within(page, node, value)
    else:
        yield _replace(page, child, value, flow=flow)


def rename(key: Leaf, name: str) -> Step:
    """Return the step that gives a key another name, in the quotes it has."""
    return (Splice(key.start, key.end, render_inline(name, key.quote)),)


def _steps_within(page: SourceLines, branch: Branch, value: Any) -> Iterator[Step]:
    wanted: Mapping[str | int, Any] = dict(enumerate(value)) if branch.is_list else value
    for name, entry in branch.children.items():
        if name in wanted:
            yield from steps(page, entry, wanted[name], flow=branch.flow)
    yield from (_insert(page, branch, name, wanted[name]) for name in wanted if name not in branch.children)
    entries = list(branch.children.values())
    yield from ((_remove(page, entries, at),) for at, name in enumerate(branch.children) if name not in wanted)


def _alike(node: Branch, value: Any) -> bool:
    """True if a value can be had by changes within a node: mappings, or lists with new entries at the end."""
    if not node.is_list:
        return isinstance(value, Mapping) and bool(value or node.flow)
    old = value_of(node)
    return isinstance(value, list) and (len(value) == len(old) or value[: len(old)] == old)


def _replace(page: SourceLines, child: Child, value: Any, *, flow: bool) -> Step:
    node, key = child.node, child.key
    if isinstance(node, Leaf):
        return (_replace_leaf(page, child, node, value, flow=flow),)
    inline = render_inline(value)
    if node.flow or key is None:
        return (Splice(node.start, node.end, inline),)
    here = after_colon(page.text, key)
    return (Splice(here, here, f" {inline}"), page.without_lines(node.start, node.end))


def _replace_leaf(page: SourceLines, child: Child, leaf: Leaf, value: Any, *, flow: bool) -> Splice:
    """Write over a value, or where none is; a mapping there gets lines of its own, if there can be lines."""
    key = child.key
    if leaf.start < leaf.end:
        return Splice(leaf.start, leaf.end, render_inline(value, leaf.quote))
    if key and not flow and isinstance(value, Mapping) and value and page.trailing(child):
        return page.with_lines(leaf.end, page.column(key.start) + len(STEP), render_lines(value))
    colon = ":" if key and after_colon(page.text, key) == key.end else ""
    return Splice(leaf.start, leaf.end, f"{colon} {render_inline(value)}")


def _insert(page: SourceLines, branch: Branch, name: str | int, value: Any) -> Step:
    """Write a new entry after the last one, on a line of its own if that has one."""
    inline = render_inline(value) if branch.is_list else f"{render_inline(name)}: {render_inline(value)}"
    if not branch.children:
        return (Splice(branch.start + 1, branch.start + 1, inline),)
    last = list(branch.children.values())[-1]
    end = last.node.end
    if not branch.flow:
        lines = [f"- {inline}"] if branch.is_list else render_entry(str(name), value)
        return (page.with_lines(end, branch.column, lines),)
    rest = page.trailing(last) if page.begins_line(last) else None
    if rest is None:
        blank = " " * page.text.endswith(":", 0, end)
        return (Splice(end, end, f"{blank}, {inline}"),)
    if rest["comma"]:
        return (page.with_lines(end, page.column(last.start), [f"{inline},"]),)
    return (Splice(end, end, ","), page.with_lines(end, page.column(last.start), [inline]))


def _remove(page: SourceLines, entries: list[Child], index: int) -> Splice:
    """Take one of several entries away: its lines if it has them to itself, and no other's comment."""
    child, text = entries[index], page.text
    start, end = child.start, child.node.end
    if page.begins_line(child) and page.trailing(child):
        return page.without_lines(start, end)
    if index + 1 < len(entries):
        following = entries[index + 1].start
        return Splice(start, following if GAP.fullmatch(text, end, following) else _past_comma(text, end), "")
    before = entries[index - 1].node.end if index else start
    if index and GAP.fullmatch(text, before, start):
        return Splice(before, end, "")
    return Splice(start, _past_comma(text, end), "")


def _past_comma(text: str, offset: int) -> int:
    comma = COMMA.match(text, offset)
    return comma.end() if comma else offset
