"""A fix changes the arguments that it names, and leaves every other character of the script as it was."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.script.arguments import change
from holdfast.core.job.document import Remove, Rename, Set, ValueEdit

TALL = """SFTConfig(
    # why
    a=1,  # one
    # more
    b=2,
)"""
NAMES = st.lists(st.sampled_from(list("abcdefg")), unique=True, max_size=5)
GAPS = st.sampled_from(["", " ", "\n", "\n    ", "  # note\n    ", "\n    # above\n    "])


@pytest.mark.parametrize(
    ("source", "edit", "result"),
    [
        ("f(a=1)", Remove("t.a"), "f()"),
        ("f(a=1, b=2)", Remove("t.a"), "f(b=2)"),
        ("f(a=1, b=2)", Remove("t.b"), "f(a=1)"),
        ("f(x, *y, a=1, **k)", Remove("t.a"), "f(x, *y, **k)"),
        ("f()", Set("t.a", "x"), 'f(a="x")'),
        ("f(x, **k)", Set("t.a", None), "f(x, a=None, **k)"),
        ("f(a='x')", Set("t.a", "y"), 'f(a="y")'),
        ("f(a = 'x')", Rename("t.a", "b"), "f(b = 'x')"),
        ("f(a=1,\n  b=2)", Remove("t.a"), "f(b=2)"),
        ("f(a=1,\n  b=2)", Set("t.c", 3), "f(a=1,\n  b=2,\n  c=3)"),
        ("f(\n    a=1\n)", Set("t.c", [1]), "f(\n    a=1,\n    c=[1]\n)"),
        (TALL, Remove("t.a"), "SFTConfig(\n    # why\n    # more\n    b=2,\n)"),
        (TALL, Remove("t.b"), "SFTConfig(\n    # why\n    a=1,  # one\n    # more\n)"),
        (TALL, Set("t.c", 3), TALL.replace("b=2,\n", "b=2,\n    c=3,\n")),
    ],
)
def test_arguments_come_and_go_in_the_layout_of_the_call(source: str, edit: ValueEdit, result: str) -> None:
    """Commas, comments, indentation and the closing bracket stand where a person would have put them."""
    assert change(source, [edit]) == result


@pytest.mark.parametrize("source", ["settings", "{**a}", "f(a=", "f(**settings)", "[f(a=1)]"])
def test_what_is_not_written_as_an_argument_is_not_taken_away(source: str) -> None:
    """A name that does not stand in the call itself cannot be removed from it."""
    assert change(source, [Remove("t.a")]) is None


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A call of some keyword arguments, laid out anyhow."""
    names = draw(NAMES)
    written = "".join(f"{draw(GAPS)}{name}={index}," for index, name in enumerate(names))
    trailing = draw(st.booleans()) or not names
    return f"f({written if trailing else written[:-1]}{draw(GAPS)})", names


@given(calls(), st.data())
def test_only_the_named_argument_changes(call: tuple[str, list[str]], data: st.DataObject) -> None:
    """Whatever the layout, the call has the same other arguments afterwards, in the same order, and no comment of theirs is lost."""
    source, names = call
    name = data.draw(st.sampled_from([*names, "z"]))
    edits: list[ValueEdit] = [Set(f"t.{name}", 99), *([Remove(f"t.{name}")] if name in names else [])]
    edit = data.draw(st.sampled_from(edits))
    changed = change(source, [edit])

    assert changed is not None
    assert isinstance(edit, Set) is (f"{name}=99" in changed)
    others = [each for each in written(source) if each[0] != name]
    assert [each for each in written(changed) if each[0] != name] == others
    if isinstance(edit, Set) and name in names:
        assert changed == source.replace(f"{name}={names.index(name)}", f"{name}=99")


def written(source: str) -> list[tuple[str | None, str]]:
    call = ast.parse(source, mode="eval").body
    assert isinstance(call, ast.Call)
    return [(keyword.arg, ast.unparse(keyword.value)) for keyword in call.keywords]
