"""What a program's own functions surely do with completions and rows is reported; what may be right is not."""

import json
from pathlib import Path

import pytest

from holdfast import check
from tests.helpers.children import ask
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

REWARD = """import re

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

rows = load_dataset("json", data_files="{kind}.jsonl", split="train")


{function}


GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=score, args=GRPOConfig(output_dir="out"), train_dataset=rows)
"""
TEXT, CHAT = "text", "chat"


def write(path: str, prompt: object) -> None:
    """Write two rows with that prompt."""
    Path(path).write_text((json.dumps({"prompt": prompt, "answer": "2"}) + "\n") * 2)


def codes(program: str, rule: str) -> list[str]:
    """Return the codes that one rule reports for a program."""
    Path("train.py").write_text(program)
    targets = check("train.py", offline=True, cache=False, select=rule)["targets"]
    return [each["code"] for each in targets[0]["findings"]]


BODIES = [
    ("    return [float(bool(re.search('2', each))) for each in completions]", TEXT),
    ("    return [float(each.strip() == one) for each, one in zip(completions, answer)]", TEXT),
    ("    out = []\n    for i, each in enumerate(completions):\n        out.append(len(each.split()))\n    return out", TEXT),
    ("    return [float(len(each[-1]['content'])) for each in completions]", CHAT),
    ("    texts = [each[0]['content'] for each in completions]\n    return [len(each.split()) for each in texts]", CHAT),
    ("    return [float(len(each['content'])) for each in completions]", ""),
    ("    return [float(len(each)) for each in completions]", TEXT + CHAT),
    ("    return [float(len(text_of(each).strip())) for each in completions]", TEXT + CHAT),
    ("    if isinstance(completions[0], list):\n        return [1.0] * len(completions)\n    return [len(c.strip()) for c in completions]", TEXT + CHAT),
    ("    completions = map(text_of, completions)\n    return [len(c.strip()) for c in completions]", TEXT + CHAT),
    ("    return [len((c if plain else c[0]['content']).strip()) + len(c.strip()) for c in completions]", TEXT + CHAT),
]  # fmt: skip


@pytest.mark.parametrize(("body", "fits"), BODIES)
def test_completions(body: str, fits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that takes one kind of completions is reported with prompts of the other kind alone."""
    monkeypatch.chdir(tmp_path)
    write("text.jsonl", "1 plus 1?")
    write("chat.jsonl", [{"role": "user", "content": "1 plus 1?"}])
    function = f"def score(completions, answer, **kwargs):\n{body}"

    found = {kind: codes(REWARD.format(kind=kind, function=function), "RWD117") for kind in (TEXT, CHAT)}

    assert found == {kind: [] if kind in fits else ["RWD117"] for kind in (TEXT, CHAT)}


TRAINING = """
import json, re, sys
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
tiny, bodies = json.load(sys.stdin)
prompts = {"text": "1 plus 1?", "chat": [{"role": "user", "content": "1 plus 1?"}]}
def text_of(completion):
    return completion if isinstance(completion, str) else completion[0]["content"]
def ended(body, kind):
    space = {"re": re, "text_of": text_of}
    exec(f"def score(completions, answer, **kwargs):\\n{body}", space)
    args = GRPOConfig(
        "out", use_cpu=True, max_steps=1, per_device_train_batch_size=2, num_generations=2, max_completion_length=4,
        report_to="none", disable_tqdm=True, save_strategy="no",
    )
    rows = Dataset.from_dict({"prompt": [prompts[kind]] * 4, "answer": ["2"] * 4})
    try:
        GRPOTrainer(tiny, reward_funcs=space["score"], args=args, train_dataset=rows).train()
    except (AttributeError, TypeError):
        return "raised"
    return "trained"
sys.stdout, out = sys.stderr, sys.stdout
print(json.dumps([{kind: ended(body, kind) for kind in prompts} for body in bodies]), file=out)
"""


@pytest.mark.train
@pytest.mark.long
def test_real_trl_fails_with_the_other_kind(tiny: Path) -> None:
    """One step of grpo with each function and each kind of prompts."""
    tried = {body: fits for body, fits in BODIES if "plain" not in body}

    ends = ask(["-c", TRAINING], [str(tiny), list(tried)])

    assert ends == [{kind: "trained" if kind in fits else "raised" for kind in (TEXT, CHAT)} for fits in tried.values()]


COLLATOR = """from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")


def collate(rows):
{body}


Trainer(
    AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"),
    args=TrainingArguments(output_dir="out"),
    train_dataset=load_dataset("json", data_files="rows.jsonl", split="train"),
    data_collator=collate,
)
"""


@pytest.mark.parametrize(
    ("body", "reported"),
    [
        ("    return tokenizer([row['question'] for row in rows])", True),
        ("    texts = [row['question'] + row['answer'] for row in rows]\n    return tokenizer(texts)", True),
        ("    for row in rows:\n        row['ids'] = tokenizer(row['question'])\n    return pad(rows)", True),
        ("    return pad([{'input_ids': row['input_ids']} for row in rows])", False),
        ("    return tokenizer([row['text'] if 'text' in row else row['question'] for row in rows])", False),
        ("    for row in rows:\n        if row:\n            row['question'].strip()\n    return pad(rows)", False),
        ("    rows = [read(row) for row in rows]\n    return tokenizer([row['question'] for row in rows])", False),
        ("    for row in rows:\n        row['question'] = 'a'\n        row['question'].strip()\n    return pad(rows)", False),
    ],
)  # fmt: skip
def test_collators(body: str, reported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that a collator surely reads, and that no model takes, is reported."""
    monkeypatch.chdir(tmp_path)
    write("rows.jsonl", "1 plus 1?")

    assert codes(COLLATOR.format(body=body), "DAT130") == ["DAT130"] * reported
