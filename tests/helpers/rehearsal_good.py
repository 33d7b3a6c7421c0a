"""Good jobs of all kinds, odd ones among them: a rehearsal must let each pass."""

from tests.helpers.rehearsal_faults import TOKENIZER
from tests.helpers.rehearsal_jobs import Job, job, line, plain
from tests.helpers.rehearsal_late_faults import notebook

LORA = "peft_config=LoraConfig(r=8, lora_alpha=16)"
HELD = "parts = dataset.train_test_split(test_size=0.25, seed=1)\ndataset, held = parts['train'], parts['test']"
EVALUATED = 'eval_strategy="steps", eval_steps=5'
ROWS_FILE = {
    "rows/talks.jsonl": '{"messages": [{"role": "user", "content": "a?"}, {"role": "assistant", "content": "b."}]}\n'
    * 40
}
PAIRS_FILE = {
    "rows/liked/train.jsonl": "".join(
        f'{{"prompt": "{i}?", "chosen": "It is {i}.", "rejected": "No."}}\n' for i in range(40)
    )
}
ASKED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--model", required=True)
parser.add_argument("--rate", type=float, default=1e-4)
asked = parser.parse_args()
"""
PARSED = """
from dataclasses import dataclass, field
from transformers import HfArgumentParser
@dataclass
class Mine:
    model: str = field(default="work/tiny")
    rows: int = field(default=32)
mine, args = HfArgumentParser((Mine, SFTConfig)).parse_args_into_dataclasses()
"""
MASKED_TOKENS = """
from transformers import BertConfig, BertForMaskedLM
tokenizer.add_special_tokens({"mask_token": "<mask>"})
small = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
model = BertForMaskedLM(BertConfig(vocab_size=len(tokenizer), **small))
"""
DROPPED_TOKENS = """
import random
class OfDropped(Trainer):
    def __init__(self, train_dataset, **more):
        def drop(rows):
            return {"input_ids": [[token for token in row if random.random() > 0.2] or row for row in rows["input_ids"]]}
        super().__init__(train_dataset=train_dataset.with_transform(drop), **more)
"""
COUNTING = """
import json
class Count(TrainerCallback):
    def __init__(self):
        self.losses = []
    def on_log(self, args, state, control, logs=None, **kwargs):
        if logs and "loss" in logs:
            self.losses.append(logs["loss"])
    def on_train_end(self, args, state, control, **kwargs):
        print(json.dumps(self.losses))
"""
OWN_LOSS = """
class Weighted(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(model, inputs, False, num_items_in_batch)
        return (loss * 0.5, None) if return_outputs else loss * 0.5
    def log(self, logs, start_time=None):
        logs["double"] = 2.0
        super().log(logs, start_time)
    def train(self):
        return super().train()
"""
OTHER_NAME = """
from transformers import DataCollatorForLanguageModeling, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
class Rounds(Trainer):
    def __init__(self, config, model, train_dataset):
        self.batch = config.per_device_train_batch_size
        collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
        super().__init__(model=model, args=config, train_dataset=train_dataset, data_collator=collate)
    def train(self):
        assert self.batch == self.args.per_device_train_batch_size, "made of other settings than it trains with"
        return super().train()
rows = Dataset.from_dict(dict(tokenizer([f"{i} plus 1" for i in range(32)])))
model = AutoModelForCausalLM.from_pretrained("work/tiny")
trainer = Rounds(config=TrainingArguments("out/rounds", max_steps=8, per_device_train_batch_size=4), model=model, train_dataset=rows)
trainer.train()
"""
OWN_LOOP = """
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer
accelerator = Accelerator()
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
model = AutoModelForCausalLM.from_pretrained("work/tiny")
texts = [f"{i} plus 1 equals {i + 1}." for i in range(32)]
def collate(rows):
    batch = tokenizer(rows, return_tensors="pt", padding=True)
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(texts, batch_size=4, collate_fn=collate))
for epoch in range(2):
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
accelerator.unwrap_model(model).save_pretrained("out/own-loop")
tokenizer.save_pretrained("out/own-loop")
"""
WROTE = """
from transformers import pipeline
write = pipeline("text-generation", model=trainer.model, tokenizer=trainer.processing_class, max_new_tokens=8)
print(write([{"role": "user", "content": "1 plus 1 equals?"}])[0]["generated_text"][-1])
"""
MERGED = """
trainer.save_model("out/adapter")
from peft import AutoPeftModelForCausalLM
merged = AutoPeftModelForCausalLM.from_pretrained("out/adapter").merge_and_unload()
merged.save_pretrained("out/merged", safe_serialization=True)
AutoTokenizer.from_pretrained("work/tiny").save_pretrained("out/merged")
again = AutoModelForCausalLM.from_pretrained("out/merged")
"""
COUNTED = """
import torch
def right(told):
    guesses = told.predictions[0] if isinstance(told.predictions, tuple) else told.predictions
    mask = told.label_ids[:, 1:] != -100
    return {"accuracy": float((guesses[:, :-1] == told.label_ids[:, 1:])[mask].mean())}
