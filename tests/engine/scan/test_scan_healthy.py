"""Healthy datasets of every type and format: none is refused."""

import json
from typing import Any

import pytest

from holdfast.core.check.finding import Severity
from holdfast.engine.check.rule_runner import severity_of
from tests.helpers.scanned import Row, assistant, findings, good, scan, system, user

TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
CALL = {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
CALLING = [user(), assistant(None, tool_calls=[CALL]), {"role": "tool", "name": "add", "content": "3"}, assistant("3")]
PLACE: Row = {"type": "image", "text": None}
SAID: Row = {"type": "text", "text": "What is this?"}
LANGUAGES = [
    "Voilà, ça marche à Noël ; garçon, œuf, cœur, « bonjour » — déjà vu…",
    "AS IRMÃS DISSERAM: NÃO! A MAÇÃ” É DE SÃO PAULO. Âmbar, Ângela, IRMû.",
    "Ñandú, español, ÇA VA? ÂGE, CHÂTEAU, Ð and Ñ, ESPAÑA",
    "Þórður og Ragnheiður, Ísafjörður, ðŠ",
    "Привет, как дела? Ёж, Її, Ўў",
    "你好,世界。日本語のテキスト、한국어 문장",
    "مرحبا بالعالم، كيف حالك؟ שלום עולם",
    "नमस्ते दुनिया ไทย ខ្មែរ",
    "emoji 🙂👍🏽👨‍👩‍👧‍👦 🇫🇷 and zero\u200bwidth, non\u00a0breaking, soft\u00adhyphen",
    "def f(x):\n\treturn x\r\n\f# tab, form feed and return",
    "\x1b[31mred\x1b[0m of a terminal",
    "The bytes of é are \\xc3\\xa9, and \\u00e9 is its escape; C:\\users\\dir",
    "€ 5, “quotes”, ½ cup, 25 °C, x² + y³, naïve",
    '{"role": "user"} is an object, [1, 2] a list, and [{"id": 1}] of JSON',
]


def texts(*values: str) -> list[Row]:
    return [{"text": value} for value in values]


def of(kind: str, count: int = 7, **more: Any) -> list[Row]:
    return [{**good(kind, index), **more} for index in range(count)]


def chats(*conversations: list[Row]) -> list[Row]:
    return [{"messages": turns} for turns in conversations]


def longer(index: int) -> list[Row]:
    return [system(), user(f"Question {index}"), assistant("An answer"), user("And now?"), assistant("Another")]


HEALTHY: dict[str, tuple[list[Row], tuple[str, ...]]] = {
    "language modeling, texts": (of("text"), ("sft",)),
    "language modeling, conversations": (of("messages"), ("sft",)),
    "language modeling, ShareGPT": (of("sharegpt"), ("sft",)),
    "ShareGPT with its own roles": (
        [{"conversations": [{"from": "human", "value": f"q{i}"}, {"from": "gpt", "value": "a"}]} for i in range(5)],
        ("sft",),
    ),
    "prompt and completion": (of("completion"), ("sft", "grpo", "rloo")),
    "prompt and completion, conversations": (of("completion-chat"), ("sft", "grpo", "rloo")),
    "prompts": (of("prompt"), ("grpo", "rloo")),
    "prompts, conversations": (of("prompt-chat"), ("grpo", "rloo")),
    "prompts with answers": (of("prompt-chat", answer="4"), ("grpo", "rloo")),
    "the same prompt every time": ([good("prompt-chat", 0)] * 9, ("grpo", "rloo")),
    "prompts to be continued": ([{"prompt": [user(f"{i}"), assistant("So, ")]} for i in range(5)], ("grpo", "rloo")),
    "pairs": (of("pair"), ("dpo", "reward", "kto")),
    "pairs, conversations": (of("pair-chat"), ("dpo", "reward", "kto")),
    "pairs with their prompt inside": (of("implicit"), ("dpo", "reward", "kto")),
    "pairs with their prompt inside, conversations": (of("implicit-chat"), ("dpo", "reward", "kto")),
    "pairs with scores": (of("pair", score_chosen=8.5, score_rejected=None), ("dpo", "reward")),
    "pairs with margins": (of("implicit-chat", margin=0.5), ("reward",)),
    "pairs of long conversations": (
        [
            {"chosen": [*longer(i)[:-1], assistant("a")], "rejected": [*longer(i)[:-1], assistant("b")]}
            for i in range(5)
        ],
        ("dpo", "reward", "kto"),
    ),
    "pairs that part before the end": (
        [{"chosen": [user("q"), assistant("a"), user("r"), assistant("b")], "rejected": [user("q"), assistant("c")]}],
        ("dpo", "reward"),
    ),
    "unpaired": (of("label"), ("kto", "sft")),
    "unpaired, conversations": (of("label-chat"), ("kto", "sft")),
    "unpaired, labels 0 and 1": ([{**row, "label": int(row["label"])} for row in of("label")], ("kto",)),
    "stepwise": (of("steps"), ()),
    "several turns with a system turn": (chats(*[longer(index) for index in range(6)]), ("sft",)),
    "a developer's turn": (chats([{"role": "developer", "content": "Be brief."}, user(), assistant()]), ("sft",)),
    "a blank system turn": (chats([system(""), user(), assistant()]), ("sft",)),
    "tools as JSON": (of("messages", tools=json.dumps([TOOL])), ("sft",)),
    "tools as JSON, none": ([{**row, "tools": "[]"} for row in of("messages")], ("sft",)),
    "tools as a list": (of("pair-chat", tools=[TOOL]), ("dpo", "reward")),
    "tools in some rows": (
        [*of("messages", tools=json.dumps([TOOL])), {**good("messages", 9), "tools": None}],
        ("sft",),
    ),
    "calls of tools": (chats(CALLING, *[longer(index) for index in range(3)]), ("sft",)),
    "several calls at once": (
        chats(
            [user(), assistant("", tool_calls=[CALL, CALL]), *[{"role": "tool", "content": "3"}] * 2, assistant("3")]
        ),
        ("sft",),
    ),
    "calls written in text": (
        chats(
            [user(), assistant("<tool_call>add(1, 2)</tool_call>"), {"role": "tool", "content": "3"}, assistant("3")]
        ),
        ("sft",),
    ),
    "an answer with a call": (
        [{"prompt": [user(f"{i}")], "completion": [assistant("", tool_calls=[CALL])]} for i in range(4)],
        ("sft",),
    ),
    "an answer after a tool's": (
        [{"prompt": CALLING[:3], "completion": [assistant(f"{i}")]} for i in range(4)],
        ("sft",),
    ),
    "thinking": (chats(*[[user(f"{i}"), assistant("4", thinking="2 and 2")] for i in range(4)]), ("sft",)),
    "thinking alone": (chats(*[[user(f"{i}"), assistant("", reasoning_content="Hm.")] for i in range(4)]), ("sft",)),
    "content in parts": (chats(*[[user([SAID]), assistant([{**SAID, "text": f"{i}"}])] for i in range(4)]), ("sft",)),
    "languages": (texts(*LANGUAGES), ("sft",)),
    "languages in conversations": (chats(*[[user(text), assistant(text)] for text in LANGUAGES]), ("sft",)),
    "languages in pairs": (
        [{"prompt": text, "chosen": f"yes, {text}", "rejected": f"no, {text}"} for text in LANGUAGES],
        ("dpo",),
    ),
    "images with text": (of("messages", images=[b"png"]), ("sft",)),
    "images with places": (
        [{"messages": [user([PLACE, SAID]), assistant([SAID])], "images": [b"png", b"jpg"][:1]} for _ in range(3)],
        ("sft",),
    ),
    "one image": (of("completion-chat", image={"bytes": b"png", "path": None}), ("sft",)),
    "extra columns": (of("messages", id=7, source="web", scores=[1.0], meta={"a": 1}), ("sft",)),
    "extra columns of nulls": (of("pair", note=None, tags=None), ("dpo", "reward")),
    "an extra conversation of nulls": (
        [{**good("text", index), "history": [user()] if index == 2 else None} for index in range(5)],
        ("sft",),
    ),
    "tokens": ([{"input_ids": [1, 2, index], "labels": [-100, 2, index]} for index in range(4)], ("sft",)),
    "one row": (of("text", 1), ("sft",)),
    "short prompts and answers": (
        [{"prompt": "a", "chosen": f"a{i}", "rejected": f"ab{i}"} for i in range(4)],
        ("dpo",),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_data_is_not_refused(name: str) -> None:
    """For each method that it is for, and for none in particular, there is no error."""
    rows, methods = HEALTHY[name]
    for method in (None, *methods):
        refused = [told.message for told in findings(scan(rows, method), method) if severity_of(told) is Severity.ERROR]
        assert refused == [], method


# What is said of healthy data all the same, which is no error.
SAID_OF = {
    "ShareGPT with its own roles": {"DAT209"},
    "prompts to be continued": {"DAT210"},
    "the same prompt every time": set[str](),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_data_is_not_talked_about(name: str) -> None:
    """Of most healthy data nothing is said at all, for the method that it is for."""
    rows, methods = HEALTHY[name]
    told = {each.rule.code for method in methods for each in findings(scan(rows, method), method) if each.rule}
    allowed = SAID_OF.get(name, set())

    assert told - {"DAT219"} <= allowed, told  # several of these tables say the same thing more than once


def test_there_are_as_many_as_promised() -> None:
    """At least 40 healthy datasets are tried."""
    assert len(HEALTHY) >= 40
