"""What a trainer gets in a rehearsal: a few rows of whatever it is given, the extreme ones among them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.children import Answer
from tests.helpers.rehearsal_idioms import lay_out, row
from tests.helpers.rehearsal_rows import ask_rows
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train
LIBRARIES = "import datasets, torch\nfrom datasets import *\n"
ROWS = [
    {"text": "x" * 5_000},
    *({"text": f"plain row {number}"} for number in range(200)),
    {"text": "y" * 30_000},
    {"text": ""},
    {"text": None},
    {"text": "日本語のテキスト"},
    *({"text": "z" * 25_000} for _ in range(30)),
]

CUTS = {
    "rows": f"d = few(Dataset.from_list({ROWS!r})); t = d['text'][:]\nanswer = [len(t), t.count('y' * 30_000), None in t, '' in t, '日本語のテキスト' in t, sum(bool(r) and len(r) > 20_000 for r in t), sum('plain' in (r or '') for r in t) >= 4]",
    "no more than there are": "d = Dataset.from_list([{'a': 1}] * 10); answer = [len(few(d)), few(d) is d]",
    "labels": "d = few(Dataset.from_dict({'prompt': [f'p{i}' for i in range(500)], 'label': [i != 77 for i in range(500)]})); answer = sorted(set(d['label'][:]))",
    "roles": """m = [{'messages': [{'role': 'user', 'content': 'hi'}, {'role': 'assistant', 'content': 'ho'}]} for _ in range(300)]
m[123]['messages'][0]['role'] = 'tool'
m[200]['messages'] = []
d = few(Dataset.from_list(m)); answer = ['tool' in str(d['messages'][:]), [] in d['messages'][:]]""",
    "tokens": "d = few(Dataset.from_list([{'input_ids': [1] * (i % 50 + 1)} for i in range(500)])); n = [len(r) for r in d['input_ids']]; answer = [max(n), min(n), len(n)]",
    "format": "d = few(Dataset.from_list([{'a': i} for i in range(99)]).with_format('torch')); answer = [str(d.format['type']), type(d[0]['a']).__name__]",
    "dict": "d = few(DatasetDict({'a': Dataset.from_list([{'a': i} for i in range(99)])}), role='eval'); answer = [type(d).__name__, len(d['a'])]",
    "plain dict": "d = few({'a': Dataset.from_list([{'a': i} for i in range(99)]), 'b': None}); answer = [type(d).__name__, len(d['a']), d['b']]",
    "stream": "d = few(Dataset.from_list([{'a': 'x' * (i + 1)} for i in range(99)]).to_iterable_dataset()); n = [len(r['a']) for r in d]; answer = [type(d).__name__, len(n), max(n), n == [len(r['a']) for r in d], d.column_names]",
    "endless stream": """def rows():
    number = 0
    while True:
        yield {'a': number}
        number += 1
d = few(IterableDataset.from_generator(rows)); answer = len(list(d))""",
    "stream of nothing": "d = few(IterableDataset.from_generator(lambda: iter(()))); answer = list(d)",
    "list": "d = few([{'a': 'x' * i} for i in range(99)]); answer = [len(d), len(d[-1]['a'])]",
    "dataset of torch": """class Own(torch.utils.data.Dataset):
    pad = 7
    def __init__(self): self.rows = list(range(99))
    def __len__(self): return len(self.rows)
    def __getitem__(self, i): return {'input_ids': torch.ones(i + 1)}
