"""Reward function that treats messages as text, or text as messages.

## What it does
For GRPO and RLOO, checks how a reward function uses each of its `completions` against what the trainer passes: lists
of messages if the column `prompt` holds conversations, texts if it holds texts. `completion.strip()` and
`re.search(pattern, completion)` need a text, `completion[0]["content"]` needs messages. Ignores a function that uses
`isinstance` or has a `try`. DAT101 checks the reward functions of TRL in the same way.

## Why is this bad
The first step ends with AttributeError, `'list' object has no attribute 'strip'`, or with TypeError, after the model
is loaded and has written completions.

## Fix safety
The fix is safe: the function raises as it is, and gets what it expects from its new first line. There is none for a
function that takes `prompts` too, is in another file, is in one line, or is named elsewhere than in `reward_funcs`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.catalog.models.base_models import is_messages
from holdfast.catalog.own_rewards import own_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.notebook import read_cells
from holdfast.core.rows.columns import STRING, ListOf, Struct, Type
from holdfast.core.text.places import LINE_BREAK, TextEdit

PROMPT: Final = "prompt"
REMADE: Final = ("trainer.environment_factory", "trainer.rollout_func")
TAKEN_FOR: Final[Mapping[str, str]] = {
    "text": "a text",
    "messages": 'messages (`completion[0]["content"]`)',
    "record": 'one message (`completion["content"]`)',
}
PASSED: Final[Mapping[str, str]] = {
    "text": "`prompt` holds texts, so each completion is a text",
    "messages": '`prompt` holds conversations, so each completion is a list of messages: its text is `completion[0]["content"]`',
}


EXPECTED: Final[Mapping[tuple[str, str], str]] = {
    ("text", "messages"): 'completion[0]["content"]',
    ("record", "messages"): "completion[0]",
    ("messages", "text"): '[{"role": "assistant", "content": completion}]',
    ("record", "text"): '{"role": "assistant", "content": completion}',
}
"""What a function takes a completion for, and what it is: the expression of the one by the other."""


def check(
    job: Document, files: Mapping[str, NamedFile], column_types: Mapping[str, Type] | Unknown
) -> Iterator[Finding]:
    """Report each reward function that raises for the completions it gets."""
    own = [each for each in own_rewards(job, files) if each.function.completions]
    if not own:
        return
    passed = _passed(job, column_types)
    for key, function, place in own:
        if passed and function.completions != passed:
            what = f"`{function.name}` treats each completion as {TAKEN_FOR[function.completions]}; {PASSED[passed]}"
            yield Finding(key, what, _fix(job, function, passed), place=place)


def _fix(job: Document, function: LocalName, passed: str) -> Fix | None:
    """Return the edit that gives a function what it expects, by a new first line; None if that may break a use of it."""
    at = function.body
    if at is None or at.line is None or at.column is None or "prompts" in function.parameters:
        return None
    cells = read_cells(job.text) if at.cell else {0: job.text}
    if _count_uses(function.name, cells.values()) > 1:
        return None
    expected = EXPECTED[function.completions, passed]
    line = f"completions = [{expected} for completion in completions]{_line_start(cells[at.cell or 0], at.line, at.column)}"
    start = (at.line, at.column)
    edit = TextEdit(start, start, line, at.cell)
    return Fix(f"make of each completion what `{function.name}` expects", (), text_edits=(edit,))


def _count_uses(name: str, sources: Iterable[str]) -> int:
    """Return how often a function's name stands in sources, apart from its definition; a text that is this name is none."""
    return sum(len(re.findall(rf"(?<![\w'\"]){name}(?![\w'\"])", source)) for source in sources) - 1


def _line_start(source: str, line: int, column: int) -> str:
    """Return the line break before a line, and its indent up to a column."""
    breaks = [each[0] for each in LINE_BREAK.finditer(source)]
    return breaks[line - 2] + LINE_BREAK.split(source)[line - 1][: column - 1]


def _passed(job: Document, types: Mapping[str, Type] | Unknown) -> str:
    """Return what a completion is; empty where prompts are neither texts nor conversations.

    Raises:
        MissingFactError: What the prompts are is not known.
    """
    for key in (*REMADE, "dataset.map") if job.kind == "job" else REMADE:
        if job.get(key, None):
            raise MissingFactError(key, f"what the completions are after `{key}` is not known before the job runs")
    if isinstance(types, Unknown):
        raise MissingFactError("columns", types.because)
    kind = types.get(PROMPT)
    if kind is None:
        return ""
    return "messages" if is_messages(kind) else "text" if kind == STRING else ""


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: rows.jsonl
rewards: ["scores.py:short"]
"""
SCRIPT = '''
import re

from datasets import load_dataset
from trl import GRPOTrainer


def boxed(completions, **kwargs):
    """1 for an answer in a box."""
    return [float(bool(re.search(r"boxed", each))) for each in completions]


trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=[boxed], train_dataset=load_dataset("acme/maths", split="train"))
'''
OF_MESSAGES = SCRIPT.replace('r"boxed", each)', 'r"boxed", each[0]["content"])')
ASKING = SCRIPT.replace("each))", "each if isinstance(each, str) else each[-1]['content']))")
ZIPPED = SCRIPT.replace('re.search(r"boxed", each)', "each.strip() == one").replace(
    "for each in completions", "for one, each in zip(prompts, completions)"
)
ZIPPED = ZIPPED.replace("boxed(completions", "boxed(prompts, completions")
BODY = '    return [float(bool(re.search(r"boxed"'
TEXTS = SCRIPT.replace(BODY, '    completions = [completion[0]["content"] for completion in completions]\n' + BODY)
RECORDS = OF_MESSAGES.replace(
    BODY, '    completions = [[{"role": "assistant", "content": completion}] for completion in completions]\n' + BODY
)
TRIED = SCRIPT.replace("\n\ntrainer", '\n\nassert boxed(["boxed"]) == [1.0]\ntrainer')
MESSAGES = ListOf(Struct({"role": STRING, "content": STRING}))
CHAT: dict[str, object] = {"column_types": {"prompt": MESSAGES}}
TEXT: dict[str, object] = {"column_types": {"prompt": STRING}}


def _with_file(facts: dict[str, object]) -> dict[str, object]:
    short = LocalName("short", "function", ("completions",), open=True, completions="messages")
    return {"files": {"scores.py": NamedFile(names=frozenset({"short"}), functions={"short": short})}, **facts}


RULE = Rule(
    code="RWD117",
    name="misread-completions",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "trl 1.16, `GRPOTrainer` and `RLOOTrainer`. Tried with a tiny model and both kinds of prompts: each of the uses raises AttributeError or "
        "TypeError for the other kind at the first step, and trains with its own; so does each of the new first lines."
    ),
    bad=(
        Case(script=SCRIPT, facts=CHAT, at="trainer.reward_funcs", fixed=TEXTS),
        Case(script=ZIPPED, facts=CHAT, at="trainer.reward_funcs"),
        Case(script=TRIED, facts=CHAT, at="trainer.reward_funcs"),
        Case(script=OF_MESSAGES, facts=TEXT, at="trainer.reward_funcs", fixed=RECORDS),
        Case(job=JOB, facts=_with_file(TEXT), at="rewards.0"),
    ),
    good=(
        Case(script=SCRIPT, facts=TEXT),
        Case(script=OF_MESSAGES, facts=CHAT),
        Case(script=ASKING, facts=CHAT),
        Case(job=JOB, facts=_with_file(CHAT)),
    ),
    kinds=ANY_KIND,
)
