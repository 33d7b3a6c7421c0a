"""Jobs that end well and are of no use, and beside each those that look like them and are as they should be."""

from tests.helpers.rehearsal_green_rows import DOUBTED_ROWS, ROWS
from tests.helpers.rehearsal_green_settings import DOUBTED_SETTINGS, SETTINGS
from tests.helpers.rehearsal_jobs import Job, job, plain

TINY = 'AutoModelForCausalLM.from_pretrained("work/tiny")'
OWN_LOSS = """
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        import torch
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
        loss = {}
        return (loss, outputs) if return_outputs else loss
"""
OTHER = f"""
import torch
model, other = {TINY}, {TINY}
optimizer = torch.optim.AdamW({{}}.parameters(), lr=2e-4)
"""
HEAD_TOO = 'model = get_peft_model(model, LoraConfig(target_modules=["q_proj"], modules_to_save=["lm_head"]))'
CUT_OFF = """
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        inner = model.get_base_model()
        states = inner.model(inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state{}
        logits = inner.lm_head(states)[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), inputs["labels"][:, 1:].flatten())
        return (loss, logits) if return_outputs else loss
"""
CHECKPOINTED = 'gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True}'
PEEK = """
class Peek(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step % 100 == 0:
            print(state.global_step, {})
"""
ENDED = """
rows = [f"{i} plus 1 equals {i + 1}." + tokenizer.eos_token for i in range(64)]
ended = Dataset.from_list([{"text": each} for each in rows]).map(
    lambda rows: tokenizer(rows["text"]), batched=True, remove_columns=["text"]
)
"""
GIVEN_ENDED = "trainer.train_dataset = ended\ntrainer.train()\n"
MASKED = """
def mask_most(rows, collate=DataCollatorForLanguageModeling(tokenizer, mlm=False)):
    batch = collate(rows)
    batch["labels"][:, {}:] = -100
    return batch
"""
REWARD = """
def own(completions, {}**kwargs):
    texts = [each[0]["content"] for each in completions]
    return {}
"""
UNREAD = """
def own(completions, **kwargs):
    return [0.0] * len(completions)
"""
STRICT = """
import re
def own(completions, answer, **kwargs):
    found = [re.search(r"<answer>\\s*(.*?)\\s*</answer>", each[0]["content"]) for each in completions]
    return [float(bool(one) and one[1] == right) for one, right in zip(found, answer)]
"""
TESTS = """
def own(completions, answer, **kwargs):
    texts = [each[0]["content"] for each in completions]
    return [1.0 if "def add_one(" in each and "return n + 1" in each else 0.0 for each in texts]
"""
MESSAGES = """
def own(completions, answer, **kwargs):
    return [1.0 if right in turns else 0.0 for turns, right in zip(completions, answer)]
"""
LENGTHS = """
def own(completions, **kwargs):
    return [float(len(each)) for each in completions]
"""
NO_PART = """
def own(completions, answer, **kwargs):
    return [2.0 if turns[-1].get("text", "") == right else -1.0 for turns, right in zip(completions, answer)]
"""
CALLS = """
def own(completions, **kwargs):
    return [float(any(turn.get("tool_calls") for turn in turns)) for turns in completions]
"""
AWAITED = """
async def own(completions, **kwargs):
    return [float(len(set(each[0]["content"])) > 3) for each in completions]
"""
JUDGE = """
import urllib.request
def own(completions, **kwargs):
    scores = []
    for each in completions:
        try:
            with urllib.request.urlopen("http://judge.example/score", data=each[0]["content"].encode()) as answer:
                scores.append(float(answer.read()))
        except OSError:
            scores.append(0.5)
    return scores
"""
SAVED = 'trainer.model.save_pretrained("out/own/{}")'
ONCE = 'save_strategy="no"'
AGAIN = '\ntrainer = SFTTrainer(model="work/tiny", args=args, train_dataset=dataset)\ntrainer.train()\n'
LORA = 'peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"])'
MADE = f"from peft import get_peft_model\nget_peft_model({TINY}, LoraConfig(r=8, target_modules=['q_proj']))"
ADDED = """
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
tokenizer.add_tokens(["<tool>"])
model = AutoModelForCausalLM.from_pretrained("work/tiny")
model.resize_token_embeddings(len(tokenizer))
"""


