"""The value of an expression that its source alone decides."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.job.document import Unknown
from holdfast.core.job.expressions import apply_operator, compare, evaluate, is_known, truth

HIDDEN = Unknown("nobody knows")


def value_of(text: str, **names: Any) -> Any:
    def lookup(node: ast.expr) -> Any:
        return names.get(node.id, HIDDEN) if isinstance(node, ast.Name) else HIDDEN

    return evaluate(ast.parse(text, mode="eval").body, lookup)


@pytest.mark.parametrize(
    "text",
    [
        "4 * 2 + -1",
        "[1, *(2, 3)]",
        "{'a': 1, **{'b': 2}}",
        "not []",
        "1 < 2 <= 2 != 3",
        "'a' in {'a': 1}",
        "1 if 0 else 2",
        "f'{1:>3}-{\"20240101\"!r}'",
        "'%s-%d' % ('a', 100000)",
        "'{}'.format('20240101')",
        "'a,b'.split(',')",
        "{'a': 1}.get('b', 2)",
        "dict(a=1)['a']",
        "len('abc') + max(1, 2)",
        "sorted([3, 1])",
        "'' or 'x'",
        "0 and 1",
        "'a' 'b'[0]",
    ],
)
def test_what_the_source_decides_has_the_value_that_python_gives(text: str) -> None:
    assert value_of(text) == eval(text)  # noqa: S307 - the texts are above


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "x + 1",
        "not x",
        "x or False",
        "x < 1",
        "1 if x else 2",
        "f'{x}'",
        "[*x]",
        "{x: 1}",
        "len(x)",
        "f(1)",
        "a.b",
        "1 / 0",
        "[1][5]",
        "'a' + 1",
        "int('a')",
        "'x' * 10**10",
        "9 ** 99999999",
        "'%99999999d' % 1",
        "f'{1:>99999999}'",
        "'{:{w}}'.format(1, w=99999999)",
        "lambda: 1",
        "1 @ 2",
        "1 << 99",
    ],
)
def test_what_it_does_not_decide_is_unknown(text: str) -> None:
    assert isinstance(value_of(text), Unknown)


@pytest.mark.parametrize(("text", "expected"), [("x and False", False), ("x or True", True), ("1 < x < 2 < 1", False)])
def test_what_one_part_decides_is_known_whatever_the_others_are(text: str, expected: object) -> None:
    assert value_of(text) is expected


def test_of_a_choice_after_an_unknown_value_only_its_truth_may_be_known() -> None:
    """`x or "none"` is not `True`."""
    chosen = value_of("x or 'none'")

    assert isinstance(chosen, Unknown)
    assert truth(chosen) is True


def test_a_value_that_is_not_known_keeps_its_reason() -> None:
    assert value_of("x + 1", x=HIDDEN) == HIDDEN
    assert compare([ast.Lt()], [HIDDEN, 1]) == HIDDEN
    assert truth(HIDDEN) == HIDDEN


def test_a_container_may_hold_what_is_not_known() -> None:
    assert value_of("{'a': [1, x]}") == {"a": [1, HIDDEN]}
    assert not is_known(value_of("{'a': [1, x]}"))
    assert truth(value_of("[x]")) is True


def test_a_name_that_shadows_a_builtin_is_not_the_builtin() -> None:
    assert isinstance(value_of("len('abc')", len="other"), Unknown)


PLAIN = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5)


@given(PLAIN)
def test_a_literal_is_its_own_value(value: Any) -> None:
    assert value_of(repr(value)) == value


@given(PLAIN, PLAIN, st.sampled_from([ast.Add(), ast.Mult(), ast.Mod(), ast.Pow(), ast.Lt(), ast.In(), ast.LShift()]))
def test_an_operator_never_raises(left: Any, right: Any, symbol: ast.AST) -> None:
    apply_operator(symbol, left, right)
