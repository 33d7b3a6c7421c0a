"""What holdfast says the tokens of rows are is what real TRL trains on: ids, labels, what is left out, and steps.

Every case is prepared by the real trainer and its collator, all in one process, since importing TRL takes seconds.
"""

import itertools
import json
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.core.check.finding import Finding, Severity
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.rows.scan import Scan, Tokens
from holdfast.engine.check.rule_runner import run_rules, select, severity_of
from holdfast.engine.tokens import tokenize_rows
from holdfast.engine.tokens.cutting import is_left_out, kept_span
from holdfast.engine.tokens.preparing import Sequenced, prepare_rows
from holdfast.engine.tokens.reading import look_at
from holdfast.engine.tokens.recipe import Recipe, read_recipe
from holdfast.ports import Batch
from holdfast.rules import all_rules
from tests.helpers.children import ask, ask_each
from tests.helpers.sampling import asked, sampled
from tests.helpers.tiny import CHAT_TEMPLATE, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

Rows = list[dict[str, Any]]

MARKED = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% if m['role'] == 'assistant' %}{% generation %}"
    "{{ m['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# The prompt alone ends with an empty thought that the whole conversation does not have.
THINKING = CHAT_TEMPLATE.replace("assistant\n{% endif %}", "assistant\n<think></think>{% endif %}")
TOOLS = "{% if tools %}tools: {{ tools | tojson }}\n{% endif %}{% if loud %}LOUD\n{% endif %}" + CHAT_TEMPLATE


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


ASKED = [f"{'well, ' * (n % 5)}{n} plus {n * 3} equals?" for n in range(24)]
SAID = [f"{n * 4}{' indeed' * (n % 7)}." for n in range(24)]
TEXTS: Rows = [{"text": f"{q} {a}"} for q, a in zip(ASKED, SAID, strict=True)]
CHATS: Rows = [{"messages": [user(q), assistant(a)]} for q, a in zip(ASKED, SAID, strict=True)]
TURNS: Rows = [{"messages": [*chat["messages"], *other["messages"]]} for chat, other in itertools.pairwise(CHATS)]
SHARED: Rows = [
    {"conversations": [{"from": "user", "value": q}, {"from": "assistant", "value": a}]}
    for q, a in zip(ASKED, SAID, strict=True)
]
PAIRED: Rows = [{"prompt": f"{q} ", "completion": a} for q, a in zip(ASKED, SAID, strict=True)]
ANSWERED: Rows = [{"prompt": [user(q)], "completion": [assistant(a)]} for q, a in zip(ASKED, SAID, strict=True)]
PREFERRED: Rows = [{"prompt": f"{q} ", "chosen": a, "rejected": f"no {a}"} for q, a in zip(ASKED, SAID, strict=True)]
IMPLICIT: Rows = [{"chosen": f"{q} yes {a}", "rejected": f"{q} no"} for q, a in zip(ASKED, SAID, strict=True)]
CHOSEN: Rows = [
    {"prompt": [user(q)], "chosen": [assistant(a)], "rejected": [assistant(f"no {a} or so")]}
    for q, a in zip(ASKED, SAID, strict=True)
]
UNSAID: Rows = [
    {"chosen": [user(q), assistant(a)], "rejected": [user(q), assistant("no")]}
    for q, a in zip(ASKED, SAID, strict=True)
]
JUDGED: Rows = [{**row, "label": bool(n % 2)} for n, row in enumerate(PAIRED)]
JUDGED_CHATS: Rows = [{**row, "label": bool(n % 3)} for n, row in enumerate(ANSWERED)]
TOOLED: Rows = [{**row, "tools": json.dumps([{"name": f"t{n % 2}"}])} for n, row in enumerate(CHATS)]
ENDED: Rows = [{"text": row["text"] + "<|im_end|>" * (n % 2)} for n, row in enumerate(TEXTS)]
BOTH: Rows = [{**row, "text": "aside"} for row in PAIRED]
MADE: Rows = [{"input_ids": [1, 2, 3 + n, 4], "completion_mask": [0, 0, 1, 1]} for n in range(6)]
GROUPS = {"num_generations": 2, "per_device_train_batch_size": 4}


@dataclass(frozen=True)
class Case:
    """Rows, and how they are trained on."""

    method: str
    rows: Rows
    train: dict[str, Any] = field(default_factory=dict[str, Any])
    template: str | None = None