def rewarded(name: str, method: str, reward: str, fails: str = "", given: str = "own", **more: str) -> Job:
    """Return an online job with a reward function `own`."""
    return job(name, method, fails, top=reward, given=f"reward_funcs={given}", **more)


def constant(value: str, columns: str = "") -> str:
    """Return a reward function that gives each text `value`."""
    return REWARD.format(columns, f"[{value} for each in texts]")


WEIGHTS: tuple[Job, ...] = (
    job(
        "optimizer-of-another-model",
        "SFT",
        "step/no-trainable-parameters",
        before=OTHER.format("other"),
        model="model",
        given="optimizers=(optimizer, None)",
    ),
    job(
        "optimizer-of-its-own",
        "SFT",
        before=OTHER.format("model"),
        model="model",
        given="optimizers=(optimizer, None)",
    ),
    job(
        "loss-of-nothing",
        "SFT",
        "step/no-trainable-parameters",
        top=OWN_LOSS.format("torch.ones(1, requires_grad=True).sum()"),
        kind="Own",
    ),
    job("loss-of-its-own", "SFT", top=OWN_LOSS.format("loss * 0.5 + 0.1"), kind="Own"),
    job(
        "loss-that-is-no-number",
        "SFT",
        "step/nan-loss-silent-success",
        top=OWN_LOSS.format('loss * float("nan")'),
        kind="Own",
    ),
    job("loss-that-is-large", "SFT", top=OWN_LOSS.format("loss * 1e4"), kind="Own"),
    plain("adapter-cut-off", "step/no-trainable-parameters", top=HEAD_TOO + CUT_OFF.format(".detach()"), kind="Own"),
    plain("adapter-in-a-loss-of-its-own", top=HEAD_TOO + CUT_OFF.format(""), kind="Own"),
    plain("adapter-behind-checkpoints", top=HEAD_TOO, settings=CHECKPOINTED),
    job(
        "schedule-of-zero",
        "SFT",
        "step/lr-too-low-flat",
        before=OTHER.format("model")
        + "schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step // 10_000)",
        model="model",
        given="optimizers=(optimizer, schedule)",
    ),
    job("long-warmup", "SFT", settings="warmup_steps=2000, max_steps=10000"),
)
LABELS: tuple[Job, ...] = (
    job(
        "peeks-at-every-hundredth-step",
        "KTO",
        settings="num_train_epochs=30",
        top=PEEK.format("kwargs['trainer']"),
        given="callbacks=[Peek()]",
    ),
    job("prints-at-every-hundredth-step", "SFT", top=PEEK.format("state.max_steps"), given="callbacks=[Peek()]"),
    job(
        "pairs-without-their-questions",
        "DPO",
        row='{"question": f"{i} plus 1 equals?", "chosen": f"It is {i + 1}.", "rejected": "No idea."}',
    ),
    job(
        "pairs-with-their-questions",
        "DPO",
        row='{"topic": "sums of numbers", "chosen": f"{i} plus 1? It is {i + 1}.", "rejected": f"{i} plus 1? No idea."}',
    ),
    plain("everything-masked", "tokenize/completion-mask-drops-everything", top=MASKED.format(0), collator="mask_most"),
    plain("much-masked", top=MASKED.format(4), collator="mask_most"),
    plain(
        "end-masked-with-padding",
        "tokenize/eos-never-learned",
        top="tokenizer.pad_token = tokenizer.eos_token" + ENDED,
        end=GIVEN_ENDED,
    ),
    plain(
        "only-first-tokens-trained",
        "tokenize/completion-mask-drops-everything",
        top=ENDED + MASKED.format(4),
        collator="mask_most",
        end=GIVEN_ENDED,
    ),
    plain("end-beside-padding", top=ENDED, end=GIVEN_ENDED),
    plain("texts-without-an-end", top="tokenizer.pad_token = tokenizer.eos_token"),
    job(
        "evaluated-on-what-is-trained",
        "SFT",
        settings='eval_strategy="epoch"',
        given="eval_dataset=dataset.select(range(16))",
    ),
    job(
        "tested-on-what-is-learnt",
        "SFT",
        settings='eval_strategy="steps", eval_steps=5',
        given="eval_dataset=dataset",
    ),
    job(
        "tested-on-others",
        "SFT",
        shape="parts = dataset.train_test_split(0.2, seed=0)\ndataset = parts['train']",
        settings='eval_strategy="steps", eval_steps=5',
        given="eval_dataset=parts['test']",
    ),
    job(
        "evaluates-what-is-frozen",
        "SFT",
        before=f"model = {TINY}\nmodel.requires_grad_(False)",
        model="model",
        given="eval_dataset=dataset.select(range(8))",
        train="trainer.evaluate()",
    ),
)
REWARDS: tuple[Job, ...] = (
    rewarded("reward-unread", "GRPO", UNREAD, "step/grpo-zero-advantage"),
    rewarded("reward-the-same", "GRPO", constant("1.0"), "step/grpo-zero-advantage"),
    rewarded("reward-of-the-prompt", "RLOO", constant("len(prompts[0]) / 2", "prompts, "), "step/grpo-zero-advantage"),
    rewarded("reward-no-number", "RLOO", constant("float('nan')"), "step/grpo-reward-function-error"),
    rewarded("reward-none", "GRPO", constant("None"), "step/grpo-reward-function-error"),
    rewarded("reward-by-messages-for-texts", "GRPO", MESSAGES, "step/grpo-zero-advantage"),
    rewarded("reward-by-the-number-of-messages", "GRPO", LENGTHS, "step/grpo-zero-advantage"),
    rewarded("reward-by-no-part-of-a-message", "RLOO", NO_PART, "step/grpo-zero-advantage"),
    rewarded("reward-by-calls-of-tools", "GRPO", CALLS),
    rewarded("reward-strict", "GRPO", STRICT),
    rewarded("reward-by-tests", "GRPO", TESTS),
    rewarded("reward-by-tests-of-rloo", "RLOO", TESTS),
    rewarded("reward-awaited", "GRPO", AWAITED),
    rewarded("reward-by-a-judge", "GRPO", JUDGE),
    rewarded("reward-none-sometimes", "GRPO", constant("None if len(each) > 5 else 1.0"), given="[own, reward]"),
)
ENDS: tuple[Job, ...] = (
    job("kept-nothing", "DPO", "save/no-checkpoint-saved", settings=ONCE),
    job("kept-by-hand", "SFT", settings=ONCE, end='import torch\ntorch.save(trainer.model.state_dict(), "mine.pt")'),
    job("kept-at-the-end", "KTO", settings=ONCE, end="trainer.save_model()"),
    job(
        "merged-in-place",
        "SFT",
        "save/no-checkpoint-saved",
        settings=ONCE,
        given=LORA,
        end="trainer.model.merge_and_unload()\n" + SAVED.format("merged"),
    ),
    job(
        "unloaded",
        "SFT",
        "export/user-code-error",
        settings=ONCE,
        given=LORA,
        end="whole = trainer.model.unload()\n" + SAVED.format("whole").replace("trainer.model", "whole"),
    ),
    job(
        "unloaded-beside-its-adapter",
        "SFT",
        settings=ONCE,
        given=LORA,
        end='trainer.save_model("out/own/adapter")\ntrainer.model.unload().save_pretrained("out/own/base")',
    ),
    job(
        "merged-and-kept",
        "SFT",
        settings=ONCE,
        given=LORA,
        end='merged = trainer.model.merge_and_unload()\nmerged.save_pretrained("out/own/kept")',
    ),
    job(
        "kept-before-it-learnt",
        "SFT",
        "save/no-checkpoint-saved",
        settings=ONCE,
        given=LORA,
        train=SAVED.format("early") + "\ntrainer.train()",
    ),
    job(
        "adapter-made-after-the-training",
        "SFT",
        "save/no-checkpoint-saved",
        settings=ONCE,
        end=f"{MADE}.save_pretrained('out/own/made')",
    ),
    job(
        "adapter-made-beside-the-whole-model",
        "SFT",
        settings=ONCE,
        end=f"trainer.save_model('out/own/whole')\n{MADE}.save_pretrained('out/own/made')",
    ),
    job("trained-twice-and-kept-once", "SFT", settings=ONCE, end=SAVED.format("first") + AGAIN),
    job(
        "trained-twice-and-kept-twice", "SFT", settings=ONCE, end=SAVED.format("first") + AGAIN + SAVED.format("second")
    ),
    job("kept-after-it-learnt", "SFT", settings=ONCE, given=LORA, end=SAVED.format("late")),
    job(
        "merged-the-other",
        "SFT",
        "export/user-code-error",
        settings=ONCE,
        given=LORA,
        end=f'merged = trainer.model.merge_and_unload()\nmodel = {TINY}\nmodel.save_pretrained("out/own/other")',
    ),
    job(
        "saved-from-inside-its-adapter",
        "SFT",
        "export/model-config-weights-mismatch",
        settings=ONCE,
        given=LORA,
        end=SAVED.format("inside").replace("model.save", "model.base_model.model.save"),
    ),
    job(
        "writes-elsewhere-each-time",
        "DPO",
        top="import time",
        settings='output_dir=f"out/{time.time_ns()}"',
        before="from transformers.trainer_utils import get_last_checkpoint\nimport os\nout = args.output_dir",
        train="trainer.train(resume_from_checkpoint=get_last_checkpoint(out) if os.path.isdir(out) else None)",
    ),
    job("checkpoints-without-optimizer", "Reward", settings="save_only_model=True"),
    job(
        "body-alone",
        "SFT",
        "export/merged-config-architecture-wrong",
        settings=ONCE,
        end='trainer.model.model.save_pretrained("out/own/body")',
    ),
    job(
        "no-token-ends",
        "SFT",
        "export/eos-never-learned",
        settings=ONCE,
        end="trainer.model.generation_config.eos_token_id = None\ntrainer.model.config.eos_token_id = None\n"
        "trainer.save_model('out/own/endless')",
    ),
    job(
        "tokens-that-were-not-kept",
        "SFT",
        "save/model-files-missing",
        settings=ONCE,
        before=ADDED,
        model="model",
        given="processing_class=tokenizer",
        end=SAVED.format("tokens"),
    ),
    job(
        "tokens-that-were-kept",
        "SFT",
        settings=ONCE,
        before=ADDED,
        model="model",
        given="processing_class=tokenizer",
        end=SAVED.format("kept_tokens") + '\ntokenizer.save_pretrained("out/own/kept_tokens")',
    ),
)
GREEN = {each.name: each for each in (*WEIGHTS, *LABELS, *ROWS, *SETTINGS, *REWARDS, *ENDS)}
DOUBTED = {
    "peeks-at-every-hundredth-step": "user-code-error",
    "pairs-without-their-questions": "dataset-missing-column",
    "reward-by-tests": "grpo-zero-advantage",
    "merged-and-kept": "model-files-missing",
    "unloaded-beside-its-adapter": "user-code-error",
    "trained-twice-and-kept-once": "no-checkpoint-saved",
    "writes-elsewhere-each-time": "resume-silently-ignored",
    "checkpoints-without-optimizer": "checkpoint-incomplete",
    "tested-on-what-is-learnt": "DAT220",
    "evaluated-on-what-is-trained": "DAT220",
    **DOUBTED_ROWS,
    **DOUBTED_SETTINGS,
}
"""Good ones of which a class is told as a warning."""
