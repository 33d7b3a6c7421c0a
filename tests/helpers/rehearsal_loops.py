"""Jobs with training loops of their own, weights of float16, vision-language models, and programs that they start."""

from tests.helpers.rehearsal_jobs import Job
from tests.helpers.rehearsal_late_faults import notebook

HEAD = """
import torch
from accelerate import Accelerator
from datasets import Dataset, load_dataset
from peft import LoraConfig, get_peft_model
from torch.utils.data import DataLoader, TensorDataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
from transformers import get_linear_schedule_with_warmup
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
data = Dataset.from_list([{"text": f"{i} plus 1 equals {i + 1}."} for i in range(64)])
data = data.map(lambda rows: tokenizer(rows["text"]), batched=True, remove_columns=["text"])
collate = DataCollatorForLanguageModeling(tokenizer, mlm=False)
loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
lora = LoraConfig(task_type="CAUSAL_LM", target_modules=["q_proj", "v_proj"])
"""
WHOLE = 'model = AutoModelForCausalLM.from_pretrained("work/tiny")\n'
HALF = 'model = AutoModelForCausalLM.from_pretrained("work/tiny", dtype=torch.float16)\n'
ADAPTED = "model = get_peft_model(model, lora)\n"
ADAM = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\n"
LOOP = """
for batch in loader:
    {move}
    loss = model(**batch).loss
    {back}
    optimizer.step()
    {then}
    optimizer.zero_grad()
{end}
"""
UNSTEPPED = """
for batch in loader:
    model(**batch).loss.backward()
    optimizer.zero_grad()
"""
KEPT = 'model.save_pretrained("out/loop")\ntokenizer.save_pretrained("out/loop")\n'
SCALED = """
scaler = torch.amp.GradScaler("cuda")
for batch in loader:
    batch = {name: each.to("cuda") for name, each in batch.items()}
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(**batch).loss
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
TRAINED = """
args = TrainingArguments("out/half", per_device_train_batch_size=4, max_steps=20, report_to="none", fp16=True)
Trainer(model=model, args=args, train_dataset=data, data_collator=collate, processing_class=tokenizer).train()
"""
ACCELERATED = """
accelerator = Accelerator(mixed_precision="{}")
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-4)
{}optimizer, loader = accelerator.prepare({}optimizer, loader)
"""
SCHEDULED = "scheduler = get_linear_schedule_with_warmup(optimizer, 0, len(loader) // 100)\n"
SEEING = """
import torch
from datasets import Dataset
from peft import LoraConfig
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer
processor = AutoProcessor.from_pretrained("work/tiny_vision")
model = AutoModelForImageTextToText.from_pretrained("work/tiny_vision")
def ask(i):
    return {"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": f"What is {i}?"}]}
def answer(i):
    return {"role": "assistant", "content": [{"type": "text", "text": f"It is {i}."}]}
rows = [{"images": [Image.new("RGB", (40 + i % 7, 30), (i * 3, 50, 90))], "messages": [ask(i), answer(i)]} for i in range(32)]
"""
SEEN = """
args = SFTConfig("out/seeing", per_device_train_batch_size=4, max_length=None, max_steps=20, report_to="none", bf16=True)
trainer = SFTTrainer(model, args, train_dataset=Dataset.from_list(rows), processing_class=processor, peft_config={})
trainer.train()
"""
UNSEEN = 'rows = [{"messages": [dict(each, content=each["content"][-1]["text"]) for each in row["messages"]]} for row in rows]'
SEEN_REWARDED = """
rows = [{"image": row["images"][0], "prompt": [row["messages"][0]], "answer": str(i)} for i, row in enumerate(rows)]
def reward(completions, answer, **kwargs):
    return [float(right in each[0]["content"]) + len(each[0]["content"]) / 99 for each, right in zip(completions, answer)]
