"""Write a reading as a Python module, for one method."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from holdfast.catalog.formats.judging import TAKEN
from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.job.methods import ONLINE, Method
from holdfast.core.outcome import outcome_of
from holdfast.core.rows.scan import FIRST_ROWS, RowCount
from holdfast.engine.mapping.found import ColumnReading, DataProfile, RowExpression, cell
from holdfast.engine.mapping.usual import MOST_UNUSUAL
from holdfast.engine.script.python_source import LINE, render_literal

STEPS_END: Final = "####"
NEWLINE: Final = "\n"
IMPORTS: Final = {"json": ("json.loads(", "json.dumps("), "re": ("re.split(",)}


@dataclass(frozen=True, slots=True)
class MappingDraft:
    """A mapping in the making: statements, then the columns that come out of it."""

    columns: Mapping[str, str]
    lines: tuple[str, ...] = ()


def write(method: Method, reading: ColumnReading, data: DataProfile) -> str | None:
    """Return a reading as a module with `def rewrite(row)`; None if the method needs more than was found."""
    written = _write(method, reading, data)
    if written is None:
        return None
    choosing = reading.choosing if _reads_answers(reading, written) else ()
    body = [*reading.lines, *choosing, *written.lines, *_returned(written.columns)]
    helpers = [*reading.helpers, *_kept(method, reading, data)]
    function = NEWLINE.join(
        [
            "def rewrite(row):",
            f'    """Return what {method.value} reads."""',
            *(f"    {line}" for line in body),
        ]
    )
    blocks = [f'"""{_plain(reading.what)}"""', *_imports("\n".join([*helpers, *body]))]
    return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join([*helpers, function]) + "\n"


def _reads_answers(reading: ColumnReading, written: MappingDraft) -> bool:
    """True if a mapping reads one of the two answers of a pair."""
    answers = [reading.parts[name].code for name in ("chosen", "rejected") if name in reading.parts]
    return any(code in line for code in answers for line in (*written.columns.values(), *written.lines))


def _imports(code: str) -> list[str]:
    """Return the block of imports that some code needs; none if it needs none."""
    imports = [f"import {name}" for name, calls in IMPORTS.items() if any(call in code for call in calls)]
    return [NEWLINE.join(imports)] if imports else []


def dropped_rows(method: Method, reading: ColumnReading, data: DataProfile) -> Mapping[str, RowCount]:
    """Return the rows that `keep` leaves out, by the column that has no usable value in them."""
    counts = {name: list(_unusable(name, reading, data)) for name in reading.needs}
    dropped = {name: _together(each) for name, each in counts.items() if each}
    if unanswered := _unanswered(method, reading, data):
        name = reading.needs[0]
        before = dropped.get(name, RowCount(0))
        rows = sorted({*unanswered.rows, *before.rows})
        dropped[name] = RowCount(unanswered.count + before.count, tuple(rows[:FIRST_ROWS]))
    return dropped


def _unusable(name: str, reading: ColumnReading, data: DataProfile) -> Iterator[RowCount]:
    """Yield the rows that have no usable value in a column, by what is wrong with it."""
    if name in data.lacking.nulls:
        yield data.lacking.nulls[name]
    if name in reading.answers and name in data.lacking.blanks:
        yield data.lacking.blanks[name]
    if name in data.unusual:
        yield from data.unusual[name].unusual(name, data.lacking)


def _together(counts: Sequence[RowCount]) -> RowCount:
    rows = sorted(row for each in counts for row in each.rows)
    return RowCount(sum(each.count for each in counts), tuple(rows[:FIRST_ROWS]))


def _unanswered(method: Method, reading: ColumnReading, data: DataProfile) -> RowCount | None:
    """Return the few samples whose conversation ends before its answer, if the method needs that apart; else None."""
    if not reading.turns or not _parts_answer(method, reading):
        return None
    there = {at: row for at, row in data.numbered if row.get(reading.needs[0]) is not None}
    rows = list(_ending_otherwise(reading, there))
    return RowCount(len(rows), tuple(rows[:FIRST_ROWS])) if 0 < len(rows) < MOST_UNUSUAL * len(there) else None


def _parts_answer(method: Method, reading: ColumnReading) -> bool:
    """True if a method needs the last answer of a conversation apart."""
    needs_answer = method in ONLINE or (method is Method.KTO and "label" in reading.parts)
    return needs_answer and "messages" in reading.parts


def _ending_otherwise(reading: ColumnReading, rows: Mapping[int, Mapping[str, Any]]) -> Iterator[int]:
    """Yield the numbers of the rows whose conversation ends with another message than an answer."""
    module: dict[str, Any] = {}
    imports = "import json, re\n"
    code = "\n\n".join([imports, *reading.helpers, f"def turns(row):\n    return {reading.turns}"])
    exec(compile(code, "mapping.py", "exec"), module)  # noqa: S102 - written here from names of columns, as literals
    for number, row in rows.items():
        turns = outcome_of(partial(module["turns"], row))
        if isinstance(turns, list) and turns and turns[-1]["role"] != "assistant":
            yield number


def _kept(method: Method, reading: ColumnReading, data: DataProfile) -> list[str]:
    """Return the definition of `keep`, where some rows have to be left out."""
    tests = list(_tests(method, reading, data))
    if not tests:
        return []
    there = " and ".join(tests)
    if len(there) > LINE:
        there = "(\n        " + "\n        and ".join(tests) + "\n    )"
    return [f'def keep(row):\n    """Leave out the rows that lack what is read."""\n    return {there}']


def _tests(method: Method, reading: ColumnReading, data: DataProfile) -> Iterator[str]:
    """Yield the expressions that are true of a row that has all that is read, as far as some rows have not."""
    needs = dict.fromkeys(reading.needs)
    if needed := [name for name in needs if name in data.lacking.nulls]:
        yield _test(needed, "{} is not None")
    for name in filter(data.unusual.__contains__, needs):
        yield from data.unusual[name].tests(name, data.lacking)
    yield from _tests_of_answers(reading, data)
    if _unanswered(method, reading, data):
        yield f'{reading.turns}[-1]["role"] == "assistant"'


def _tests_of_answers(reading: ColumnReading, data: DataProfile) -> Iterator[str]:
    """Yield the expression that is true of a row whose answers are no white space, if some are."""
    if filled := [name for name in dict.fromkeys(reading.answers) if name in data.lacking.blanks]:
        text = "str({})" if any(name in data.lacking.kinds for name in filled) else "{}"
        yield _test(filled, f'{text}.strip() != ""')


def _test(names: Sequence[str], test: str) -> str:
    """Return the expression that a test holds of all of some columns."""
    if len(names) == 1:
        return test.format(cell(names[0]))
    return f"all({test.format('row[name]')} for name in ({', '.join(map(render_literal, names))}))"


def _write(method: Method, reading: ColumnReading, data: DataProfile) -> MappingDraft | None:
    match method:
        case Method.SFT:
            return _sft(reading, data)
        case Method.GRPO | Method.RLOO:
            return _generating(reading, data)
        case Method.KTO if {"messages", "label"} <= reading.parts.keys():
            return _judged(reading)
        case Method.KTO if "label" in reading.parts:
            return _columns(reading, data, "prompt", "completion", "label")
        case _:
            return _columns(reading, data, *(() if reading.implicit else ("prompt",)), "chosen", "rejected")


def _sft(reading: ColumnReading, data: DataProfile) -> MappingDraft | None:
    if "label" in reading.parts:
        return None
    if "messages" in reading.parts:
        return _columns(reading, data, "messages", *(("tools",) if "tools" in reading.parts else ()))
    if "text" in reading.parts:
        return MappingDraft({data.settings.text_field: reading.parts["text"].code})
    return (
        _better_answer(reading, data) if "chosen" in reading.parts else _columns(reading, data, "prompt", "completion")
    )


def _better_answer(reading: ColumnReading, data: DataProfile) -> MappingDraft | None:
    """Return the better one of two answers with its prompt, or the better one of two conversations."""
    if reading.implicit:
        better = reading.parts["chosen"]
        return MappingDraft({"messages": better.code}) if better.kind == "chat" else None
    written = _columns(reading, data, "prompt", "chosen")
    return written and MappingDraft({"prompt": written.columns["prompt"], "completion": written.columns["chosen"]})


def _judged(reading: ColumnReading) -> MappingDraft | None:
    """Return a conversation, parted before its last answer, with whether that is good."""
    whole, label = reading.parts["messages"], reading.parts["label"]
    if whole.kind != "chat":
        return None
    return MappingDraft({"prompt": "prompt", "completion": "[answer]", "label": label.code}, _parted(whole))


def _parted(whole: RowExpression) -> tuple[str, ...]:
    return (
        f"*prompt, answer = {whole.code}",
        'if answer["role"] != "assistant":',
        '    raise ValueError("the conversation does not end with an answer")',
    )


def _generating(reading: ColumnReading, data: DataProfile) -> MappingDraft | None:
    whole = reading.parts.get("messages") or (reading.parts.get("chosen") if reading.implicit else None)
    if whole is None:
        return _prompted(reading, data) if "prompt" in reading.parts else None
    if whole.kind != "chat":
        return None
    return MappingDraft(_beside({"prompt": "prompt", "solution": 'answer["content"]'}, reading, data), _parted(whole))


def _prompted(reading: ColumnReading, data: DataProfile) -> MappingDraft:
    """Return a prompt with its answer, if there is one."""
    prompt = reading.parts["prompt"]
    needs_solution = any(name in TRL_REWARDS for name in data.settings.rewards)
    if prompt.code == cell("prompt") and prompt.kind == "text" and not needs_solution:
        # It is a prompt already: whether as text or as a message is not for us to say.
        prompt = RowExpression(prompt.code, "plain")
    return MappingDraft(
        _beside({"prompt": _spelled("prompt", prompt, data), **_solution(reading, data)}, reading, data)
    )


def _solution(reading: ColumnReading, data: DataProfile) -> dict[str, str]:
    """Return the answer by the name that TRL's own rewards ask for; of steps that lead to one, the last."""
    answer = reading.parts.get("completion")
    if answer is None or answer.kind != "text" or "label" in reading.parts:
        return {}
    name = reading.uses[-1]
    if data.values(name) and all(STEPS_END in str(value) for value in data.values(name)):
        end = f'{cell(name)}.split("{STEPS_END}")[-1].strip()'
        return {"solution": end} if name == "solution" else {"solution": end, name: cell(name)}
    return {"solution": answer.code}


