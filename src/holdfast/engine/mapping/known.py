"""Readings of datasets that are known by all of their columns' names: what these mean stands on their cards.

Source: the cards of stanfordnlp/SHP, PKU-Alignment/PKU-SafeRLHF, openai/webgpt_comparisons, openbmb/UltraFeedback,
nvidia/HelpSteer3 and lmarena-ai's arena, OpenAI's guide to preference fine-tuning, and TRL's page of dataset formats for
steps.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from holdfast.core.rows.columns import ListOf, Struct
from holdfast.engine.mapping.found import ColumnReading, ColumnRole, DataProfile, RowExpression, Uncertainty, cell
from holdfast.engine.mapping.readings import Reading, add, find_request

PAIR: Final[tuple[ColumnRole, ...]] = ("chosen", "rejected")
CANDIDATES: Final = ("responses", "completions", "answers", "outputs", "generations", "candidates")
"""Names of a column of several answers to one prompt."""
SCORES: Final = ("scores", "ratings", "rewards")
"""Names of a column of their scores, in the same order; a higher one is better."""
EQUAL: Final = 'raise ValueError("both answers are as good as each other, leave such rows out")'


def read_known(data: DataProfile) -> Iterator[Reading]:
    """Yield the readings of columns with well-known names."""
    for reader in (_shp, _numbered, _scored, _graded, _arena, _openai, _rated, _ranked, _steps):
        if found := reader(data):
            yield found


def compared(data: DataProfile, answers: tuple[str, str], by: str, worse: str, equal: str = "") -> Reading:
    """Return a pair of answers to one prompt.

    Args:
        data: The data.
        answers: Their columns.
        by: The column that says which is the better one.
        worse: The test by which it is the second.
        equal: The test by which neither is.
    """
    request = find_request(data, besides=answers) or _context(data)
    if not isinstance(request, ColumnReading):
        return request or Uncertainty("no column is surely the prompt of the two answers")
    lines = [f"if {equal}:", f"    {EQUAL}"] if equal else []
    lines += [f"chosen, rejected = {cell(answers[0])}, {cell(answers[1])}"]
    lines += [f"if {worse}:", "    chosen, rejected = rejected, chosen"]
    kind = all(data.forms[name] == "chat" for name in answers)
    parts: dict[ColumnRole, RowExpression] = {}
    for role in PAIR:
        parts[role] = RowExpression(role, "chat" if kind else "text")
    what = f"The prompt, and the answers `{answers[0]}` and `{answers[1]}`, the better one by `{by}`."
    return replace(add(request, what, parts, *answers, marks=(by,)), choosing=tuple(lines), pair=answers)


def _context(data: DataProfile) -> ColumnReading | None:
    """Return the prompt of those whose `context` or `prompt` holds messages."""
    for name in ("context", "prompt"):
        if data.forms.get(name) == "chat":
            return ColumnReading(
                what="", parts={"prompt": RowExpression(cell(name), "chat")}, uses=(name,), needs=(name,)
            )
    return None


def _shp(data: DataProfile) -> Reading | None:
    answers = ("human_ref_A", "human_ref_B")
    return (
        compared(data, answers, "labels", f"{cell('labels')} != 1") if data.has("history", *answers, "labels") else None
    )


def _numbered(data: DataProfile) -> Reading | None:
    answers, better = ("response_0", "response_1"), "better_response_id"
    return compared(data, answers, better, f"{cell(better)} != 0") if data.has(*answers, better) else None


def _scored(data: DataProfile) -> Reading | None:
    answers, first, second = ("answer_0", "answer_1"), "score_0", "score_1"
    if not data.has(*answers, first, second) or any(data.forms[name] != "text" for name in answers):
        return None
    scores = cell(first), cell(second)
    return compared(data, answers, first, f"{scores[0]} < {scores[1]}", f"{scores[0]} == {scores[1]}")


def _graded(data: DataProfile) -> Reading | None:
    answers, grade = ("response1", "response2"), "overall_preference"
    if not data.has(*answers, grade):
        return None
    return compared(data, answers, grade, f"{cell(grade)} > 0", f"{cell(grade)} == 0")


def _arena(data: DataProfile) -> Reading | None:
    used, winner = ("conversation_a", "conversation_b"), "winner"
    if not data.has(*used, winner) or any(data.forms[name] != "chat" for name in used):
        return None
    lines = (
        f'if {cell(winner)} not in ("model_a", "model_b"):',
        f"    {EQUAL}",
        f"chosen, rejected = {cell(used[0])}, {cell(used[1])}",
        f'if {cell(winner)} == "model_b":',
        "    chosen, rejected = rejected, chosen",
    )
    return ColumnReading(
        what="Two conversations that begin alike, the better one by `winner`.",
        parts={"chosen": RowExpression("chosen", "chat"), "rejected": RowExpression("rejected", "chat")},
        choosing=lines,
        uses=used,
        needs=(*used, winner),
        pair=used,
        implicit=True,
    )


def _openai(data: DataProfile) -> Reading | None:
    kind = data.columns.get("input")
    if not data.has("input", "preferred_output", "non_preferred_output") or not isinstance(kind, Struct):
        return None
    used = ("preferred_output", "non_preferred_output")
    if "messages" not in kind.fields or any(data.forms[name] != "chat" for name in used):
        return None
    return ColumnReading(
        what="OpenAI's preferences: the messages of `input`, and two outputs.",
        parts={
            "prompt": RowExpression(f'{cell("input")}["messages"]', "chat"),
            "chosen": RowExpression(cell("preferred_output"), "chat"),
            "rejected": RowExpression(cell("non_preferred_output"), "chat"),
        },
        uses=("input", *used),
        needs=("input", *used),
        pair=used,
    )


def _rated(data: DataProfile) -> Reading | None:
    kind = data.columns.get("completions")
    if not isinstance(kind, ListOf) or not isinstance(kind.of, Struct):
        return None
    texts = [name for name in ("response", "completion", "text") if name in kind.of.fields]
    scores = [name for name in ("overall_score", "score", "rating") if name in kind.of.fields]
    request = find_request(data)
    if len(texts) != 1 or len(scores) != 1 or not isinstance(request, ColumnReading):
        return Uncertainty("which of the completions is the better one is not certain")
    lines = (
        f'ranked = sorted({cell("completions")}, key=lambda completion: completion["{scores[0]}"])',
        f'if ranked[0]["{scores[0]}"] == ranked[-1]["{scores[0]}"]:',
        '    raise ValueError("all completions have the same score, leave such rows out")',
    )
    what = f"The prompt, and of its completions the best and the worst by `{scores[0]}`; the others are left out."
    parts: dict[ColumnRole, RowExpression] = {
        "chosen": RowExpression(f'ranked[-1]["{texts[0]}"]'),
        "rejected": RowExpression(f'ranked[0]["{texts[0]}"]'),
    }
    return replace(add(request, what, parts, marks=("completions",)), choosing=lines)


def _ranked(data: DataProfile) -> Reading | None:
    answers = [name for name in CANDIDATES if data.forms.get(name) == "texts"]
    scores = [name for name in SCORES if data.forms.get(name) == "numbers"]
    if len(answers) != 1 or len(scores) != 1:
        return None
    request = find_request(data)
    if not isinstance(request, ColumnReading):
        return request
    lines = (
        f"ranked = sorted(zip({cell(scores[0])}, {cell(answers[0])}, strict=True), key=lambda scored: scored[0])",
        "if ranked[0][0] == ranked[-1][0]:",
        f'    raise ValueError("all {answers[0]} have the same score, leave such rows out")',
    )
    what = f"The prompt, and of its {answers[0]} the best and the worst by `{scores[0]}`; the others are left out."
    parts: dict[ColumnRole, RowExpression] = {
        "chosen": RowExpression("ranked[-1][1]"),
        "rejected": RowExpression("ranked[0][1]"),
    }
    return replace(add(request, what, parts, marks=(answers[0], scores[0])), choosing=lines)


def _steps(data: DataProfile) -> Reading | None:
    if data.forms.get("completions") != "texts" or data.forms.get("labels") != "flags":
        return None
    request = find_request(data)
    if not isinstance(request, ColumnReading):
        return request
    return add(
        request,
        "A prompt and its steps, good where every one of them is right.",
        {
            "completion": RowExpression(f'"\\n".join({cell("completions")})'),
            "label": RowExpression(f"all({cell('labels')})", "plain"),
        },
        "completions",
        marks=("labels",),
    )