args = GRPOConfig("out/rewarded", per_device_train_batch_size=4, num_generations=4, max_completion_length=16, report_to="none")
GRPOTrainer(model, reward, args, train_dataset=Dataset.from_list(rows), processing_class=processor).train()
"""
CLASSES = """
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForSequenceClassification, AutoTokenizer, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
data = Dataset.from_list([{{"text": f"{{i}} is {{i % 3}}", "label": i % 3}} for i in range(32)])
data = data.map(lambda row: tokenizer(row["text"]), remove_columns=["text"])
model = AutoModelForSequenceClassification.from_pretrained("work/tiny", num_labels=3, pad_token_id=tokenizer.pad_token_id)
{model}
class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight={weights})
        return (loss, outputs) if return_outputs else loss
args = TrainingArguments("out/classes", per_device_train_batch_size=4, max_steps=8, report_to="none"{settings})
Weighted(model=model, args=args, train_dataset=data, processing_class=tokenizer).train()
"""
NUMBERS = "torch.tensor([1.0, 2.0, 0.5])"
ADAPTED_HEAD = 'model = get_peft_model(model, LoraConfig(target_modules=["q_proj", "v_proj"]{}))'
PREPARED = """
import os, subprocess, sys
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
os.system("mkdir -p prepared")
subprocess.run([sys.executable, "prepare_rows.py"], check=True)
data = load_dataset("json", data_files="prepared/rows.jsonl", split="train")
SFTTrainer("work/tiny", SFTConfig("out/prepared", max_steps=8, report_to="none"), train_dataset=data).train()
"""
PREPARES = """
import json
with open("prepared/rows.jsonl", "w") as file:
    for i in range(32):
        file.write(json.dumps({"prompt": f"{i}?", "completion": f" {i}"}) + "\\n")
