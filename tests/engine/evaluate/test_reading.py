"""What a dataset is evaluated for follows from its columns; a row that does not fit is told, and left out."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from holdfast.catalog.formats import ColumnSettings, recognise, types_of_rows
from holdfast.core.evaluation import Example, TaskName
from holdfast.engine.evaluate.measuring import default_metrics
from holdfast.engine.evaluate.reading import ReadRows, find_tasks, read_rows
from holdfast.engine.mapping.found import DataProfile, lacking_rows

Rows = list[dict[str, Any]]
USER = [{"role": "user", "content": "2 + 2?"}]
FOUR = [{"role": "assistant", "content": "4"}]


def profile(rows: Rows, *, chat: bool = True) -> DataProfile:
    columns, settings = types_of_rows(rows), ColumnSettings(chat_template=chat)
    return DataProfile(
        columns=columns,
        samples=rows,
        shape=recognise(columns, rows, settings),
        settings=settings,
        lacking=lacking_rows(columns, rows),
    )


def read(rows: Rows, *, labels: Sequence[str] = (), chat: bool = True) -> tuple[str, ReadRows]:
    """Read rows for the first task that they fit."""
    task, reading = next(iter(find_tasks(profile(rows, chat=chat), labels).items()))
    return task, read_rows(reading, dict(enumerate(rows)))


def first(rows: Rows, **options: Any) -> tuple[str, Example]:
    task, found = read(rows, **options)
    return task, found.examples[0]


ANSWERED: Mapping[str, dict[str, Any]] = {
    "questions": {"question": "2 + 2?", "answer": "4"},
    "numbers": {"question": "2 + 2?", "answer": 4},
    "prompt-completion": {"prompt": "2 + 2?", "completion": "4"},
    "prompt and solution": {"prompt": "2 + 2?", "solution": "4"},
    "chat": {"prompt": USER, "completion": FOUR},
    "instructions": {"instruction": "2 + 2?", "input": "", "output": "4"},
}


@pytest.mark.parametrize("name", ANSWERED)
def test_answers_have_a_prompt_and_a_reference(name: str) -> None:
    task, example = first([ANSWERED[name]] * 3)

    assert task == "answers"
    assert "2 + 2?" in str(example.prompt)
    assert example.reference == "4"


def test_questions_are_messages_only_for_a_model_with_a_template() -> None:
    """As the mapping that `inspect` proposes has them."""
    rows = [{"question": "2 + 2?", "answer": "4"}]

    assert first(rows)[1].prompt == USER
    assert first(rows, chat=False)[1].prompt == "2 + 2?\n\n"


RIGHT: Mapping[str, dict[str, Any]] = {
    "number": {"question": "2 + 2?", "choices": ["3", "4"], "answer": 1},
    "letter": {"question": "2 + 2?", "options": ["three", "four"], "answer": "B"},
    "text": {"question": "2 + 2?", "choices": ["3", "4"], "answer": "4"},
    "names": {"question": "2 + 2?", "choices": {"text": ["3", "4"], "label": ["1", "2"]}, "answerKey": "2"},
    "endings": {"ctx": "2 + 2 is", "endings": ["three", "four"], "label": "1"},
    "a column each": {"question": "2 + 2?", "A": "three", "B": "four", "C": "nine", "answer": "B"},
    "numbers, a column each": {"question": "2 + 2?", "option_a": 3, "option_b": 4, "answer": "b"},
    "counted from 1": {"sentence": "2 + 2 is _", "option1": "three", "option2": "four", "answer": "2"},
    "counted from 0": {"premise": "2 + 2 is", "choice1": "three", "choice2": "four", "label": 1},
    "text of one": {"question": "2 + 2?", "A": "three", "B": "four", "answer": "four"},
    "a list as JSON": {"question": "2 + 2?", "choices": '["three", "four"]', "answer": "four"},
}


@pytest.mark.parametrize("name", RIGHT)
def test_choices_know_the_right_one(name: str) -> None:
    other = {**RIGHT[name], "label": 0} if name == "counted from 0" else RIGHT[name]

    task, example = first([RIGHT[name], other])

    assert (task, example.right) == ("choices", 1)
    assert example.reference == example.options[1]
    assert [each.answer for each in example.scored] == list(example.options)


DIGITS = ["1", "0", "7", "3"]
WORDS = ["cat", "dog", "cow", "ape"]
NAMINGS: Mapping[str, tuple[list[list[str]], list[Any], list[int]]] = {
    "numbers count the choices": ([DIGITS, ["13", "12", "4", "9"], ["5", "4", "1", "11"]], [1, 3, 1], [1, 3, 1]),
    "also where each is a choice": ([["3", "2", "1", "0"]] * 4, [0, 1, 2, 3], [0, 1, 2, 3]),
    "numbers that are too large are choices": ([DIGITS, ["13", "12", "1", "9"], DIGITS], [7, 12, 1], [2, 1, 0]),
    "texts of numbers are choices": ([DIGITS, ["3", "2", "1", "0"]], ["3", "0"], [3, 3]),
    "texts of numbers count texts": ([WORDS, DIGITS, WORDS], ["0", "3", "1"], [0, 3, 1]),
    "letters count letters": ([["B", "A", "D", "C"], WORDS, ["x", "A", "y", "z"]], ["A", "D", "B"], [0, 3, 1]),
    "numbers from 1 to the last": ([WORDS, ["a", "b"], WORDS, WORDS], [1, 2, 4, 3], [0, 1, 3, 2]),
    "and texts of them": ([WORDS, WORDS, ["a", "b", "c"]], ["4", "2", "3"], [3, 1, 2]),
    "also beside numbers": ([["13", "12", "4", "9"], ["5", "6", "1"], WORDS], [4, 1, 2], [3, 0, 1]),
    "not where one is 0": ([WORDS, WORDS, ["a", "b", "c"]], [1, 0, 2], [1, 0, 2]),
    "not where none is the last": ([WORDS, WORDS, ["a", "b", "c"]], [1, 3, 2], [1, 3, 2]),
    "not where one is beyond": ([WORDS, WORDS, WORDS], [1, 3, 5], [1, 3]),
    "not where they are choices": ([["3", "4", "1", "2"], ["2", "3", "4", "1"]], [4, 1], [1, 3]),
    "a number that is too long is none": ([WORDS, WORDS, WORDS], ["1", "9" * 5000, "3"], [1, 3]),
    "a number that names none decides nothing": ([DIGITS, WORDS, WORDS], [1, 2, -1], [1, 2]),
}


@pytest.mark.parametrize("name", NAMINGS)
@pytest.mark.parametrize("task", ["choices", "answers", "likelihood"])
def test_the_right_choice_is_named_in_one_way_in_all_rows(name: str, task: TaskName) -> None:
    """Also where the model writes the answer, whose reference is the text of the right choice."""
    choices, answers, right = NAMINGS[name]
    rows = [{"question": "Which?", "choices": c, "answer": a} for c, a in zip(choices, answers, strict=True)]

    found = read_rows(find_tasks(profile(rows))[task], dict(enumerate(rows)))

    wanted = [choices[at][number] for at, number in enumerate(right)]
    texts = (
        [example.scored[-1 if example.right is None else example.right].answer for example in found.examples]
        if task != "answers"
        else [each.reference for each in found.examples]
    )
    assert [each if isinstance(each, str) else each[-1]["content"] for each in texts] == wanted
    if task == "choices":
        assert [each.right for each in found.examples] == right


@pytest.mark.parametrize("answers", [["cat", "B", "cow"], [3, "dog", "C"], ["0", "cat", "dog"]])
@pytest.mark.parametrize("task", ["choices", "answers"])
def test_a_column_that_names_choices_in_different_ways_is_refused(answers: list[Any], task: TaskName) -> None:
    rows = [{"question": "Which?", "choices": WORDS, "answer": each} for each in answers]

    found = read_rows(find_tasks(profile(rows))[task], dict(enumerate(rows)))

    assert (found.examples, found.unfit) == ((), 3)
    assert "`answer` names the right choice in different ways" in found.because


@pytest.mark.parametrize("answer", ["The answer is (B), as it barks.", "B) dog", "2) dog"])
def test_a_text_that_names_no_choice_is_an_answer_itself(answer: str) -> None:
    """Choices are read only of it, and only where it is read: not for the loss of messages, nor for prompts alone."""
    row = {"question": "Which barks?", "options": WORDS, "answer": answer}
    talk = {"messages": [*USER, *FOUR], **row}

    references = [
        read_rows(find_tasks(profile([each]))["answers"], {0: each}).examples[0].reference for each in (row, talk)
    ]
    loss = read_rows(find_tasks(profile([talk]))["likelihood"], {0: talk})

    assert references[0] == answer
    assert references[1] in (answer, "4")
    assert loss.examples[0].scored[0].answer == FOUR


@pytest.mark.parametrize("hidden", ["", -1, "-2", "E", 9])
def test_hidden_labels_hide_no_prompts(hidden: Any) -> None:
    rows = [{"question": "Which barks?", "options": WORDS, "answer": hidden}] * 2
    tasks = find_tasks(profile(rows))

    assert len(read_rows(tasks["prompts"], dict(enumerate(rows))).examples) == 2
    assert "answers" not in tasks or not read_rows(tasks["answers"], dict(enumerate(rows))).examples


@pytest.mark.parametrize("label", [-1, 9])
def test_a_label_that_is_only_kept_hides_no_solution(label: int) -> None:
    row = {"question": "Which barks?", "options": WORDS, "solution": "It is the dog.", "label": label}

    assert read_rows(find_tasks(profile([row]))["answers"], {0: row}).examples[0].reference == "It is the dog."


NUMBERS = ["12", "15", "3", "7"]


@pytest.mark.parametrize(
    ("options", "usual", "slip"),
    [(NUMBERS, "15", "2"), (NUMBERS, "15", "C"), (WORDS, "B", "cow"), (WORDS, 1, "C"), (WORDS, "1", "ape")],
)
def test_a_slip_in_one_label_is_one_row_that_is_unfit(options: list[str], usual: Any, slip: Any) -> None:
    """Rows that name choices otherwise are left out if they are 1 in 100; if they are more, nothing is known of any."""
    good, bad = ({"question": "Which?", "options": options, "answer": each} for each in (usual, slip))
    few, many = [*[good] * 60, bad, *[good] * 39], [*[good] * 60, bad, bad, *[good] * 39]

    found, mixed = (read_rows(find_tasks(profile(each))["choices"], dict(enumerate(each))) for each in (few, many))

    assert ({each.right for each in found.examples}, found.first) == ({1}, (60,))
    assert "in the way that nearly all rows do" in found.because
    assert mixed.unfit == len(many)


def test_a_letter_stays_the_answer_to_a_question_that_shows_the_choices() -> None:
    shown = {"question": "Which barks?\nA. cat\nB. dog", "choices": ["cat", "dog"], "answer": "B"}
    hidden = {**shown, "question": "Which barks?"}

    references = [
        read_rows(find_tasks(profile([row]))["answers"], {0: row}).examples[0].reference for row in (shown, hidden)
    ]

    assert references == ["B", "dog"]


def test_columns_of_one_letter_are_no_choices_unless_the_answer_is_one() -> None:
    assert first([{"question": "a + b?", "a": 3, "b": 1, "answer": 4}])[0] == "answers"
    assert first([{"question": "a + b?", "a": 3, "b": 1, "answer": 1}])[0] == "answers"


def test_labels_are_those_of_all_rows() -> None:
    """Also of rows that are sorted by label; many different ones are no labels, and one alone tells nothing."""
    rows = [{"text": f"text {at}", "label": "neg" if at < 300 else "pos"} for at in range(400)]
    data = profile(rows[:200])
    sorted_rows = read_rows(find_tasks(data, rows=rows)["classes"], dict(enumerate(rows)))
    alone = read_rows(find_tasks(data)["classes"], {0: rows[0]})

    assert (len(sorted_rows.examples), sorted_rows.examples[0].options) == (400, ("neg", "pos"))
    assert alone.because == "all rows have the label neg, so there is nothing to classify"
    assert "classes" not in find_tasks(data, rows=[{"text": "a", "label": at / 7} for at in range(300)])


def test_other_tasks() -> None:
    """Preferences, labels and conversations."""
    preference = first([{"prompt": "2 + 2?", "chosen": "4", "rejected": "5"}])
    implicit = first([{"chosen": [*USER, *FOUR], "rejected": [*USER, {"role": "assistant", "content": "5"}]}])
    labels = first([{"text": "good", "label": 1}, {"text": "bad", "label": 0}], labels=("neg", "pos"))
    messages = first([{"messages": [*USER, *FOUR, *USER, *FOUR]}])

    assert [each.answer for each in preference[1].scored] == ["4", "5"]
    assert (implicit[0], implicit[1].scored[0].prompt, implicit[1].scored[0].answer) == ("preference", USER, FOUR)
    assert (labels[0], labels[1].reference, labels[1].options) == ("classes", "pos", ("neg", "pos"))
    assert (messages[0], [len(each.prompt) for each in messages[1].scored]) == ("likelihood", [1, 3])


def test_conversations_can_be_answered_too() -> None:
    """Where a metric of answers is asked for."""
    assert {"likelihood", "answers"} <= find_tasks(profile([{"messages": [*USER, *FOUR]}])).keys()


BAD: Mapping[str, tuple[Rows, str]] = {
    "null": ([{"prompt": "2?", "completion": None}], "`completion` is null"),
    "bytes": ([{"prompt": "2?", "completion": b"4"}], "`completion` is b'4' (bytes)"),
    "no prompt": ([{"prompt": "", "completion": "4"}], "`prompt` is empty"),
    "bad one": ([{"prompt": "2?", "completion": "5", "label": False}], "its label says that the answer is a bad one"),
    "no such choice": ([{"question": "2?", "choices": ["3", "4"], "answer": "E"}], "`answer` is 'E'"),
    "label": ([{"text": "fine", "label": "good"}], "its label is 'good' (str), and the labels are neg, pos"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_row_that_does_not_fit_is_left_out(name: str) -> None:
    """With its number, and what is wrong with it; the others are read."""
    bad, because = BAD[name]
    good: dict[str, Any] = {
        "no such choice": RIGHT["number"],
        "label": {"text": "fine", "label": "pos"},
    }.get(name, {"prompt": "2?", "completion": "4", **({"label": True} if name == "bad one" else {})})

    _, found = read([good, *bad, good], labels=("neg", "pos") if name == "label" else ())

    assert [each.row for each in found.examples] == [0, 2]
    assert (found.unfit, found.first) == (1, (1,))
    assert because in found.because


@pytest.mark.parametrize(
    ("references", "more"),
    [
        (["yes", "no", "no", "yes"], {"accuracy", "macro_f1"}),
        (["4", "5", "5", "4"], {"number_match"}),
        (['{"a": 1}', "[1]"], {"number_match", "json_valid", "json_equal"}),
        (["Paris", "Rome"], set()),
    ],
)
def test_metrics_follow_from_the_references(references: list[str], more: set[str]) -> None:
    """Labels, numbers and JSON have their own, beside those of any text."""
    named = set(default_metrics("answers", [Example(row=0, reference=each) for each in references]))

    assert named - {"exact_match", "normalized_match", "contains", "f1", "rouge1", "rougeL", "bleu", "chrf"} == more
