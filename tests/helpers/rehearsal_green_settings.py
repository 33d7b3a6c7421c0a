"""Jobs whose settings make a good start of no use, and beside each those that look like them and are as they should be."""

from tests.helpers.rehearsal_jobs import COLLATOR, Job, job, plain

RANKED = """
import os
rank, local, size = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
assert (rank, local, size) == (0, 0, 1)
"""
GROUPED = """
import os, torch
torch.distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""
LAUNCHED: tuple[Job, ...] = (
    job("reads-its-rank", "SFT", top=RANKED),
    job("joins-a-group", "SFT", top=GROUPED),
)
PAIRS = '{"question": str(i), "answer": str(i + 1)}'
FORMATS = """
def to_text(example):
    texts = []
    for i in range(len(example["question"])):
        texts.append(f"Q: {{example['question'][i]}} A: {{example['answer'][i]}}")
    return {}
"""
FORMATTED: tuple[Job, ...] = tuple(
    job(name, "SFT", fails, top=FORMATS.format(returned), row=PAIRS, given="formatting_func=to_text")
    for name, fails, returned in (
        ("formats-a-batch", "tokenize/user-code-error", "texts"),
        ("formats-a-record", "tokenize/user-code-error", '{"text": texts[0]}'),
        ("formats-a-row", "", "texts[0]"),
    )
)
OWN_OPTIMIZER = """
import torch
model = AutoModelForCausalLM.from_pretrained("work/tiny")
class Prodigy(torch.optim.AdamW):
    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr / 1000)
        self.param_groups[0]["lr"] = lr / 1000
"""
NOISY = """
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return 100 * super().compute_loss(model, inputs, return_outputs, **kwargs)
"""
RATES: tuple[Job, ...] = (
    job("an-exponent-is-lost", "SFT", "step/lr-too-high-divergence", settings="learning_rate=2.0"),
    job("an-exponent-is-lost-of-pairs", "DPO", "step/lr-too-high-divergence", settings="learning_rate=1e6"),
    job("half-a-step", "SFT", "step/lr-too-high-divergence", settings="learning_rate=0.5"),
    job("a-rate-beyond-sgd", "SFT", "step/lr-too-high-divergence", settings='learning_rate=300.0, optim="sgd"'),
    job("a-decay-that-wipes-out", "SFT", "step/lr-too-high-divergence", settings="weight_decay=1e4"),
    job("a-strong-decay", "SFT", settings="weight_decay=1.0"),
    job("a-rate-of-sgd", "SFT", settings='learning_rate=2.0, optim="sgd"'),
    job("a-high-rate-of-an-adapter", "SFT", settings="learning_rate=5e-3", given="peft_config=LoraConfig(r=8)"),
    job(
        "a-rate-of-a-scale-of-its-own",
        "SFT",
        top=OWN_OPTIMIZER,
        model="model",
        given="optimizers=(Prodigy(model.parameters(), lr=1.0), None)",
    ),
    job("a-loss-of-another-scale", "SFT", top=NOISY, kind="Own", settings="learning_rate=1e-2"),
)
KEEPER = """
class Keep(TrainerCallback):
    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % {} == 0:
            model.save_pretrained("out/kept/now")
"""
ONE_EPOCH = "num_train_epochs=1"
SPLIT = "parts = dataset.train_test_split(0.2, seed=0)\ndataset = parts['train']"
HELD = "eval_dataset=parts['test']"
EARLY = "from transformers import EarlyStoppingCallback"
STOPS = f"{HELD}, callbacks=[EarlyStoppingCallback(3)]"
BEST = 'eval_strategy="steps", eval_steps={0}, save_steps={0}, load_best_model_at_end=True, num_train_epochs=1'
LOADED = 'AutoModelForCausalLM.from_pretrained("out/{}/checkpoint-{}")'
INTERVALS: tuple[Job, ...] = (
    job(
        "keeps-every-five-hundredth-step",
        "SFT",
        "save/no-checkpoint-saved",
        top=KEEPER.format(500),
        settings=f'save_strategy="no", {ONE_EPOCH}',
        given="callbacks=[Keep()]",
    ),
    job(
        "keeps-every-tenth-step",
        "SFT",
        top=KEEPER.format(10),
        settings=f'save_strategy="no", {ONE_EPOCH}',
        given="callbacks=[Keep()]",
    ),
    job(
        "loads-a-step-that-never-came",
        "SFT",
        "export/model-path-not-local",
        settings=ONE_EPOCH,
        end=LOADED.format("loads-a-step-that-never-came", 500),
    ),
    job("loads-a-step", "SFT", settings=f"save_steps=8, {ONE_EPOCH}", end=LOADED.format("loads-a-step", 16)),
    job(
        "best-of-no-evaluation",
        "SFT",
        "evaluate/best-metric-not-logged",
        shape=SPLIT,
        settings=BEST.format(5) + ", eval_delay=1000",
        given=HELD,
    ),
    job("best-of-one-evaluation", "SFT", shape=SPLIT, settings=BEST.format(500), given=HELD),
    job(
        "stops-after-more-evaluations-than-there-are",
        "SFT",
        top=EARLY,
        shape=SPLIT,
        settings=BEST.format(5),
        given=STOPS,
    ),
    job(
        "worst-is-best",
        "SFT",
        "evaluate/save-eval-strategy-mismatch",
        shape=SPLIT,
        settings=BEST.format(5) + ', metric_for_best_model="eval_loss", greater_is_better=True',
        given=HELD,
    ),
    job("stops-early", "SFT", top=EARLY, shape=SPLIT, settings=BEST.format(2), given=STOPS),
)
MOVED = """
def moved(rows):
    ids = tokenizer.pad([{{"input_ids": row["input_ids"]}} for row in rows], return_tensors="pt")["input_ids"]
    return {{"input_ids": ids[:, {0}], "labels": ids[:, {1}]}}
