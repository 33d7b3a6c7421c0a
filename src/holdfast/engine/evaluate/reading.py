"""What a dataset can be evaluated for, by its columns: the same readings that `inspect` proposes mappings from."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.catalog.formats import judge
from holdfast.core.evaluation import Example, Prompt, ScoredText, TaskName
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import Scalar, Type
from holdfast.core.text.numbers import is_whole
from holdfast.engine.evaluate.choices import ChoiceColumns, find_choices, read_choice, unnamed_choice, with_right_text
from holdfast.engine.inspect.made_completions import ANSWERS as SOLUTIONS
from holdfast.engine.mapping import propose
from holdfast.engine.mapping.applying import map_each
from holdfast.engine.mapping.found import DataProfile
from holdfast.engine.mapping.readings import RESULTS, WHOLE

Row = Mapping[str, Any]
LABELS: Final = ("label", "labels", "class", "category")
TEXTS: Final = (*WHOLE, "sentence", "review", "prompt", "question", "input")
"""Names of the text that a label belongs to, the surest first."""
FIRST: Final = 5
"""Rows that are named of those that cannot be used."""
MOST_CLASSES: Final = 200
"""Different labels; more are no classes, but numbers or names."""
DIGITS: Final = 15


class UnfitError(ValueError):
    """Why a row, or a dataset, cannot be evaluated for a task, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReading:
    """How rows become examples of a task.

    Attributes:
        task: The task.
        source: The mapping that goes over the rows first; None if they are read as they are.
        read: Makes an example of a row; raises UnfitError.
        choices: The columns of choices of which the right one is the answer; None if there are none.
    """

    task: TaskName
    source: str | None = None
    read: Callable[[Row], Example]
    choices: ChoiceColumns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRows:
    """The rows of a dataset as examples.

    Attributes:
        examples: Those that can be evaluated.
        unfit: How many cannot.
        first: The numbers of the first of them.
        because: Why the first of them cannot.
    """

    examples: tuple[Example, ...]
    unfit: int = 0
    first: tuple[int, ...] = ()
    because: str = ""


def find_tasks(
    data: DataProfile, model_labels: Sequence[str] = (), rows: Iterable[Row] = ()
) -> dict[TaskName, TaskReading]:
    """Return the tasks that a dataset can be evaluated for, the most telling first.

    Args:
        data: The dataset, with whether the model has a chat template in its settings.
        model_labels: The labels of the model's own head; none of a model that writes.
        rows: All of its rows, whose labels are collected: rows that are sorted by label have few in the samples.
    """
    chat = data.settings.chat_template is not False
    rows = rows or data.samples
    choices = find_choices(data, rows)
    readers = (
        _choices(choices, chat=chat) if choices else None,
        _preference(data),
        _classes(data, model_labels, rows, chat=chat),
        *_answers(data, choices),
        _likelihood(data, choices),
    )
    found = [each for each in readers if each]
    if "messages" in data.columns or "conversations" in data.columns:
        found.sort(key=lambda each: each.task != "likelihood")  # of a conversation, every answer counts
    return {each.task: each for each in found}


def read_rows(reading: TaskReading, numbered: Mapping[int, Row]) -> ReadRows:
    """Return rows as examples, with their own columns.

    Args:
        reading: How they are read.
        numbered: The rows, by their numbers in the split.
    """
    choices = reading.choices
    rows = [with_right_text(row, choices) for row in numbered.values()] if choices else numbered.values()
    mapped: Iterable[Row | None] = rows if reading.source is None else map_each(rows, reading.source)
    examples, unfit, because = list[Example](), list[int](), ""
    for (number, row), read in zip(numbered.items(), mapped, strict=True):
        found = _read(reading, row, read)
        if isinstance(found, Example):
            examples.append(replace(found, row=number, columns=row))
        else:
            unfit.append(number)
            because = because or found
    return ReadRows(examples=tuple(examples), unfit=len(unfit), first=tuple(unfit[:FIRST]), because=because)


def _read(reading: TaskReading, row: Row, mapped: Row | None) -> Example | str:
    """Return the example of a row, or why it cannot be evaluated."""
    try:
        if reading.choices and (problem := unnamed_choice(row, reading.choices)):
            return problem
        return "it lacks a value that is needed" if mapped is None else reading.read(mapped)
    except UnfitError as error:
        return str(error)


