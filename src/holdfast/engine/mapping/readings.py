"""Readings of datasets that name their columns otherwise than TRL does: questions, answers, pairs of them, labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from holdfast.catalog.formats.forms import NAMES
from holdfast.catalog.formats.words import CONTEXTS, LANGUAGES, REQUESTS, SYSTEMS, plain_name
from holdfast.core.rows.columns import Scalar
from holdfast.engine.mapping.found import (
    ColumnReading,
    ColumnRole,
    DataProfile,
    RowExpression,
    Uncertainty,
    cell,
)
from holdfast.engine.script.python_source import render_literal

MIXED: Final = Scalar("json")
ANSWERS: Final = ("completion", "response", "output", "outputs", "answer", "target", "targets", "reply", "assistant",
                  "solution", *dict.fromkeys(answer for _, answer in LANGUAGES))  # fmt: skip
RESULTS: Final = ("final_answer", "expected_answer", "ground_truth")
PREFERENCES: Final = (
    ("chosen", "rejected"),
    ("chosen_response", "rejected_response"),
    ("response_chosen", "response_rejected"),
    ("chosen_answer", "rejected_answer"),
    ("preferred", "dispreferred"),
    ("preferred_response", "dispreferred_response"),
    ("preferred_output", "non_preferred_output"),
    ("accepted", "refused"),
    ("better_response", "worse_response"),
    ("better_answer", "worse_answer"),
    ("good_response", "bad_response"),
    ("good_answer", "bad_answer"),
    ("winning_response", "losing_response"),
    ("response_w", "response_l"),
    ("response_j", "response_k"),  # lvwerra/stack-exchange-paired
)
"""Names of two answers to one prompt, the better one first."""
CHOSEN: Final = tuple(better for better, _ in PREFERENCES)
REJECTED: Final = tuple(worse for _, worse in PREFERENCES)
WHOLE: Final = ("text", "content", "body", "code", "document", "raw_content", "markdown", "page_content", "story")
FLAGS: Final = ("label", "thumbs_up", "thumbs", "thumb", "reaction", "is_correct", "correct", "is_good", "good", "liked", "desirable", "accepted",
                "upvoted", "feedback", "rating", "vote")  # fmt: skip
SCORES: Final = ("score", "rating", "stars", "reward", "quality", "grade", "helpfulness")
GOOD: Final = {"thumbs_up": "thumbs_down", "👍": "👎", "good": "bad", "up": "down", "positive": "negative",
               "chosen": "rejected", "desirable": "undesirable", "like": "dislike", "yes": "no",
               "upvote": "downvote", "correct": "incorrect", "true": "false", "1": "0"}  # fmt: skip

Reading = ColumnReading | Uncertainty


def find_request(data: DataProfile, besides: tuple[str, ...] = ()) -> ColumnReading | Uncertainty | None:
    """Return the one prompt that the texts hold, with its context and its system message.

    Args:
        data: The data.
        besides: Columns that are known to be something else.
    """
    requests, contexts = _request_columns(data, besides)
    if len(requests) != 1:
        both = " and ".join(f"`{name}`" for name in requests)
        return Uncertainty(f"{both} could each be the prompt") if requests else None
    systems = data.texts(*SYSTEMS)
    if doubt := _doubt(data, requests[0], contexts, systems):
        return doubt
    return _request(data, requests[0], next(iter(contexts), None), next(iter(systems), None))


def _request_columns(data: DataProfile, besides: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the columns that may be the prompt, and those that may be its context."""
    named = [name for name in data.texts(*REQUESTS) if name not in besides]
    # `input` is the context of an instruction, and a prompt where there is none.
    requests = [name for name in named if not (plain_name(name) == "input" and len(named) > 1)]
    taken = (*besides, *requests)
    return requests, [name for name in data.texts(*CONTEXTS) if name not in taken]


def _doubt(data: DataProfile, request: str, contexts: Sequence[str], systems: Sequence[str]) -> Uncertainty | None:
    """Return why it is not certain what belongs to a prompt; None if it is."""
    if len(contexts) > 1:
        return Uncertainty(f"`{contexts[0]}` and `{contexts[1]}` could each be the context of `{request}`")
    if plain_name(request) in CONTEXTS and (other := _other_request(data)):
        return Uncertainty(f"`{other}` is {NAMES[data.forms[other]]}, and `{request}` may be its context")
    if len(systems) > 1:
        return Uncertainty(f"`{systems[0]}` and `{systems[1]}` could each be the system message")
    return None


def _other_request(data: DataProfile) -> str:
    """Return a column that is named as a prompt and is no text; empty if there is none."""
    named = (name for name in data.columns if plain_name(name) in REQUESTS and plain_name(name) not in CONTEXTS)
    return next((name for name in named if data.forms[name] not in ("text", "null")), "")