def least(logits, labels):
    return (logits[0] if isinstance(logits, tuple) else logits).argmax(-1)
"""
RELOADED = """
from peft import AutoPeftModelForCausalLM
merged = AutoPeftModelForCausalLM.from_pretrained(f"{}/checkpoint-{}").merge_and_unload()
"""
AGAIN = """
trainer.save_model("out/again")
again = AutoModelForCausalLM.from_pretrained("out/again")
assert again.model.rotary_emb.inv_freq.equal(trainer.model.model.rotary_emb.inv_freq)
"""
MARKED = """
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
tokenizer.chat_template = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\\n{% if m.role == 'assistant' %}{% generation %}"
    "{{ m.content }}<|im_end|>{% endgeneration %}{% else %}{{ m.content }}<|im_end|>{% endif %}\\n{% endfor %}"
)
"""
PREPARED = """
import os
from datasets import load_from_disk
if os.path.isdir("prepared"):
    dataset = load_from_disk("prepared")
else:
    dataset = load_dataset("json", data_files="rows/many.jsonl", split="train")
    dataset.save_to_disk("prepared")
dataset = dataset.select(range(20_500))
"""
NEWEST = """
import glob
saved = sorted(glob.glob(f"{args.output_dir}/checkpoint-*"), key=lambda each: int(each.rpartition("-")[2]))
"""
SFT: tuple[Job, ...] = (
    job(
        "answers-alone-by-its-own-template",
        "SFT",
        top=MARKED,
        settings="assistant_only_loss=True",
        given="processing_class=tokenizer",
    ),
    job(
        "prepares-its-rows-once",
        "SFT",
        shape=PREPARED,
        files={"rows/many.jsonl": '{"text": "1 plus 1 equals 2."}\n' * 21_000},
    ),
    job(
        "goes-on-from-its-newest",
        "SFT",
        before=NEWEST,
        train="trainer.train(resume_from_checkpoint=saved[-1] if saved else None)",
    ),
    job("as-in-the-guide", "SFT"),
    job(
        "knows-its-last-step",
        "SFT",
        settings="max_steps=30, save_steps=10",
        given=LORA,
        train="steps = trainer.train().global_step",
        end="assert steps == trainer.state.global_step == 30" + RELOADED.format("{args.output_dir}", "{steps}"),
    ),
    job(
        "names-a-checkpoint-of-an-epoch",
        "SFT",
        settings='num_train_epochs=3, save_strategy="epoch"',
        given=LORA,
        end=RELOADED.format("{args.output_dir}", "32"),
    ),
    job("loads-what-it-saved-again", "SFT", end=AGAIN),
    job("adapter", "SFT", given=LORA),
    job(
        "all-linear-with-rslora",
        "SFT",
        given='peft_config=LoraConfig(target_modules="all-linear", use_rslora=True, task_type="CAUSAL_LM")',
    ),
    job("packed", "SFT", settings="packing=True, max_length=64"),
    job(
        "prompts-and-completions",
        "SFT",
        row='{"prompt": f"{i} + 1 =", "completion": f" {i + 1}"}',
        settings="completion_only_loss=True",
    ),
    job(
        "own-format",
        "SFT",
        row='{"q": str(i), "a": str(i + 1)}',
        given="formatting_func=lambda row: f\"{row['q']} => {row['a']}\"",
    ),
    job(
        "a-stream",
        "SFT",
        shape='dataset = load_dataset("json", data_files="rows/talks.jsonl", split="train", streaming=True)',
        settings="max_steps=20",
        files=ROWS_FILE,
    ),
    job(
        "a-stream-of-three-rows",
        "SFT",
        shape="dataset = dataset.select(range(3)).to_iterable_dataset()",
        settings="max_steps=40, per_device_train_batch_size=1, gradient_accumulation_steps=3",
    ),
    job(
        "evaluated-and-the-best-kept",
        "SFT",
        shape=HELD,
        settings=f'{EVALUATED}, save_steps=5, load_best_model_at_end=True, metric_for_best_model="eval_loss"',
        given="eval_dataset=held",
    ),
    job(
        "two-evaluation-sets",
        "SFT",
        shape=HELD,
        settings=EVALUATED,
        given='eval_dataset={"near": held.select(range(8)), "far": held.select(range(8, 16))}',
    ),
    job(
        "early-stopping",
        "SFT",
        top="from transformers import EarlyStoppingCallback",
        shape=HELD,
        settings=f"{EVALUATED}, save_steps=5, load_best_model_at_end=True",
        given="eval_dataset=held, callbacks=[EarlyStoppingCallback(2)]",
    ),
    job("own-callback", "SFT", top=COUNTING, given="callbacks=[Count()]"),
    job("own-loss-and-log", "SFT", top=OWN_LOSS, kind="Weighted"),
    job(
        "own-metrics",
        "SFT",
        top=COUNTED,
        shape=HELD,
        settings=EVALUATED,
        given="eval_dataset=held, compute_metrics=right, preprocess_logits_for_metrics=least",
    ),
    job(
        "new-words-and-rows-for-them",
        "SFT",
        top=TOKENIZER
        + 'tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})\nmodel = AutoModelForCausalLM.from_pretrained("work/tiny")\nmodel.resize_token_embeddings(len(tokenizer))',
        row='{"text": f"<think>{i}</think> {i + 1}"}',
        model="model",
        given="processing_class=tokenizer",
    ),
    job(
        "own-chat-template",
        "SFT",
        top=TOKENIZER
        + "tokenizer.chat_template = \"{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}{{ eos_token }}{% endfor %}\"",
        given="processing_class=tokenizer",
    ),
    job("merged-at-the-end", "SFT", given=LORA, end=MERGED),
    job("writes-at-the-end", "SFT", end=WROTE),
    job(
        "arguments-of-its-own",
        "SFT",
        top=ASKED,
        settings="learning_rate=asked.rate",
        model="asked.model",
        arguments=("--model", "work/tiny", "--rate", "3e-4"),
    ),
    job(
        "dataclasses-parsed",
        "SFT",
        before=PARSED,
        arguments=("--output_dir", "out/parsed", "--rows", "16", "--report_to", "none"),
    ),
    job(
        "variables-of-the-environment",
        "SFT",
        top='import os\nos.environ.setdefault("TOKENIZERS_PARALLELISM", "false")\nmodel_name = os.getenv("MODEL", "work/tiny")',
        model="model_name",
    ),
    job(
        "two-trainings-one-after-the-other",
        "SFT",
        end='second = SFTTrainer(model=trainer.model, args=SFTConfig(output_dir="out/second", max_steps=6, report_to="none"), train_dataset=dataset.shuffle(seed=3))\nsecond.train()\nsecond.save_model("out/second/final")',
    ),
    job(
        "mapped-filtered-shuffled",
        "SFT",
        row='{"instruction": f"{i}?", "output": str(i)}',
        shape="dataset = dataset.shuffle(seed=7).filter(lambda r: len(r['output']) > 0).map(lambda r: {'messages': [{'role': 'user', 'content': r['instruction']}, {'role': 'assistant', 'content': r['output']}]}, remove_columns=dataset.column_names)",
    ),
    job(
        "beside-it-a-module",
        "SFT",
        top="from own_rows_of_mine import make",
        shape="dataset = make(dataset)",
        files={"own_rows_of_mine.py": "def make(dataset):\n    return dataset.select(range(48))\n"},
    ),
    job(
        "frozen-but-for-the-last-layer",
        "SFT",
        top='model = AutoModelForCausalLM.from_pretrained("work/tiny")\nfor name, each in model.named_parameters():\n    each.requires_grad = "layers.1" in name',
        model="model",
    ),
    job(
        "saves-where-it-says",
        "SFT",
        settings='save_strategy="no"',
        end='trainer.save_model("models/final")\nimport json, os\nwith open("models/final/metrics.json", "w") as file:\n    json.dump(trainer.state.log_history, file)\nassert os.path.exists("models/final/config.json")',
    ),
)
"""Supervised fine-tuning."""
OTHER_METHODS: tuple[Job, ...] = (
    job("pairs", "DPO"),
    job("pairs-with-references-told-before", "DPO", settings="precompute_ref_log_probs=True", given=LORA),
    job(
        "pairs-with-an-adapter",
        "DPO",
        given=LORA,
        settings='beta=0.05, loss_type=["sigmoid", "sft"], loss_weights=[1.0, 0.5]',
    ),
    job(
        "pairs-with-a-reference",
        "DPO",
        top='model = AutoModelForCausalLM.from_pretrained("work/tiny")\nreference = AutoModelForCausalLM.from_pretrained("work/tiny")',
        model="model",
        given="ref_model=reference",
    ),
    job("liked-or-not", "KTO", shape=HELD, settings=EVALUATED, given="eval_dataset=held"),
    job("a-judge", "Reward", shape=HELD, settings=EVALUATED, given="eval_dataset=held"),
    job(
        "a-judge-with-an-adapter",
        "Reward",
        given='peft_config=LoraConfig(task_type="SEQ_CLS", modules_to_save=["score"])',
    ),
    job("rewarded", "GRPO"),
    job(
        "rewarded-by-two",
        "GRPO",
        top="import re\ndef form(completions, **kwargs):\n    return [1.0 if re.search(r'^<think>.*</think>', each[0]['content'], re.S) else 0.0 for each in completions]",
        settings="reward_weights=[1.0, 0.2], beta=0.04, num_generations=8, per_device_train_batch_size=8",
        given="reward_funcs=[reward, form]",
    ),
    job("rewarded-in-texts-with-an-adapter", "GRPO", row='{"prompt": f"{i} + 1 =", "answer": str(i + 1)}', given=LORA),
    job("leave-one-out", "RLOO"),
    job(
        "leave-one-out-evaluated",
        "RLOO",
        shape=HELD,
        settings=f"{EVALUATED}, num_generations=2",
        given="eval_dataset=held",
    ),
)
"""The other five methods."""
OTHERS: tuple[Job, ...] = (
    plain("language-model"),
    plain(
        "blocks-without-a-pad-token",
        top="tokenizer.pad_token = None",
        collator="None",
        settings="remove_unused_columns=True",
        removed='["text"]).map(lambda rows: {"input_ids": [sum(rows["input_ids"], [])[:64]], "attention_mask": [[1] * 64], "labels": [sum(rows["input_ids"], [])[:64]]}, batched=True, batch_size=8, remove_columns=["attention_mask"]',
    ),
    plain(
        "own-collator",
        settings="remove_unused_columns=False",
        removed="[]",
        collator='lambda rows: (lambda batch: {**batch, "labels": batch["input_ids"].clone()})(tokenizer([row["text"] for row in rows], return_tensors="pt", padding=True))',
    ),
    plain("masked-tokens", top=MASKED_TOKENS, collator="DataCollatorForLanguageModeling(tokenizer)"),
    plain(
        "masked-tokens-with-a-seed", top=MASKED_TOKENS, collator="DataCollatorForLanguageModeling(tokenizer, seed=1)"
    ),
    plain("rows-that-are-changed-at-random", top=DROPPED_TOKENS, kind="OfDropped"),
    plain(
        "adapter-of-its-own",
        top='model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))\nmodel.print_trainable_parameters()',
        end='trainer.save_model("out/adapter-of-its-own/final")',
    ),
    job("only-evaluates", "SFT", given="eval_dataset=dataset.select(range(8))", train="print(trainer.evaluate())"),
    Job(name="own-loop", source=OWN_LOOP),
    Job(
        name="settings-by-another-name",
        source=f"from datasets import Dataset\nfrom transformers import AutoModelForCausalLM, AutoTokenizer\n{OTHER_NAME}",
    ),
    Job(
        name="guarded-main",
        source="def main():\n    print('nothing to train')\n\nif __name__ == '__main__':\n    main()\n",
    ),
    job("on-this-machine", "SFT", settings="use_cpu=True, bf16=False", local=True),
    job(
        "moves-to-the-gpu",
        "SFT",
        top="import torch\nassert torch.cuda.is_available()\ndevice = torch.device('cuda')\nmodel = AutoModelForCausalLM.from_pretrained('work/tiny', dtype=torch.bfloat16, device_map='auto')\nmodel.config.use_cache = False",
        settings="bf16=True, gradient_checkpointing=True",
        model="model",
    ),
    Job(
        name="a-job-file",
        suffix=".yaml",
        source="method: dpo\nmodel: work/tiny\ndataset: rows/liked\ntrain:\n  per_device_train_batch_size: 4\npeft:\n  r: 8\n",
        files=PAIRS_FILE,
    ),
    line(
        "a-line",
        "trl dpo --model_name_or_path work/tiny --dataset_name rows/liked --output_dir out/line --use_peft",
        files=PAIRS_FILE,
    ),
)
"""Of other kinds."""
NOTEBOOK = Job(
    name="a-notebook",
    suffix=".ipynb",
    source=notebook("%pip install -q trl\n!nvidia-smi", job("x", "SFT").source, "trainer.model"),
)
GOOD_JOBS = {each.name: each for each in (*SFT, *OTHER_METHODS, *OTHERS, NOTEBOOK)}
