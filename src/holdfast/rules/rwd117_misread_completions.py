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
function that takes `prompts` too, is in another file, or is written in one line.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.catalog.models.base_models import is_messages
from holdfast.catalog.own_rewards import own_rewards
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.calls import LocalName
from holdfast.core.job.document import Document, Unknown
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
    """Return the edit that gives a function what it expects, by a new first line; None if prompts are read alike, or it is elsewhere."""
    at = function.body
    if at is None or at.cell is not None or at.line is None or at.column is None or "prompts" in function.parameters:
        return None
    indent = LINE_BREAK.split(job.text)[at.line - 1][: at.column - 1]
    if indent.strip():
        return None
    expected = EXPECTED[function.completions, passed]
    line = f"completions = [{expected} for completion in completions]\n{indent}"
    start = (at.line, at.column)
    return Fix(
        f"make of each completion what `{function.name}` expects", (), text_edits=(TextEdit(start, start, line),)
    )


def _passed(job: Document, types: Mapping[str, Type] | Unknown) -> str:
    """Return what a completion is; empty where prompts are neither texts nor conversations.

    Raises:
        MissingFactError: What the prompts are is not known.
    """
    for key in (*REMADE, "dataset.map") if job.kind == "job" else REMADE:
        if job.get(key, None):
            raise MissingFactError(key, "what the completions are after it is not known before the job runs")
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
