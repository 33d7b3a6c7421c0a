"""Leaked rows, groups of rows, and the conditions that figures are held against."""

from typing import Any

import pytest

from holdfast.catalog.metrics import parse_at_least
from holdfast.core.evaluation import Example, HarnessCall, ModelOutput, ScoredText
from holdfast.engine.evaluate.breakdown import groups_of
from holdfast.engine.evaluate.figures import EvaluatedRows, figures_of
from holdfast.engine.evaluate.gates import judge_at_least, judge_not_worse
from holdfast.engine.evaluate.leakage import LeakedRows, find_leaked
from holdfast.engine.evaluate.samples import worst_rows

LONG = "the quick brown fox jumps over the lazy dog and then it sleeps until noon in the sun"


def example(row: int, text: str, reference: str = "", **columns: Any) -> Example:
    return Example(row=row, prompt=text, reference=reference, columns=columns)


def test_rows_of_the_training_data_are_found() -> None:
    """Whole, also within a longer row; nearly; and short ones only as a whole."""
    rows = [
        example(0, LONG),
        example(1, LONG.replace("noon in the sun", "dawn breaks over the hills")),
        example(2, "a short row", "yes"),
        example(3, "a short", "list"),
        example(4, "something else that stands nowhere at all in what the model was trained on"),
        example(5, ""),
    ]
    training: list[dict[str, Any]] = [
        {"messages": [{"role": "user", "content": f"Say: {LONG.upper()}!"}]},
        {"q": "A short row", "a": "Yes."},
    ]

    found = find_leaked(rows, training)

    assert (found.exact, found.near) == ((0, 2), (1,))


@pytest.mark.parametrize("words", [1, 3, 5, 9, 30])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_chats_are_found_however_short_their_messages_are(words: int, turns: int) -> None:
    """Of a chat, each turn of the assistant is scored after all that stands before it."""
    said = [" ".join(f"{who}{turn}w{word}" for word in range(words)) for turn in range(turns) for who in "ab"]
    messages = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(said)]
    scored = tuple(ScoredText(messages[:place], messages[place]["content"]) for place in range(1, 2 * turns, 2))
    row = Example(row=0, prompt=messages[:-1], reference=said[-1], scored=scored)

    assert find_leaked([row], [{"messages": messages}]).exact == (0,)
    assert find_leaked([row], [{"messages": [{"role": "user", "content": "something else"}]}]).exact == ()


@pytest.mark.parametrize("question", ["What is 2 plus 3?", LONG])
@pytest.mark.parametrize("columns", [True, False])
def test_rows_of_benchmark_tasks_are_found_whatever_else_is_in_their_prompts(question: str, *, columns: bool) -> None:
    """Examples, the chat template and the task's own words are no part of a row; its question is, and the right answer."""
    own = f"Question: {question}\nAnswer:" if columns else question
    row = Example(
        row=0,
        prompt=f"<|user|>Question: What is 1 plus 1?\nAnswer:<|assistant|>2<|user|>{own}",
        reference="the number five",
        columns={"id": 2, "question": question, "choices": ["the number four", "the number five"]} if columns else {},
        calls=(HarnessCall(type="loglikelihood", args=("", "")),),
        own_text=own,
    )

    assert find_leaked([row], [{"q": question, "a": "the number five"}]).exact == (0,)
    assert find_leaked([row], [{"q": "What is 1 plus 1?", "a": "2"}]) == LeakedRows()


def test_groups() -> None:
    """By a column, by label, and by quarters of lengths or of many numbers."""
    rows = [example(at, "x" * (at + 1), "even" if at % 2 == 0 else "odd", level=at // 50, size=at) for at in range(100)]

    assert groups_of("level", rows)[49:51] == ["0", "1"]
    assert groups_of("label", rows)[:2] == ["even", "odd"]
    assert groups_of("length", rows)[0] == "1 to 25.75 characters"
    assert len(set(groups_of("size", rows))) == 4


def evaluated(right: int, base: int, rows: int = 100, **options: Any) -> EvaluatedRows:
    """Return rows of which a model answers the first ones right, and its base others."""
    given = [ModelOutput(row=at, text="yes" if at < right else "no") for at in range(rows)]
    of_base = [ModelOutput(row=at, text="yes" if at < base else "no") for at in range(rows)]
    examples = [example(at, f"row {at}", "yes", level=at % 2) for at in range(rows)]
    return EvaluatedRows(
        dataset="d", split="test", task="answers", examples=examples, outputs=given, base=of_base,
        metrics=("exact_match",), **options,
    )  # fmt: skip


def test_figures_of_all_and_of_parts() -> None:
    figures = figures_of(evaluated(60, 60), ["level", "nothing"])
    without = figures_of(evaluated(60, 60), leaving_out=frozenset(range(20)))

    assert [(each.where, each.rows) for each in figures] == [(None, 100), ({"level": "0"}, 50), ({"level": "1"}, 50)]
    assert (figures[0].value, without[0].value, without[0].rows) == (0.6, 0.5, 80)


def test_rows_with_the_same_prompt_belong_together() -> None:
    """And those that share the value of the column that is named for it."""
    rows = [example(at, f"row {at // 2}", "yes", source=at % 5) for at in range(12)]
    outputs = [ModelOutput(row=at, text="yes" if at % 4 else "no") for at in range(12)]

    def interval(cluster: str) -> str:
        found = EvaluatedRows(
            dataset="d", split="test", task="answers", examples=rows, outputs=outputs, metrics=("f1",), cluster=cluster
        )
        return figures_of(found)[0].interval

    assert interval("") == "bootstrap 95 % over 6 clusters"
    assert interval("source") == "bootstrap 95 % over 5 clusters"


@pytest.mark.parametrize(("right", "passed"), [(95, True), (65, False), (30, False)])
def test_a_bound_is_held_against_the_interval(right: int, passed: bool) -> None:
    """65 of 100 may as well be less than 60 %."""
    gate = parse_at_least("exact_match=0.6")
    assert gate
    (judged,) = judge_at_least(gate, figures_of(evaluated(right, 0)), lower_is_better=())

    assert (judged.passed, judged.dataset) == (passed, "d")
    assert judged.because.startswith(f"exact_match is 0.{right}".rstrip("0"))


def test_a_bound_of_a_metric_that_is_not_there_is_not_met() -> None:
    gate = parse_at_least("f1=0.1")
    assert gate
    assert [each.passed for each in judge_at_least(gate, figures_of(evaluated(90, 90)), lower_is_better=())] == [False]


@pytest.mark.parametrize(("right", "passed"), [(60, True), (57, True), (30, False)])
def test_chance_makes_no_model_worse(right: int, passed: bool) -> None:
    (judged,) = judge_not_worse("base", figures_of(evaluated(right, 60)))

    assert judged.passed is passed


def test_the_worst_rows_are_those_that_the_base_answers_better() -> None:
    """Then those that both get wrong."""
    worst = worst_rows(evaluated(2, 4, rows=6))

    assert [(each.row, each.value, each.base_value) for each in worst[:3]] == [(2, 0, 1), (3, 0, 1), (4, 0, 0)]
    assert (worst[0].answer, worst[0].base_answer, worst[0].reference) == ("no", "yes", "yes")


def test_a_row_that_could_not_be_better_is_none_of_the_worst() -> None:
    assert not worst_rows(evaluated(6, 6, rows=6))
    assert [each.row for each in worst_rows(evaluated(5, 6, rows=6))] == [5]