def _request(data: DataProfile, request: str, context: str | None, system: str | None) -> ColumnReading:
    lines: list[str] = []
    code = cell(request)
    if context:
        lines += [f"request = {code}", f"if {cell(context)}:", f'    request += "\\n\\n" + {cell(context)}']
        code = "request"
    part = RowExpression(code)
    if data.settings.chat_template is False:
        # Without a template nothing parts the prompt from what comes after it.
        part = RowExpression(f'{code} + "\\n\\n"', "plain")
        if system:
            lines += [
                f"prompt = {part.code}",
                f"if {cell(system)}:",
                f'    prompt = {cell(system)} + "\\n\\n" + prompt',
            ]
            part = RowExpression("prompt", "plain")
    elif system:
        lines += [f'prompt = [{{"role": "user", "content": {code}}}]', f"if {cell(system)}:"]
        lines += [f'    prompt.insert(0, {{"role": "system", "content": {cell(system)}}})']
        part = RowExpression("prompt", "chat")
    uses = tuple(name for name in (request, context, system) if name)
    return ColumnReading(what="", parts={"prompt": part}, lines=tuple(lines), uses=uses, needs=(request,))


def add(
    reading: ColumnReading,
    what: str,
    parts: Mapping[ColumnRole, RowExpression],
    *uses: str,
    marks: tuple[str, ...] = (),
) -> ColumnReading:
    """Return a reading with more parts.

    Args:
        reading: The reading so far.
        what: The whole of it, in words.
        parts: What is added.
        uses: Columns whose text it takes, and cannot do without.
        marks: Columns that it cannot do without either, whose text it does not take.
    """
    return replace(
        reading,
        what=what,
        parts={**reading.parts, **parts},
        uses=(*reading.uses, *uses),
        needs=(*reading.needs, *uses, *marks),
        answers=(*reading.answers, *uses),
    )


def read_pairs(data: DataProfile) -> Iterator[Reading]:
    """Yield a prompt with two answers, the better one and the other, all of them texts."""
    chosen, rejected = data.texts(*CHOSEN), data.texts(*REJECTED)
    if not chosen or not rejected:
        return
    pair = (*chosen, *rejected)
    if len(pair) > len(("chosen", "rejected")):
        yield Uncertainty("more than two columns could be the answers to compare")
        return
    request = find_request(data, besides=pair)
    if isinstance(request, ColumnReading):
        better, worse = pair
        parts: dict[ColumnRole, RowExpression] = {
            "chosen": RowExpression(cell(better)),
            "rejected": RowExpression(cell(worse)),
        }
        yield replace(add(request, f"The prompt, and the answers `{better}` and `{worse}`.", parts, *pair), pair=pair)
    else:
        yield request or Uncertainty("no column is surely the prompt of the two answers")


def read_labelled(data: DataProfile) -> Iterator[Reading]:
    """Yield a prompt with an answer, and whether that is good."""
    for answered in read_answers(data, besides=FLAGS):
        if isinstance(answered, Uncertainty):
            yield answered
            continue
        label = find_label(data, answered.uses)
        if isinstance(label, Uncertainty):
            yield label
        elif label:
            name, code = label
            marked = f"A prompt, an answer, and by `{name}` whether it is good."
            yield add(_as_they_are(answered), marked, {"label": code}, marks=(name,))
        else:
            yield from _unsure_labels(data, answered.uses)


def _unsure_labels(data: DataProfile, besides: tuple[str, ...]) -> Iterator[Uncertainty]:
    """Yield the column that may say whether an answer is good, and does not say it for certain."""
    if scores := [name for name in data.columns if plain_name(name) in SCORES and data.forms[name] == "number"]:
        yield Uncertainty(f"where in `{scores[0]}` good answers begin is yours to say")
    elif flags := _flags(data, besides):
        seen = data.describe_values(flags[0])
        yield Uncertainty(f"`{flags[0]}` may say which answers are good, but not surely: {seen}")


def find_label(data: DataProfile, besides: tuple[str, ...]) -> tuple[str, RowExpression] | Uncertainty | None:
    """Return the one column that surely says whether an answer is good, and how it says that; None if there is none.

    Args:
        data: The data.
        besides: Columns that are known to be something else.
    """
    labels = [(name, code) for name in _flags(data, besides) if (code := _label(data, name))]
    if len(labels) > 1:
        return Uncertainty(f"`{labels[0][0]}` and `{labels[1][0]}` could each say whether an answer is good")
    return labels[0] if labels else None


def _flags(data: DataProfile, besides: tuple[str, ...]) -> list[str]:
    return [name for name in data.columns if plain_name(name) in FLAGS and name not in besides]


