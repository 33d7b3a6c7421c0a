"""Jobs with training loops of their own, weights of float16, models that see, and programs that they start."""

from tests.rehearsal_jobs import Job

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
STARTED = """
import json, os, subprocess, sys
from pathlib import Path
os.makedirs("made")
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


MOVED = 'batch = {name: each.to("cuda") for name, each in batch.items()}'
BACK = "accelerator.backward(loss)"
FROZEN = "for each in model.parameters():\n    each.requires_grad = False\n"
LOOPS: tuple[Job, ...] = (
    loop("loop", WHOLE + ADAM),
    loop("loop-of-frozen-weights", WHOLE + FROZEN + ADAM + ADAPTED, "step/no-trainable-parameters"),
    loop("loop-of-an-adapter", WHOLE + ADAPTED + ADAM),
    loop("loop-emptied-first", WHOLE + ADAM, "step/no-trainable-parameters", back="loss.backward(); optimizer.zero_grad()"),
    loop("loop-without-a-rate", WHOLE + ADAM.replace("1e-4", "0.0"), "step/lr-too-low-flat"),
    loop("loop-over-at-once", WHOLE + ADAM + SCHEDULED, "step/lr-too-low-flat", then="scheduler.step()"),
    loop("loop-without-any-rate", WHOLE + "from transformers import Adafactor\noptimizer = Adafactor(model.parameters())\n"),
    loop("loop-warming-up", WHOLE + ADAM + SCHEDULED.replace("0, len(loader) // 100", "500, 9000"), then="scheduler.step()"),
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
    Job(name="seeing-rewarded", source=SEEING + SEEN_REWARDED),
    Job(name="starts-programs", source=STARTED + HEAD + WHOLE + TRAINED),
)
ALL = {each.name: each for each in (*LOOPS, *HALVES, *OTHERS)}
