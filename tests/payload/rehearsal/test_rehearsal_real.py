"""What scripts that others wrote do, and rehearsals once stumbled over; and that the models they name are what they should be."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.hub import loopback_hub
from tests.helpers.real_world import MODELS, fill
from tests.helpers.rehearsal_jobs import Job
from tests.helpers.rehearsing import Rehearse, told
from tests.helpers.tiny import quiet_environment

pytestmark = [pytest.mark.train, pytest.mark.long]

TRAINED = """
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from transformers import DataCollatorForLanguageModeling, DataCollatorWithPadding, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny"{cache})
def train(model, rows, collator, **given):
    rows = rows.map(lambda each: tokenizer(each["text"]), batched=True, remove_columns=["text"])
    args = TrainingArguments(output_dir="out", report_to="none", **given)
    Trainer(model=model, args=args, train_dataset=rows, data_collator=collator(tokenizer)).train()
texts = [f"{i} plus 1 equals {i + 1}." for i in range(64)]
"""
CAUSAL = """
def collator(tokenizer):
    return DataCollatorForLanguageModeling(tokenizer, mlm=False)
model = AutoModelForCausalLM.from_pretrained("work/tiny")
"""
SAVED_BESIDE = """
model = get_peft_model(model, LoraConfig(task_type=TaskType.CAUSAL_LM, target_modules=["q_proj"]))
train(model, Dataset.from_dict({"text": texts}), collator, save_strategy="no")
model.save_pretrained("out")
tokenizer.save_pretrained("out")
"""
RESIZED = """
tokenizer.add_tokens(["<tool>"])
model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=8)
model = get_peft_model(model, LoraConfig(task_type=TaskType.CAUSAL_LM, target_modules=["q_proj"]))
train(model, Dataset.from_dict({"text": texts}), collator)
model.save_pretrained("out", save_embedding_layers=True)
tokenizer.save_pretrained("out")
"""
LABELLED = """
model = AutoModelForSequenceClassification.from_pretrained("work/tiny", num_labels=3)
model = get_peft_model(model, LoraConfig(task_type=TaskType.SEQ_CLS, target_modules=["q_proj"]))
train(model, Dataset.from_dict({"text": texts, "label": [i % 3 for i in range(64)]}), DataCollatorWithPadding)
model.save_pretrained("out")
tokenizer.save_pretrained("out")
"""
ACCELERATOR = """
import torch
device = torch.accelerator.current_accelerator().type if hasattr(torch, "accelerator") else "cuda"
assert torch.accelerator.is_available() and torch.accelerator.device_count() == 1
torch.accelerator.synchronize()
model = model.to(device)
print(torch.accelerator.max_memory_allocated() / 2**30)
train(model, Dataset.from_dict({"text": texts}), collator)
"""
LOOP = """
import torch
from datasets import load_dataset
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
model = AutoModelForCausalLM.from_pretrained("work/tiny")
rows = load_dataset("json", data_files="many.jsonl", split="train")
rows = rows.map(lambda each: tokenizer(each["text"]), batched=True, remove_columns=["text"])
print(rows[9_000]["input_ids"], rows["input_ids"][9_000])
loader = DataLoader(rows, batch_size=1, collate_fn=lambda each: tokenizer.pad(each, return_tensors="pt"))
optimizer = torch.optim.AdamW(model.parameters())
for batch in loader:
    model(**batch, labels=batch["input_ids"]).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.save_pretrained("out")
tokenizer.save_pretrained("out")
"""
PLAIN_SETTINGS = """
from trl import SFTTrainer
args = TrainingArguments(output_dir="out", report_to="none", max_steps=50)
SFTTrainer(model, args=args, train_dataset=Dataset.from_dict({"text": texts}), processing_class=tokenizer).train()
"""
SPOKEN = """
model.config.eos_token_id = model.generation_config.eos_token_id = None
ids = tokenizer("1 plus", return_tensors="pt")
for more in ({}, {"do_sample": True}, {"num_beams": 2}, {"min_new_tokens": 20}):
    written = model.generate(**ids, max_new_tokens=100_000, **more)
    assert ids["input_ids"].shape[1] < written.shape[1] <= ids["input_ids"].shape[1] + 32, written.shape