"""
HALF_MASKED = """
def mask_half(rows, collate=DataCollatorForLanguageModeling(tokenizer, mlm=False)):
    batch = collate(rows)
    batch["labels"][0] = -100
    return batch
"""
LONG = """
def longer(rows):
    batch = tokenizer(["plus " * 900] * len(rows), truncation=True, max_length={0}, padding="max_length", return_tensors="pt")
    return dict(batch, labels=batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100))
"""
COLLATED: tuple[Job, ...] = (
    plain("texts-beyond-the-positions", top=LONG.format(400), collator="longer"),
    plain("texts-within-the-positions", top=LONG.format(256), collator="longer"),
    plain("padding-beyond-the-positions", top=LONG.format(400).replace("900", "9"), collator="longer"),
    plain("labels-moved-twice", "step/labels-misaligned", top=MOVED.format(":-1", "1:"), collator="moved"),
    plain("labels-of-some-rows-masked", top=HALF_MASKED, collator="mask_half"),
    plain("labels-as-they-are", top=MOVED.format(":", ":"), collator="moved"),
)
KEPT_LOSSES = """
from transformers import TrainerCallback
class Losses(TrainerCallback):
    losses = []
    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.losses.append(logs["loss"])
    def on_train_end(self, args, state, control, **kwargs):
        print("the last loss", self.losses[-1])
"""
SEEN_LOSS = """
from transformers import TrainerCallback
class Seen(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        print(state.log_history[-1]["loss"])
"""
LEAST = 'print(min(each["loss"] for each in trainer.state.log_history if "loss" in each))'
SELDOM = "logging_steps=500, num_train_epochs=1"
LOGGED: tuple[Job, ...] = (
    plain("least-of-no-losses", "step/user-code-error", settings=SELDOM, end=LEAST),
    plain("least-of-some-losses", settings=ONE_EPOCH, end=LEAST),
    plain("least-of-the-first-loss", settings=f"logging_first_step=True, {SELDOM}", end=LEAST),
    plain("keeps-no-losses", "step/user-code-error", top=KEPT_LOSSES, settings=SELDOM, given="callbacks=[Losses()], "),
    plain("keeps-its-losses", top=KEPT_LOSSES, settings=ONE_EPOCH, given="callbacks=[Losses()], "),
    plain(
        "saves-before-it-logs",
        "save/user-code-error",
        top=SEEN_LOSS,
        settings=f"save_steps=8, {SELDOM}",
        given="callbacks=[Seen()], ",
    ),
    plain("saves-after-it-logs", top=SEEN_LOSS, settings="save_steps=5", given="callbacks=[Seen()], "),
)
HALVES = f"{COLLATOR}\nparts = dataset.train_test_split(0.2, seed=0)\ndataset = parts['train']"
LEAKING = 'eval_strategy="steps", eval_steps=5'
LEAKED: tuple[Job, ...] = (
    plain("tokens-tested-on-themselves", settings=LEAKING, given="eval_dataset=dataset, "),
    plain("tokens-tested-on-others", settings=LEAKING, collator=HALVES, given=f"{HELD}, "),
    plain(
        "tensors-tested-on-themselves",
        settings=LEAKING,
        collator=f"{COLLATOR}\ndataset = list(dataset)",
        given="eval_dataset=dataset, ",
    ),
)
EXPERTS = "mlp.experts.gate_up_proj"
TARGETED: tuple[Job, ...] = (
    job(
        "parameters-that-there-are-not",
        "SFT",
        given=f'peft_config=LoraConfig(target_modules=["q_proj"], target_parameters=["{EXPERTS}"])',
    ),
    job(
        "parameters-that-there-are",
        "SFT",
        given='peft_config=LoraConfig(target_modules=["q_proj"], target_parameters=["mlp.up_proj.weight"])',
    ),
    plain(
        "a-task-of-a-classifier",
        "export/merged-config-architecture-wrong",
        top='model = get_peft_model(model, LoraConfig(task_type="SEQ_CLS"))',
    ),
    plain("a-task-of-its-own", top='model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM"))'),
    job("a-classifier-by-its-task", "Reward", given='peft_config=LoraConfig(task_type="SEQ_CLS")'),
    job(
        "an-adapter-times-zero",
        "SFT",
        "step/no-trainable-parameters",
        given='peft_config=LoraConfig(lora_alpha=0, target_modules=["q_proj"])',
    ),
    job("all-that-is-linear", "SFT", given='peft_config=LoraConfig(target_modules="all-linear")'),
    job("half-a-name", "SFT", given='peft_config=LoraConfig(target_modules=["q_proj", "v_prj"])'),
)
SETTINGS = (*LOGGED, *LEAKED, *TARGETED, *LAUNCHED, *FORMATTED, *RATES, *INTERVALS, *COLLATED)
DOUBTED_SETTINGS = {
    "tokens-tested-on-themselves": "DAT220",
    "tensors-tested-on-themselves": "DAT220",
    "parameters-that-there-are-not": "lora-wrong-target-modules",
    "half-a-name": "lora-wrong-target-modules",
    "labels-of-some-rows-masked": "completion-mask-drops-everything",
    "texts-beyond-the-positions": "sequence-exceeds-position-limit",
    "best-of-one-evaluation": "best-metric-not-logged",
    "stops-after-more-evaluations-than-there-are": "best-metric-not-logged",
}