def _mapping(data: DataProfile, method: Method) -> tuple[bool, str | None]:
    """Return whether a method can read the rows, and the mapping that they need first."""
    readiness = judge(method, data.columns, data.shape, data.settings)
    if readiness.ready:
        return True, None
    proposal = propose(method, data.columns, data.shape, data.samples, data.settings, data.lacking)
    return proposal.source is not None and not proposal.field, proposal.source


def _choices(columns: ChoiceColumns, *, chat: bool) -> TaskReading:
    def read(row: Row) -> Example:
        question, options, right = _choice_of(row, columns)
        scored = tuple(_as_question(question, option, chat=chat) for option in options)
        return Example(
            row=0, prompt=question, reference=options[right], scored=scored, options=tuple(options), right=right
        )

    return TaskReading(task="choices", read=read)


def _choice_of(row: Row, columns: ChoiceColumns) -> tuple[str, Sequence[str], int]:
    try:
        return read_choice(row, columns)
    except ValueError as error:
        raise UnfitError(str(error)) from error


def _as_question(question: str, answer: str, *, chat: bool) -> ScoredText:
    """Return an answer to a question: as messages, or behind it and a space."""
    return ScoredText([{"role": "user", "content": question}], answer) if chat else ScoredText(question, f" {answer}")


def _preference(data: DataProfile) -> TaskReading | None:
    fits, source = _mapping(data, Method.DPO)
    return TaskReading(task="preference", source=source, read=_read_pair) if fits else None


def _read_pair(row: Row) -> Example:
    prompt = row.get("prompt")
    scored = tuple(_answered(prompt, row.get(name)) for name in ("chosen", "rejected"))
    return Example(row=0, prompt=scored[0].prompt, scored=scored, options=("chosen", "rejected"), right=0)


def _answered(prompt: Any, answer: Any) -> ScoredText:
    """Return an answer with its prompt; a conversation without one is an answer to all but its last message."""
    if not answer or not isinstance(answer, str | list):
        raise UnfitError(f"an answer to compare is {_named(answer)}")
    if prompt is None and isinstance(answer, list):
        return ScoredText(answer[:-1], answer[-1:])
    return ScoredText(prompt or "", answer)


def _classes(data: DataProfile, model_labels: Sequence[str], rows: Iterable[Row], *, chat: bool) -> TaskReading | None:
    label, text = _first_of(LABELS, data, ("text", "number", "flag")), _first_of(TEXTS, data, ("text",))
    if label is None or text is None or "completion" in data.columns:
        return None
    names = _class_names(data.columns[label])
    labels = tuple(model_labels or names or _distinct(rows, label))
    if len(labels) > MOST_CLASSES and not model_labels:
        return None
    return TaskReading(task="classes", read=_ClassReader(text, label, labels, names, chat).read)


def _first_of(names: Iterable[str], data: DataProfile, forms: Sequence[str]) -> str | None:
    """Return the first name of a column that has one of some forms."""
    return next((name for name in names if data.forms.get(name) in forms), None)


def _class_names(kind: Type | None) -> tuple[str, ...]:
    """Return the names that a dataset's card gives the classes of a column."""
    return kind.labels if isinstance(kind, Scalar) else ()


def _distinct(rows: Iterable[Row], label: str) -> list[str]:
    """Return the different labels of rows."""
    return sorted({_as_text(row[label]) for row in rows if row.get(label) is not None})


@dataclass(frozen=True, slots=True)
class _ClassReader:
    """Makes an example of a row with a text and a label.

    Attributes:
        text: Column of the text.
        label: Column of the label.
        labels: Labels that differ.
        names: Those of the dataset, by number; none if its card does not name them.
        chat: Whether the model reads messages.
    """

    text: str
    label: str
    labels: tuple[str, ...]
    names: tuple[str, ...]
    chat: bool

    def read(self, row: Row) -> Example:
        """Return the example of a row; raises UnfitError."""
        labels, content = self.labels, row.get(self.text)
        if len(labels) == 1:
            raise UnfitError(f"all rows have the label {labels[0]}, so there is nothing to classify")
        right = _label(row.get(self.label), labels, self.names)
        if not isinstance(content, str):
            raise UnfitError(f"`{self.text}` is {_named(content)}")
        scored = tuple(_as_question(content, each, chat=self.chat) for each in labels)
        return Example(row=0, prompt=content, reference=labels[right], scored=scored, options=labels, right=right)