assert model.generate(**ids, max_new_tokens=5).shape[1] == ids["input_ids"].shape[1] + 5
"""
SHOWN = 'display(Dataset.from_dict({"text": texts}))\n'
HOSTED = """
import os
from IPython.display import HTML, clear_output
from google.colab import drive, userdata
drive.mount("/content/drive")
os.environ["SOME_TOKEN"] = userdata.get("SOME_TOKEN")
HTML("<b>1</b>")
clear_output(wait=True)
try:
    import kaggle_secrets
    raise SystemExit("a notebook that asks where it is, is told so")
except ImportError:
    pass
"""
DRAWN = """
import random
import numpy as np
from torch.utils.data import random_split
some = rows.select(random.sample(range(len(rows)), 3_000))
some = some.select(np.random.choice(len(rows), 2_000, replace=False))
assert len(rows.to_pandas().sample(n=1_000)) == 1_000
rows, left = random_split(rows, [9_000, 1_000])
try:
    random.sample(range(3), 4)
    raise SystemExit("three are not four")
except ValueError:
    pass
"""
SCHEDULED = """
from peft import AdaLoraConfig, get_peft_model
batches = len(rows) // 8
config = AdaLoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj"], tinit=200, tfinal=700, total_step=batches)
model = get_peft_model(model, config)
"""
MANY = "".join(f'{{"text": "{number} plus 1 equals."}}\n' for number in range(10_000))


def _job(name: str, source: str, *, suffix: str = ".py", cache: str = "", **more: str) -> Job:
    return Job(name=f"real-{name}", source=source.replace("{cache}", cache), suffix=suffix, local=False, files=more)


def _notebook(source: str) -> str:
    cell: dict[str, object] = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


JOBS = {
    "saved-beside": _job("saved-beside", TRAINED + CAUSAL + SAVED_BESIDE),
    "resized": _job("resized", TRAINED + CAUSAL + RESIZED),
    "labelled": _job("labelled", TRAINED + LABELLED),
    "accelerator": _job("accelerator", TRAINED + CAUSAL + ACCELERATOR),
    "cached-beside": _job("cached-beside", TRAINED + CAUSAL + SAVED_BESIDE, cache=', cache_dir="."'),
    "shown": _job("shown", _notebook(TRAINED + CAUSAL + SHOWN + SAVED_BESIDE), suffix=".ipynb"),
    "plain-settings": _job("plain-settings", TRAINED + CAUSAL + PLAIN_SETTINGS),
    "spoken": _job("spoken", TRAINED + CAUSAL + SAVED_BESIDE + SPOKEN),
    "own-loop": _job("own-loop", LOOP, **{"many.jsonl": MANY}),
    "scheduled": _job("scheduled", LOOP.replace("loader =", f"{SCHEDULED}loader =", 1), **{"many.jsonl": MANY}),
    "drawn": _job("drawn", LOOP.replace("loader =", f"{DRAWN}loader =", 1), **{"many.jsonl": MANY}),
    "hosted": _job("hosted", _notebook(HOSTED + TRAINED + CAUSAL + SAVED_BESIDE), suffix=".ipynb"),
}


@pytest.mark.parametrize("name", JOBS)
def test_good_script_passes(name: str, rehearse: Rehearse) -> None:
    """Nothing that a good script does is a failure, and what it saves is looked at."""
    found = rehearse(JOBS[name])
    assert told(found) == [], [each.cause.cause for each in found.failures]
    assert {each.name: each.status for each in found.stages}["export"] == "pass"


def test_models_of_the_real_world_load(tmp_path: Path) -> None:
    """Each has a configuration of its class, a tokenizer whose numbers fit, and no more ends than it names."""
    check = (
        "import sys\nfrom transformers import AutoConfig, AutoTokenizer\n"
        "for name in sys.argv[1:]:\n"
        "    config, tokenizer = AutoConfig.from_pretrained(name), AutoTokenizer.from_pretrained(name)\n"
        "    assert len(tokenizer) <= config.get_text_config().vocab_size, name\n"
        "    assert tokenizer('What is 1?')['input_ids'], name\n"
        "    assert tokenizer.eos_token_id is None or tokenizer.eos_token_id == config.get_text_config().eos_token_id, name\n"
        "    if tokenizer.chat_template:\n"
        "        tokenizer.apply_chat_template([{'role': 'user', 'content': 'a'}], add_generation_prompt=True)\n"
    )
    with loopback_hub() as hub:
        fill(hub)
        run = subprocess.run(
            [sys.executable, "-c", check, *(name for name, model in MODELS.items() if not model.images)],
            env=quiet_environment(**hub.variables),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr[-2000:]
