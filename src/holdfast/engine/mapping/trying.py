"""Try a mapping on rows: does it run, does its method take what comes out, and is every word still there?"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from holdfast.catalog.formats import judge, recognise, types_of_rows
from holdfast.catalog.formats.words import ANSWERS
from holdfast.core.job.methods import Method
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.text.json_text import parse_json
from holdfast.core.text.numbers import is_whole
from holdfast.engine.mapping.found import ColumnReading, DataProfile, is_blank


def find_fault(source: str, method: Method, reading: ColumnReading, data: DataProfile) -> str:
    """Return why a mapping is not to be given; empty if it is.

    Args:
        source: The module.
        method: What it is for.
        reading: The reading that it was written from.
        data: The data, with the rows to try it on.
    """
    module: dict[str, Any] = {}
    exec(compile(source, "mapping.py", "exec"), module)  # noqa: S102 - written above from names of columns, as literals
    rows = _usable_rows(module, reading, data)
    if not rows:
        return "no row has all that it needs"
    results: list[Any] = []
    for number, row in rows.items():
        result = outcome_of(partial(module["rewrite"], copy.deepcopy(dict(row))))
        if fault := _fault_in_row(number, row, result, reading):
            return fault
        results.append(result)
    return _fault_in_all(results, method, data)


def _usable_rows(module: Mapping[str, Any], reading: ColumnReading, data: DataProfile) -> dict[int, Mapping[str, Any]]:
    """Return the rows that have all that a mapping reads, and that its `keep` does not leave out, by number."""
    return {
        number: row
        for number, row in data.numbered
        if all(row.get(name) is not None for name in reading.needs)
        and not any(is_blank(row.get(name)) for name in reading.answers)
        and ("keep" not in module or module["keep"](row))
    }


def _fault_in_row(number: int, row: Mapping[str, Any], result: Any, reading: ColumnReading) -> str:
    if isinstance(result, Raised):
        return f"row {number} cannot be read: {describe_error(result.error)}"
    fault = _lost(row, result, reading) or _misplaced(result)
    return f"in row {number}, {fault}" if fault else ""


def _fault_in_all(results: Sequence[Mapping[str, Any]], method: Method, data: DataProfile) -> str:
    """Return why a method cannot train on rewritten rows, or only with a caveat; empty if it can."""
    if all(_unanswered(result) for result in results):
        return "no conversation ends with an answer"
    columns = types_of_rows(results)
    shape = recognise(columns, results, data.settings)
    readiness = judge(method, columns, shape, data.settings)
    return readiness.because or readiness.caveat


def describe_error(error: Exception) -> str:
    """Return an exception of a mapping in words: its own errors say enough, those of Python need their type."""
    return str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"


def _misplaced(result: Mapping[str, Any]) -> str:
    """Return why messages are in the wrong column: an answer is the assistant's, the end of a prompt is not."""
    if "prompt" in result:
        return _misplaced_beside_prompt(result)
    chosen, rejected = result.get("chosen"), result.get("rejected")
    if not isinstance(chosen, list) or not isinstance(rejected, list):
        return ""
    return "the two conversations do not begin alike" if chosen[:1] != rejected[:1] else ""


def _misplaced_beside_prompt(result: Mapping[str, Any]) -> str:
    for name in ANSWERS:
        if isinstance(answer := result.get(name), list) and not _is_answer(answer):
            return f"`{name}` does not begin with the assistant"
    prompt = result["prompt"]
    if isinstance(prompt, list) and not _is_unanswered(prompt):
        return "`prompt` ends with the assistant, or there is none"
    return ""


def _is_answer(turns: Sequence[Mapping[str, Any]]) -> bool:
    return bool(turns) and turns[0].get("role") in ("assistant", "tool")


def _is_unanswered(turns: Sequence[Mapping[str, Any]]) -> bool:
    return bool(turns) and turns[-1].get("role") != "assistant"


def _unanswered(result: Mapping[str, Any]) -> bool:
    """True if messages end before the answer that is to be learned, which then stands elsewhere."""
    turns = result.get("messages")
    return isinstance(turns, list) and (not turns or turns[-1].get("role") != "assistant")


def _lost(row: Mapping[str, Any], result: Mapping[str, Any], reading: ColumnReading) -> str:
    """Return the content of the columns that are read and that the result lacks."""
    kept = sorted({text for text in _texts(result) if text}, key=len, reverse=True)
    gone = [name for name in reading.uses if not all(_stands(text, kept) for text in _texts(row.get(name)))]
    if "rejected" not in result and not set(reading.pair) <= set(gone):
        # Who learns from the better answer alone leaves the other one out.
        gone = [name for name in gone if name not in reading.pair]
    return f"something of `{gone[0]}` is not in the result" if gone else ""


def _stands(text: str, kept: Sequence[str]) -> bool:
    """Whether a text is in one of others, or is made of them, as a transcript is of its turns."""
    text = text.strip()
    if any(text in other for other in kept):
        return True
    for other in kept:
        text = text.replace(other.strip(), "", 1)
    return not text.replace("Human:", "").replace("Assistant:", "").strip()


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, without names of speakers."""
    if isinstance(value, str):
        parsed = _parsed(value)
        yield from [value] if parsed is None else _texts(parsed)
    elif isinstance(value, Mapping):
        yield from _texts([part for key, part in value.items() if key not in ("role", "from", "speaker")])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, float):
        yield f"{value:.15g}"
    elif is_whole(value):
        yield str(value)


def _parsed(text: str) -> Any:
    """Return the list or mapping that a text is the JSON of; None for any other."""
    if not text.startswith(("[", "{")):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