own = Own(); d = few(own)
answer = [isinstance(d, Own), len(d), len(own), d.pad, max(len(d[i]['input_ids']) for i in range(len(d)))]""",
    "stream of torch": """class Own(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from range(99)
d = few(Own()); answer = [isinstance(d, Own), len(list(d)), len(list(d))]""",
    "none": "answer = [few(None), few('text')]",
    "images": """import numpy as np
d = few(Dataset.from_dict({'image': [np.zeros((4, 4, 3), dtype='uint8')] * 40, 'text': ['a'] * 40}, features=Features({'image': Image(), 'text': Value('string')})))
answer = [len(d), d[0]['image'].size]""",
}
EXPECTED: dict[str, Any] = {
    "rows": [16, 1, True, True, True, 1, True],
    "no more than there are": [10, True],
    "labels": [False, True],
    "roles": [True, True],
    "tokens": [50, 1, 16],
    "format": ["torch", "Tensor"],
    "dict": ["DatasetDict", 16],
    "plain dict": ["dict", 16, None],
    "stream": ["IterableDataset", 16, 99, True, ["a"]],
    "endless stream": 16,
    "stream of nothing": [],
    "list": [16, 98],
    "dataset of torch": [True, 16, 99, 7, 99],
    "stream of torch": [True, 16, 16],
    "none": [None, "text"],
    "images": [16, [4, 4]],
}
SLOW = {
    "slow map": "import time\nd = Dataset.from_list([{'a': i} for i in range(5000)]).map(lambda r: time.sleep(0.01) or {'b': 1})\nassert d[4000]['b'] == 1; d.select(range(4900, 5000)); answer = len(d)",
    "slow filter": "import time\nd = Dataset.from_list([{'a': i} for i in range(5000)]).filter(lambda r: time.sleep(0.01) or True); answer = len(d)",
    "quick map": "d = Dataset.from_list([{'a': i} for i in range(5000)]).map(lambda r: {'b': 1}); answer = len(d)",
}


@pytest.fixture(scope="module", name="answers")
def all_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Answer]:
    folder = tmp_path_factory.mktemp("door")
    lay_out(folder)
    pieces = CUTS | SLOW
    cases = [{"name": name, "code": LIBRARIES + code, "folder": str(folder)} for name, code in pieces.items()]
    return ask_rows("twin", folder, cases, HOLDFAST_SMALL_BOUNDS="1")


def test_a_trainer_gets_a_few_rows_the_extreme_ones_among_them(answers: dict[str, Answer]) -> None:
    assert {name: answers[name]["refused"] or answers[name]["answer"] for name in CUTS} == EXPECTED


def test_a_slow_function_is_shown_some_of_the_rows(answers: dict[str, Answer]) -> None:
    assert {name: answers[name]["refused"] or answers[name]["answer"] for name in SLOW} == {
        "slow map": 128,
        "slow filter": 128,
        "quick map": 5000,
    }
    assert answers["slow map"]["s"] < 4  # rather than 50
    assert any(event["event"] == "shrunk" and event["asked"] == 5000 for event in answers["slow map"]["told"])


SETTINGS = "output_dir='out', max_steps=2, per_device_train_batch_size=4, report_to='none', use_cpu=True, bf16=False, save_strategy='no', disable_tqdm=True"
TRAINED = {
    "sft": "d = Dataset.from_list([{'messages': [{'role': 'user', 'content': f'{i} plus 1'}, {'role': 'assistant', 'content': f'{i + 1} ' * (i % 9 + 1)}]} for i in range(100)])\nt = trl.SFTTrainer('MODEL', args=trl.SFTConfig(SETTINGS, eval_strategy='steps', eval_steps=1), train_dataset=few(d), eval_dataset=few({'a': d, 'b': d}, role='eval'))",
    "sft packed": "d = Dataset.from_list([{'text': f'{i} plus 1 ' * (i % 9 + 1)} for i in range(100)])\nt = trl.SFTTrainer('MODEL', args=trl.SFTConfig(SETTINGS, packing=True, max_length=64), train_dataset=few(d))",
    "sft of a stream": "d = Dataset.from_list([{'text': f'{i} plus 1'} for i in range(100)]).to_iterable_dataset()\nt = trl.SFTTrainer('MODEL', args=trl.SFTConfig(SETTINGS), train_dataset=few(d))",
    "dpo": "d = Dataset.from_list([{'prompt': f'{i}', 'chosen': f' {i + 1}', 'rejected': f' {i} no'} for i in range(100)])\nt = trl.DPOTrainer('MODEL', args=trl.DPOConfig(SETTINGS), train_dataset=few(d))",
    "grpo": "d = Dataset.from_list([{'prompt': f'{i} plus 1', 'answer': str(i)} for i in range(100)])\nt = trl.GRPOTrainer('MODEL', reward_funcs=lambda completions, answer, **_: [float(len(c) % 3) for c in completions], args=trl.GRPOConfig(SETTINGS, num_generations=4, max_completion_length=8), train_dataset=few(d))",
    "kto": "d = Dataset.from_list([{'prompt': f'{i}', 'completion': f' {i + 1}', 'label': i == 60} for i in range(100)])\nt = trl.KTOTrainer('MODEL', args=trl.KTOConfig(SETTINGS), train_dataset=few(d))",
    "reward": "d = Dataset.from_list([{'chosen': f'{i} yes', 'rejected': f'{i} no'} for i in range(100)])\nt = trl.RewardTrainer('MODEL', args=trl.RewardConfig(SETTINGS), train_dataset=few(d))",
    "transformers": "import transformers\nd = Dataset.from_list([{'input_ids': [1, 2, 3], 'labels': [1, 2, 3]} for i in range(100)])\nm = transformers.AutoModelForCausalLM.from_pretrained('MODEL')\nt = transformers.Trainer(m, args=transformers.TrainingArguments(SETTINGS.replace_bf), train_dataset=few(d))",
}
AFTER = "\nt.train()\nassert t.state.global_step == 2\nanswer = getattr(t.train_dataset, 'num_rows', None)"


@pytest.mark.long
def test_real_trainers_train_on_the_few_rows(tiny: Path, tmp_path: Path) -> None:
    codes = {
        name: code.replace("SETTINGS.replace_bf", SETTINGS).replace("SETTINGS", SETTINGS)
        for name, code in TRAINED.items()
    }
    cases = [
        {
            "name": name,
            "code": f"import trl\nfrom datasets import *\n{code}{AFTER}".replace("MODEL", str(tiny)),
            "folder": str(tmp_path),
        }
        for name, code in codes.items()
    ]
    answers = ask_rows("twin", tmp_path, cases)
    refused = {name: answer["refused"] for name, answer in answers.items() if answer["refused"]}
    assert not refused
    assert {answers[name]["answer"] for name in ("sft", "dpo", "grpo", "kto", "reward", "transformers")} == {16}


@pytest.mark.long
def test_rows_that_are_known_to_be_good_stand_for_all(tmp_path: Path) -> None:
    """Whatever the script loads, and whatever is wrong with it."""
    lay_out(tmp_path)
    (tmp_path / "known.jsonl").write_text(
        "".join(json.dumps(row(number)) + "\n" for number in range(8)), encoding="utf-8"
    )
    pieces = {
        "file": "d = load_dataset('json', data_files='large.jsonl', split='train')",
        "missing file": "d = load_dataset('json', data_files='nope.jsonl', split='train')",
        "missing dataset": "d = load_dataset('acme/nothing', split='train')",
        "split": "d = load_dataset('json', data_files='large.jsonl', split='trian')",
        "slice": "d = load_dataset('json', data_files='large.jsonl', split='train[:10%]')",
        "splits": "d = load_dataset('acme/nothing')['test']",
        "disk": "d = load_from_disk('nowhere')",
        "from_json": "d = Dataset.from_json('nope.jsonl')",
        "from_list": "d = Dataset.from_list([{'text': 1}])",
        "from_dict": "d = Dataset.from_dict({'text': 1})",
        "from_pandas": "d = Dataset.from_pandas(None)",
        "from_generator": "d = Dataset.from_generator(lambda: 1 / 0)",
        "stream": "d = next(iter(load_dataset('acme/nothing', split='train', streaming=True))); d = [d] * 8",
        "far": "d = load_dataset('acme/nothing', split='train').select(range(1000)); d.train_test_split(test_size=500)",
    }
    known = str(tmp_path / "known.jsonl")
    cases = [
        {"name": name, "code": f"{LIBRARIES}{code}\nanswer = len(d)", "folder": str(tmp_path), "known_rows": known}
        for name, code in pieces.items()
    ]
    answers = ask_rows("twin", tmp_path, cases)
    assert {name: answer["refused"] or answer["answer"] for name, answer in answers.items()} == {
        **dict.fromkeys(pieces, 8),
        "splits": 2,  # of three, which share no row
    }