CASES = {
    "sft-text": Case("sft", TEXTS),
    "sft-text-that-ends": Case("sft", ENDED),
    "sft-other-column": Case("sft", [{"body": row["text"]} for row in TEXTS], {"dataset_text_field": "body"}),
    "sft-other-end": Case("sft", TEXTS, {"eos_token": "<|endoftext|>"}),
    "sft-text-cut": Case("sft", TEXTS, {"max_length": 12}),
    "sft-text-end-kept": Case("sft", TEXTS, {"max_length": 12, "truncation_mode": "keep_end"}),
    "sft-text-uncut": Case("sft", TEXTS, {"max_length": None}),
    "sft-messages": Case("sft", CHATS, {"num_train_epochs": 2.5, "per_device_train_batch_size": 4}),
    "sft-conversations": Case("sft", SHARED),
    "sft-tools": Case("sft", TOOLED, template=TOOLS),
    "sft-prompts": Case("sft", PAIRED),
    "sft-prompts-cut": Case("sft", PAIRED, {"max_length": 16}),
    "sft-prompts-learned": Case("sft", PAIRED, {"completion_only_loss": False}),
    "sft-prompts-beside-text": Case("sft", BOTH),
    "sft-chat-prompts": Case("sft", ANSWERED),
    "sft-chat-prompts-cut": Case("sft", ANSWERED, {"max_length": 20}),
    "sft-chat-prompts-end-kept": Case("sft", ANSWERED, {"max_length": 20, "truncation_mode": "keep_end"}),
    "sft-thinking": Case("sft", ANSWERED, template=THINKING),
    "sft-assistant": Case("sft", TURNS, {"assistant_only_loss": True}, MARKED),
    "sft-assistant-cut": Case("sft", TURNS, {"assistant_only_loss": True, "max_length": 24}, MARKED),
    "sft-assistant-answers": Case("sft", ANSWERED, {"assistant_only_loss": True}, MARKED),
    "sft-assistant-by-trl": Case("sft", TURNS, {"assistant_only_loss": True}, "qwen2_5"),
    "sft-ids": Case("sft", MADE, {"completion_only_loss": True}),
    "sft-accumulated": Case("sft", CHATS, {"gradient_accumulation_steps": 5, "per_device_train_batch_size": 2}),
    "sft-last-dropped": Case("sft", CHATS, {"dataloader_drop_last": True, "per_device_train_batch_size": 5}),
    "sft-nothing-left": Case("sft", CHATS, {"dataloader_drop_last": True, "per_device_train_batch_size": 50}),
    "sft-so-many-steps": Case("sft", CHATS, {"max_steps": 7}),
    "dpo-text": Case("dpo", PREFERRED),
    "dpo-implicit": Case("dpo", IMPLICIT),
    "dpo-chat": Case("dpo", CHOSEN),
    "dpo-implicit-chat": Case("dpo", UNSAID),
    "dpo-cut": Case("dpo", CHOSEN, {"max_length": 22}),
    "dpo-end-kept": Case("dpo", CHOSEN, {"max_length": 22, "truncation_mode": "keep_end"}),
    "dpo-thinking": Case("dpo", CHOSEN, template=THINKING),
    "kto-text": Case("kto", JUDGED),
    "kto-chat": Case("kto", JUDGED_CHATS),
    "kto-cut": Case("kto", JUDGED_CHATS, {"max_length": 20}),
    "kto-pairs": Case("kto", CHOSEN, {"max_length": 22}),
    "reward-text": Case("reward", IMPLICIT),
    "reward-prompts": Case("reward", PREFERRED),
    "reward-chat": Case("reward", CHOSEN),
    "reward-too-long": Case("reward", CHOSEN, {"max_length": 30}),
    "grpo-text": Case("grpo", [{"prompt": q} for q in ASKED], {**GROUPS, "gradient_accumulation_steps": 2}),
    "grpo-chat": Case("grpo", [{"prompt": [user(q)]} for q in ASKED], GROUPS),
    "grpo-told": Case(
        "grpo", [{"prompt": [user(q)]} for q in ASKED], {**GROUPS, "chat_template_kwargs": {"loud": True}}, TOOLS
    ),
    "grpo-several-passes": Case("grpo", [{"prompt": q} for q in ASKED], {**GROUPS, "num_iterations": 3}),
    "grpo-too-few": Case("grpo", [{"prompt": q} for q in ASKED[:1]], GROUPS),
    "grpo-whole-batches": Case(
        "grpo", [{"prompt": q} for q in ASKED[:13]], {**GROUPS, "generation_batch_size": 8, "num_train_epochs": 2}
    ),
    "rloo-chat": Case("rloo", [{"prompt": [user(q)]} for q in ASKED], GROUPS),
}
PACKED = {
    "fitted": Case("sft", CHATS, {"packing": True, "max_length": 48}),
    "cut": Case("sft", CHATS, {"packing": True, "max_length": 16}),
    "split": Case("sft", CHATS, {"packing": True, "max_length": 16, "packing_strategy": "bfd_split"}),
    "wrapped": Case("sft", CHATS, {"packing": True, "max_length": 48, "packing_strategy": "wrapped"}),
    "answers": Case("sft", ANSWERED, {"packing": True, "max_length": 64, "per_device_train_batch_size": 2}),
}