def _as_they_are(reading: ColumnReading) -> ColumnReading:
    """Return a reading without a change to columns that TRL knows already: whether they are messages is not for us to say."""
    if reading.uses != ("prompt", "completion"):
        return reading
    return replace(reading, parts={role: replace(part, kind="plain") for role, part in reading.parts.items()})


def _label(data: DataProfile, name: str) -> RowExpression | None:
    """Return the expression for whether an answer is good, if a column says so for certain."""
    values = set(map(str, data.values(name)))
    match data.forms[name]:
        case "flag":
            return RowExpression(cell(name), "plain")
        case "number":
            return _number_label(name, values)
        case "text":
            return _text_label(name, values)
        case _:
            return None


def _number_label(name: str, values: set[str]) -> RowExpression | None:
    if values and values <= {"0", "1", "0.0", "1.0"}:
        return RowExpression(f"bool({cell(name)})", "plain")
    return RowExpression(f"{cell(name)} > 0", "plain") if values in ({"-1", "1"}, {"-1.0", "1.0"}) else None


def _text_label(name: str, values: set[str]) -> RowExpression | None:
    spelled = {value.strip().lower(): value for value in sorted(values)}
    for good, bad in GOOD.items():
        if len(values) == len(spelled) and spelled.keys() == {good, bad}:
            words = f"{render_literal(spelled[good])}: True, {render_literal(spelled[bad])}: False"
            return RowExpression(f"{{{words}}}[{cell(name)}]", "plain")
    return None


def read_solutions(data: DataProfile) -> Iterator[Reading]:
    """Yield a prompt with its answer, which may be no more than a result."""
    yield from read_answers(data, results=RESULTS)


def read_answers(data: DataProfile, besides: tuple[str, ...] = (), results: tuple[str, ...] = ()) -> Iterator[Reading]:
    """Yield a prompt with its answer."""
    answers = [name for name in _answer_columns(data, (*ANSWERS, *results)) if name not in besides]
    request = find_request(data, besides=tuple(answers))
    if isinstance(request, Uncertainty):
        yield request
    if not isinstance(request, ColumnReading) or not answers:
        return
    if len(answers) > 1:
        yield Uncertainty(f"`{answers[0]}` and `{answers[1]}` could each be the answer")
        return
    parts = ", ".join(f"`{each}`" for each in request.uses)
    completion = RowExpression(_as_text(data, answers[0]))
    yield add(request, f"A prompt of {parts}, and its answer `{answers[0]}`.", {"completion": completion}, answers[0])


def _answer_columns(data: DataProfile, known: tuple[str, ...]) -> list[str]:
    """Return the columns of some names that hold texts, then those that hold numbers."""
    numbers = [name for name in data.columns if plain_name(name) in known and data.forms[name] == "number"]
    return [*data.texts(*known), *numbers]


def _as_text(data: DataProfile, name: str) -> str:
    """Return the expression for a column as text; in one of texts and numbers, a text such as "7" is read as a number."""
    if data.forms[name] == "text" and data.columns[name] != MIXED:
        return cell(name)
    return _number_as_text(data, name)


def _number_as_text(data: DataProfile, name: str) -> str:
    """Return the expression for a number as text: of a whole number in a column of floats, without its `.0`."""
    kinds = set(map(type, data.values(name)))
    floats = float in kinds and str not in kinds
    return f"f'{{{cell(name)}:.15g}}'" if floats else f"str({cell(name)})"


def read_requests(data: DataProfile) -> Iterator[Reading]:
    """Yield prompts alone, which reward functions need."""
    request = find_request(
        data, besides=tuple(name for name in data.texts(*ANSWERS, *RESULTS) if plain_name(name) != "input")
    )
    if isinstance(request, Uncertainty):
        yield request
    elif request:
        yield add(request, f"The prompt, of {', '.join(f'`{name}`' for name in request.uses)}.", {})


def read_whole(data: DataProfile) -> Iterator[Reading]:
    """Yield texts to learn as they are."""
    if data.has("parent_id"):
        yield Uncertainty("each row is one message of a tree: conversations have to be joined from several rows")
        return
    texts = data.texts(*WHOLE)
    others = data.texts(*REQUESTS, *ANSWERS, *CHOSEN)
    if len(texts) > 1:
        yield Uncertainty(f"`{texts[0]}` and `{texts[1]}` could each be the text")
    elif texts and not others:
        # As it stands: the trainer ends it.
        yield ColumnReading(
            what=f"The text, from `{texts[0]}`.",
            parts={"text": RowExpression(cell(texts[0]), "plain")},
            uses=texts,
            needs=texts,
        )