"""
SHARED = """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from transformers import AutoModelForCausalLM
def work(rank, size):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "12355"
    dist.init_process_group("nccl", rank=rank, world_size=size)
    torch.cuda.set_device(rank)
    model = DistributedDataParallel(AutoModelForCausalLM.from_pretrained("work/tiny").to(rank), device_ids=[rank])
    data = TensorDataset(torch.randint(3, 99, (32, 9)))
    loader = DataLoader(data, 8, sampler=DistributedSampler(data, num_replicas=size, rank=rank))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for (ids,) in loader:
        model(input_ids=ids.to(rank), labels=ids.to(rank)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        model.module.save_pretrained("out/shared")
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
"""
POOLED = """
import multiprocessing
def make(i):
    open(f"made_{i}.txt", "w").write("made")
    return {"prompt": f"{i}?", "completion": str(i)}
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        rows = pool.map(make, range(32))
    assert open("made_31.txt").read() == "made", "what they write is read here"
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer
    SFTTrainer("work/tiny", SFTConfig("out/pooled", max_steps=8, report_to="none"), train_dataset=Dataset.from_list(rows)).train()
"""
LAUNCHED = """
from tqdm.notebook import tqdm
from accelerate import notebook_launcher
def main():
    for _ in tqdm(range(2)):
        pass
{}
notebook_launcher(main, num_processes={})
"""
IN_WORKERS = """
args = TrainingArguments("out/workers", max_steps=8, report_to="none", dataloader_num_workers=2)
Trainer(model=model, args=args, train_dataset=data, data_collator=lambda rows: {}).train()
"""
STARTED = """
import json, os, subprocess, sys
from pathlib import Path
os.makedirs("made", exist_ok=True)
Path("made/one.json").write_text("[1]")
code = "import json; json.dump([*json.load(open('made/one.json')), 2], open('made/two.json', 'w'))"
subprocess.run([sys.executable, "-c", code], check=True)
assert json.loads(Path("made/two.json").read_text()) == [1, 2]
reach = "import urllib.request; urllib.request.urlopen('http://example.org')"
told = subprocess.run([sys.executable, "-c", reach], capture_output=True, text=True, env={"PATH": os.environ["PATH"]})
assert "the rehearsal does not connect" in told.stderr, told.stderr
"""


def loop(name: str, source: str, fails: str = "", **parts: str) -> Job:
    """Return a job whose loop stands behind some lines; `move`, `back`, `then` and `end` are lines in it."""
    given = {"move": "pass", "back": "loss.backward()", "then": "pass", "end": KEPT} | parts
    return Job(name=name, source=HEAD + source + LOOP.format(**given), fails=fails)


def _classes(name: str, fails: str = "", *, model: str = "", weights: str = "None", settings: str = "") -> Job:
    """Return a job that classifies, with weights of classes in its own loss."""
    return Job(name=name, source=CLASSES.format(model=model, weights=weights, settings=settings), fails=fails)


def _launched(name: str, processes: int) -> Job:
    """Return a notebook that hands its loop to a launcher."""
    source = HEAD + WHOLE + ADAM + LOOP.format(move="pass", back="loss.backward()", then="pass", end=KEPT)
    inside = "\n".join(f"    {line}" for line in source.splitlines())
    return Job(name=name, source=notebook(LAUNCHED.format(inside, processes)), suffix=".ipynb")


MOVED = 'batch = {name: each.to("cuda") for name, each in batch.items()}'
BACK = "accelerator.backward(loss)"
FROZEN = "for each in model.parameters():\n    each.requires_grad = False\n"
LOOPS: tuple[Job, ...] = (
    loop("loop", WHOLE + ADAM),
    loop("loop-of-frozen-weights", WHOLE + FROZEN + ADAM + ADAPTED, "step/weights-not-updated"),
    loop("loop-of-an-adapter", WHOLE + ADAPTED + ADAM),
    loop("loop-emptied-first", WHOLE + ADAM, "step/weights-not-updated", back="loss.backward(); optimizer.zero_grad()"),
    loop("loop-without-a-rate", WHOLE + ADAM.replace("1e-4", "0.0"), "step/lr-too-low-flat"),
    loop("loop-over-at-once", WHOLE + ADAM + SCHEDULED, "step/lr-too-low-flat", then="scheduler.step()"),
    loop("loop-without-any-rate", WHOLE + "from transformers import Adafactor\noptimizer = Adafactor(model.parameters())\n"),
    loop("loop-warming-up", WHOLE + ADAM + SCHEDULED.replace("0, len(loader) // 100", "500, 9000"), then="scheduler.step()"),
    loop(
        "loop-of-masked-labels",
        WHOLE + ADAM,
        "tokenize/completion-mask-drops-everything",
        move='batch["labels"] = torch.full_like(batch["labels"], -100)',
    ),
    loop("loop-of-some-masked-labels", WHOLE + ADAM, move='batch["labels"][:, :2] = -100'),
    loop(
        "loop-without-a-gradient",
        WHOLE + "for each in model.parameters():\n    each.requires_grad_(False)\n" + ADAM,
        "step/no-trainable-parameters",
    ),
    Job(name="loop-without-steps", source=HEAD + WHOLE + ADAM + UNSTEPPED + KEPT, fails="step/weights-not-updated"),
    loop("loop-never-saved", WHOLE + ADAM, end="print(loss.item())"),
    loop("loop-saved-sometimes", WHOLE + ADAM, end='if loss < 0.1: torch.save(model.state_dict(), "best.pt")'),
    loop("loop-batch-left-behind", WHOLE + "model.cuda()\n" + ADAM, "step/user-code-error"),
    loop("loop-batch-taken-along", WHOLE + "model.cuda()\n" + ADAM, move=MOVED),
    loop(
        "loop-collated-on-the-gpu",
        WHOLE + "loader = DataLoader(data, 8, collate_fn=lambda rows: collate(rows).to('cuda'))\nmodel.cuda()\n" + ADAM,
    ),
    loop(
        "loop-of-rows-on-the-gpu",
        WHOLE + "loader = DataLoader(TensorDataset(torch.randint(3, 99, (32, 9)).cuda()), 8)\nmodel.cuda()\n" + ADAM,
        move='batch = {"input_ids": batch[0], "labels": batch[0]}',
    ),
    loop("loop-of-a-mapped-model", WHOLE.replace('")', '", device_map="auto")') + ADAM),
    loop("accelerated", WHOLE + ACCELERATED.format("bf16", "model, ", "model, "), back=BACK, end="accelerator.save_model(model, 'out')"),
    loop("accelerated-without-its-model", WHOLE + ACCELERATED.format("bf16", "", ""), "step/user-code-error", back=BACK),
    loop("accelerated-and-moved", WHOLE + ACCELERATED.format("bf16", "", "") + "model.to(accelerator.device)\n", back=BACK),
    loop("accelerated-half", HALF + ACCELERATED.format("fp16", "model, ", "model, "), "step/fp16-grad-scaler-misuse", back=BACK),
    loop("accelerated-half-adapter", HALF + ADAPTED + ACCELERATED.format("fp16", "model, ", "model, "), back=BACK),
)  # fmt: skip
HALVES: tuple[Job, ...] = (
    Job(name="half-weights", source=HEAD + HALF + TRAINED, fails="step/fp16-grad-scaler-misuse"),
    Job(name="half-weights-below-an-adapter", source=HEAD + HALF + ADAPTED + TRAINED),
    Job(name="half-weights-alone", source=HEAD + HALF + TRAINED.replace(", fp16=True", "")),
    Job(name="whole-weights", source=HEAD + WHOLE + TRAINED),
    Job(
        name="scaled-half-weights",
        source=HEAD + WHOLE + "model.half().cuda()\n" + ADAM + SCALED + KEPT,
        fails="step/fp16-grad-scaler-misuse",
    ),
    Job(name="scaled-whole-weights", source=HEAD + WHOLE + "model.cuda()\n" + ADAM + SCALED + KEPT),
    Job(name="scaled-adapter", source=HEAD + HALF + ADAPTED + "model.cuda()\n" + ADAM + SCALED + KEPT),
)
OTHERS: tuple[Job, ...] = (
    Job(name="seeing", source=SEEING + SEEN.format('LoraConfig(target_modules=r".*language_model.*q_proj")')),
    Job(
        name="seeing-nothing",
        source=SEEING + UNSEEN + SEEN.format('LoraConfig(target_modules=["fc1", "fc2"])'),
        fails="step/no-trainable-parameters",
    ),
    Job(
        name="frozen-after-its-adapter",
        source=HEAD
        + "from peft import prepare_model_for_kbit_training\n"
        + WHOLE
        + ADAPTED
        + "model = prepare_model_for_kbit_training(model)\n"
        + TRAINED,
        fails="step/no-trainable-parameters",
    ),
    _classes("weights-left-behind", "step/user-code-error", weights=NUMBERS),
    _classes("weights-taken-along", weights=f"{NUMBERS}.to(model.device)"),
    _classes("weights-of-the-batch", weights=f"{NUMBERS}.type_as(outputs.logits)"),
    _classes("weights-of-the-model", model=f'model.register_buffer("weights", {NUMBERS})', weights="model.weights"),
    _classes("weights-on-a-processor", weights=NUMBERS, settings=", use_cpu=True"),
    _classes("head-that-nothing-trains", "step/lora-wrong-target-modules", model=ADAPTED_HEAD.format("")),
    _classes("head-that-is-named", model=ADAPTED_HEAD.format(', modules_to_save=["score"]')),
    _classes("head-by-its-task", model=ADAPTED_HEAD.format(', task_type="SEQ_CLS"')),
    Job(name="shared-among-processes", source=SHARED),
    Job(name="rows-of-new-processes", source=POOLED),
    _launched("launched-in-a-notebook", 1),
    _launched("launched-in-a-notebook-twice", 2),
    Job(name="collated-in-workers", source=HEAD + WHOLE + IN_WORKERS.format("collate(rows)")),
    Job(
        name="collated-on-the-gpu-in-workers",
        source=HEAD + WHOLE + IN_WORKERS.format("{name: each.to('cuda') for name, each in collate(rows).items()}"),
        fails="step/user-code-error",
    ),
    Job(name="rows-made-by-a-program", source=PREPARED, files={"prepare_rows.py": PREPARES}),
    Job(
        name="program-that-fails",
        source=PREPARED.replace("_rows.py", "_none.py"),
        files={"prepare_none.py": "raise SystemExit('no raw rows')"},
        fails="import/user-code-error",
    ),
    Job(name="seeing-rewarded", source=SEEING + SEEN_REWARDED),
    Job(name="starts-programs", source=STARTED + HEAD + WHOLE + TRAINED),
)
ALL = {each.name: each for each in (*LOOPS, *HALVES, *OTHERS)}