REFUSING = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system message') }}{% endif %}" + CHAT_TEMPLATE
)
SYSTEM: Rows = [*CHATS[:3], {"messages": [{"role": "system", "content": "be brief"}, *CHATS[0]["messages"]]}]
SILENT: Rows = [*CHATS[:3], {"messages": [user("who?")]}]
SHORT = {"max_length": 8, "max_steps": 1}
DAMAGED = {
    "sft-all-left-out": ("DAT232", "num_samples=0", Case("sft", ANSWERED, SHORT)),
    "dpo-all-left-out": ("DAT232", "num_samples=0", Case("dpo", CHOSEN, SHORT)),
    "reward-all-left-out": ("DAT232", "num_samples=0", Case("reward", CHOSEN, SHORT)),
    "kto-all-left-out": ("DAT232", "no step", Case("kto", JUDGED_CHATS, SHORT)),
    "masked-when-packed": ("DAT233", "no gradient", Case("sft", ANSWERED, {**SHORT, "packing": True})),
    "masked-labels": (
        "DAT233",
        "no gradient",
        Case("sft", [{"input_ids": [1, 2, 3], "labels": [-100] * 3}] * 8, {"max_length": None, "max_steps": 1}),
    ),
    "unmarked-template": ("DAT234", "ValueError: The chat template", Case("sft", CHATS, {"assistant_only_loss": True})),
    "unmarked-row": ("DAT234", "RuntimeError", Case("sft", SILENT, {"assistant_only_loss": True}, MARKED)),
    "system-refused": ("DAT238", "TemplateError: no system message", Case("sft", SYSTEM, template=REFUSING)),
    "no-column": ("DAT238", "KeyError", Case("sft", [{"prompt": "a text"}] * 8)),
    "null-text": ("DAT238", "AttributeError", Case("sft", [*TEXTS[:8], {"text": None}])),
    "beyond": ("DAT237", "IndexError", Case("sft", [{"input_ids": [1, 2, 600]}] * 8, {"max_steps": 1})),
    "no-batch": (
        "DAT239",
        "max_steps must be set",
        Case("sft", TEXTS, {"dataloader_drop_last": True, "per_device_train_batch_size": 50}),
    ),
    "too-few-prompts": ("DAT239", "max_steps must be set", Case("grpo", [{"prompt": "1 plus 1 equals?"}], GROUPS)),
    "too-few-prompts-for-steps": (
        "DAT239",
        "no step",
        Case("rloo", [{"prompt": "1 plus 1 equals?"}], {**GROUPS, "max_steps": 2}),
    ),
}


@pytest.fixture(scope="module", name="folders")
def make_folders(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str | None, str]:
    """The tiny model's folder for each chat template."""
    base = tmp_path_factory.mktemp("templates")
    folders: dict[str | None, str] = {None: str(tiny)}
    for number, template in enumerate({case.template for case in CASES.values() if case.template} | {REFUSING}):
        folder = shutil.copytree(tiny, base / str(number))
        (folder / "chat_template.jinja").write_text(_text_of(template))
        folders[template] = str(folder)
    return folders


def _text_of(template: str) -> str:
    """A template's text; a name alone is that of one which TRL knows."""
    if "{" in template:
        return template
    program = f"import json; from trl.chat_template_utils import {template}_chat_template as t; print(json.dumps(t))"
    return str(ask(["-c", program], None))


@pytest.fixture(scope="module", name="trained")
def prepare_all(request: pytest.FixtureRequest, folders: dict[str | None, str]) -> dict[str, Any]:
    """What real TRL makes of every case."""
    names = asked(request)
    cases = [
        {"name": name, "method": each.method, "model": folders[each.template], "rows": each.rows, "train": each.train}
        for name, each in {**CASES, **PACKED}.items()
        if name in names
    ] + [
        {"name": name, "method": each.method, "model": folders[each.template], "rows": each.rows}
        | {"train": {"per_device_train_batch_size": 4} | each.train, "trains": True}
        for name, (_, _, each) in DAMAGED.items()
        if name in names
    ]
    return ask_each("prepared_by_trl", cases)