def _beside(columns: dict[str, str], reading: ColumnReading, data: DataProfile) -> dict[str, str]:
    """Return the columns with the others, which reward functions may ask for; those that would collide get a new name."""
    left = [name for name in data.columns if name not in reading.uses or name in reading.pair]
    taken = (*TAKEN, *columns)
    return columns | {f"given_{name}" if name in taken else name: cell(name) for name in left}


def _columns(reading: ColumnReading, data: DataProfile, *names: str) -> MappingDraft | None:
    if not all(name in reading.parts for name in names):
        return None
    parts = {name: part for name, part in reading.parts.items() if name in names}
    chats = [name for name, part in parts.items() if part.kind == "chat"]
    if chats and data.settings.chat_template is False:
        return None
    return MappingDraft({name: _spelled(name, parts[name], data) for name in names})  # type: ignore[index]  # the names are roles


def _spelled(name: str, part: RowExpression, data: DataProfile) -> str:
    """Return a part as messages, unless it is so already or no template could write them."""
    if part.kind != "text" or data.settings.chat_template is False:
        return part.code
    role = "user" if name == "prompt" else "assistant"
    return f'[{{"role": "{role}", "content": {part.code}}}]'


def _returned(columns: Mapping[str, str]) -> list[str]:
    items = [f"{render_literal(name)}: {code}" for name, code in columns.items()]
    line = f"return {{{', '.join(items)}}}"
    return [line] if len(line) <= LINE else ["return {", *(f"    {item}," for item in items), "}"]


def _plain(text: str) -> str:
    """Return a text that can stand in a docstring whatever a column is called."""
    return " ".join(text.replace("\\", "/").replace('"', "'").split())