def _label(value: Any, labels: Sequence[str], names: Sequence[str]) -> int:
    """Return the number of a row's label.

    Args:
        value: What the row has.
        labels: Those that differ.
        names: Those of the dataset, by number; none if its card does not name them.
    """
    if is_whole(value):
        named = names[value] if 0 <= value < len(names) else None
        if named in labels:
            return labels.index(named)
        if str(value) not in labels and 0 <= value < len(labels):
            return value
    text = _as_text(value)
    if text not in labels:
        raise UnfitError(f"its label is {_named(value)}, and the labels are {', '.join(labels[:FIRST])}")
    return labels.index(text)


def _answers(data: DataProfile, choices: ChoiceColumns | None) -> Iterator[TaskReading]:
    """Yield the reading of prompts with a reference, and that of prompts alone."""
    if data.forms.get("prompt") in ("text", "chat") and data.forms.get("completion", "null") != "null":
        yield TaskReading(task="answers", read=_with_reference("completion"))
        return
    fits, source = _mapping(data, Method.GRPO)
    if not fits:
        return
    if source is not None and '"solution"' in source:
        right = choices if choices and _takes(source, choices.right) else None
        yield TaskReading(task="answers", source=source, read=_with_reference("solution"), choices=right)
    elif name := next((each for each in (*SOLUTIONS, *RESULTS) if data.forms.get(each, "null") != "null"), None):
        right = choices if choices and choices.right == name else None
        yield TaskReading(task="answers", source=source, read=_with_reference(name), choices=right)
    yield TaskReading(task="prompts", source=source, read=lambda row: Example(row=0, prompt=_prompt(row)))


def _takes(source: str | None, column: str) -> bool:
    """A mapping that makes something of a column, rather than keep it."""
    return source is not None and f'"{column}"' in source.replace(f'"{column}": row["{column}"]', "")


def _with_reference(name: str) -> Callable[[Row], Example]:
    def read(row: Row) -> Example:
        if row.get("label") is False:
            raise UnfitError("its label says that the answer is a bad one")
        reference = row.get(name)
        if reference is None or isinstance(reference, bytes):
            raise UnfitError(f"`{name}` is {_named(reference)}")
        return Example(row=0, prompt=_prompt(row), reference=_as_text(reference))

    return read


def _prompt(row: Row) -> Prompt:
    prompt = row.get("prompt")
    if not prompt or not isinstance(prompt, str | list):
        raise UnfitError(f"`prompt` is {_named(prompt)}")
    return prompt


def _likelihood(data: DataProfile, choices: ChoiceColumns | None) -> TaskReading | None:
    fits, source = _mapping(data, Method.SFT)
    right = choices if choices and _takes(source, choices.right) else None
    return TaskReading(task="likelihood", source=source, read=_read_texts, choices=right) if fits else None


def _read_texts(row: Row) -> Example:
    """Return the texts that sft would learn from: each answer of a conversation with all that comes before it."""
    if isinstance(turns := row.get("messages"), list):
        answers = [at for at, turn in enumerate(turns) if turn.get("role") == "assistant"]
        scored = tuple(ScoredText(turns[:at], turns[at : at + 1]) for at in answers)
        if not scored:
            raise UnfitError("no message is the assistant's")
        return Example(row=0, prompt=scored[-1].prompt, scored=scored)
    if isinstance(completion := row.get("completion"), str | list):
        prompt = _prompt(row)
        return Example(row=0, prompt=prompt, scored=(ScoredText(prompt, completion),))
    text = row.get("text")
    if not text or not isinstance(text, str):
        raise UnfitError(f"the text is {_named(text)}")
    return Example(row=0, scored=(ScoredText("", text),))


def _as_text(value: Any) -> str:
    """Return a reference as the text that a model should write: of messages their content, of an object its JSON.

    >>> _as_text(4.0), _as_text(True), _as_text({"a": 1}), _as_text([{"role": "assistant", "content": "Four."}])
    ('4', 'true', '{"a": 1}', 'Four.')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if _are_messages(value):
        return "\n".join(str(each["content"] or "") for each in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _are_messages(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(each, Mapping) and "content" in each for each in value)
    )


def _named(value: Any) -> str:
    """Return what a value is, for a message."""
    if value is None:
        return "null"
    return "empty" if value in ("", []) else f"{value!r:.40} ({type(value).__name__})"