def document(case: Case, folder: str) -> Document:
    values = {"method": case.method, "model": {"path": folder}, "train": case.train}
    return Document(path="job.yaml", kind="job", values=values)


def prepared(case: Case, folder: str) -> tuple[Recipe, list[Sequenced], Tokens]:
    """What holdfast makes of a case."""
    from holdfast.adapters.tokens import load_tokenizer, want_tokenizer

    job = document(case, folder)
    recipe, tokenizer = read_recipe(job), load_tokenizer(want_tokenizer(job, offline=False))
    done = prepare_rows(list(enumerate(case.rows)), look_at(case.rows[0], recipe), recipe, tokenizer)
    assert not done.failed
    return (
        recipe,
        done.sequences,
        tokenize_rows([Batch(0, pl.DataFrame(case.rows))], tokenizer, recipe, of=None, limit=None),
    )


def cut_labels(sequence: Sequenced, recipe: Recipe) -> tuple[list[int], list[int]]:
    """Return the ids of a text as the model gets them, and the labels: the same ids, or -100 for what is not learned."""
    low, high = kept_span(sequence, recipe)
    mask = sequence.mask or [1] * len(sequence.ids)
    labels = [
        token if at >= sequence.start and mask[at] else -100 for at, token in enumerate(sequence.ids[low:high], low)
    ]
    return sequence.ids[low:high], labels


@pytest.mark.parametrize("name", sampled(CASES, 2))
def test_ids_and_labels_are_the_trainers(name: str, trained: dict[str, Any], folders: dict[str | None, str]) -> None:
    """Ids, labels, what is left out and the steps are those of the real trainer."""
    case, real = CASES[name], trained[name]
    assert real["refused"] is None
    recipe, sequences, tokens = prepared(case, folders[case.template])

    alone = recipe.method is Method.KTO
    rows = {each.row: [other for other in sequences if other.row == each.row] for each in sequences}
    groups = [[each] for each in sequences] if alone else list(rows.values())
    ours = [cut_labels(each, recipe) for group in groups if not is_left_out(group, recipe) for each in group]
    if recipe.method.generates:
        ours = [(ids, [-100] * len(ids)) for ids, _ in ours]
    assert sorted(map(list, ours)) == sorted(real["sequences"])
    assert tokens.units == real["rows"]
    assert tokens.steps == real["steps"]
    assert tokens.failed.count == 0


@pytest.mark.parametrize("name", PACKED)
def test_packs_are_as_many(name: str, trained: dict[str, Any], folders: dict[str | None, str]) -> None:
    """Rows make as many packs as real TRL makes of them, as full, and as many steps."""
    case, real = PACKED[name], trained[name]
    assert real["refused"] is None
    _, _, tokens = prepared(case, folders[case.template])

    full = sum(len(ids) for ids, _ in real["sequences"]) / (real["rows"] * case.train["max_length"])
    assert tokens.units == real["rows"]
    assert tokens.packed == pytest.approx(full)
    assert tokens.steps == real["steps"]


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_named_that_ends_or_idles_training(
    name: str, trained: dict[str, Any], folders: dict[str | None, str]
) -> None:
    """What the rules object to does what they say, in real training, and a rule objects to it."""
    from holdfast.adapters.tokens import load_tokenizer, want_tokenizer

    code, outcome, case = DAMAGED[name]
    real = trained[name]
    idle = {"no step": real.get("steps") == 0, "no gradient": set(real.get("grad_norms", "?")) == {"0.0"}}
    assert idle.get(outcome, outcome in (real["refused"] or "")), real

    job = document(case, folders[case.template])
    job = replace(job, values={**job.values, "dataset": "rows"})
    batch = Batch(0, pl.DataFrame(case.rows))
    tokens = tokenize_rows(
        [batch], load_tokenizer(want_tokenizer(job, offline=False)), read_recipe(job), of=None, limit=None
    )
    results = list(
        run_rules(
            select(all_rules(), only=("DAT23", "DAT24")), job, {"tokens": tokens, "scan": Scan(rows=len(case.rows))}
        )
    )
    found = {each.rule.code: severity_of(each) for each in results if isinstance(each, Finding) and each.rule}
    assert found.get(code) is Severity.ERROR, (found, tokens)
