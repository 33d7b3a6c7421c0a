"""Faults that show amid the training, when all the time was spent, on the Hub, and in other kinds of files."""

import json

from tests.helpers.rehearsal_jobs import Job, job, line, plain

MIRROR = """
import shutil
class Mirror(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        shutil.copytree(f"{args.output_dir}/checkpoint-{state.global_step}", "out/mirror")
"""
CLEANS = """
import shutil
class Clean(TrainerCallback):
    def on_save(self, args, state, control, **kwargs):
        shutil.rmtree(f"{args.output_dir}/checkpoint-{state.global_step - args.save_steps}")
"""
OLD_SAVE = """
class Own(DPOTrainer):
    def save_model(self, output_dir=None):
        super().save_model(output_dir)
"""
MEASURED = """
class Own(SFTTrainer):
    def log(self, logs, start_time=None):
        logs["norm"] = next(self.model.parameters()).detach().norm()
        super().log(logs, start_time)
"""
GOES_ON = """
import os
from transformers.trainer_utils import get_last_checkpoint
last = get_last_checkpoint(args.output_dir) if os.path.isdir(args.output_dir) else None
if last is not None:
    print("goes on from", last.name)
"""
STEPS: tuple[Job, ...] = (
    job(
        "batch-that-is-no-whole-number",
        "SFT",
        "step/invalid-config-value",
        settings="per_device_train_batch_size=32 / 4",
    ),
    job("batch-out-of-a-variable", "Reward", "step/invalid-config-value", settings='per_device_train_batch_size="8"'),
    job("steps-that-are-no-whole-number", "DPO", "step/invalid-config-value", settings="max_steps=len(dataset) / 8"),
    job(
        "decays-and-nobody-says-how-long",
        "SFT",
        "step/invalid-config-value",
        settings='lr_scheduler_type="warmup_stable_decay"',
    ),
    job(
        "loss-function-of-an-older-release",
        "SFT",
        "step/custom-trainer-signature",
        top="def own(outputs, labels):\n    return outputs.loss",
        given="compute_loss_func=own",
    ),
    job(
        "callback-that-wants-a-tokenizer",
        "KTO",
        "step/custom-trainer-signature",
        top="class Say(TrainerCallback):\n    def on_train_begin(self, args, state, control, tokenizer, **kwargs):\n        print(len(tokenizer))",
        given="callbacks=[Say()]",
    ),
    job(
        "too-few-rewards",
        "GRPO",
        "step/grpo-reward-function-error",
        top="def short(completions, **kwargs):\n    return [1.0]",
        given="reward_funcs=short",
    ),
    job(
        "rewards-are-texts",
        "GRPO",
        "step/grpo-reward-function-error",
        top="def text(completions, **kwargs):\n    return ['good' for _ in completions]",
        given="reward_funcs=text",
    ),
    job(
        "reward-without-kwargs",
        "GRPO",
        "step/grpo-reward-function-error",
        top="def bare(completions):\n    return [1.0 for _ in completions]",
        given="reward_funcs=bare",
    ),
    job(
        "reward-reads-chats-as-texts",
        "RLOO",
        "step/grpo-reward-function-error",
        top="def read(completions, **kwargs):\n    return [float(each.lower().count('1')) for each in completions]",
        given="reward_funcs=read",
    ),
    job(
        "reward-divides-by-nothing",
        "RLOO",
        "step/grpo-reward-function-error",
        top="def part(completions, **kwargs):\n    return [1 / len([]) for each in completions]",
        given="reward_funcs=part",
    ),
    job(
        "reward-of-a-column-that-is-not",
        "GRPO",
        "step/dataset-missing-column",
        top="def right(completions, solution, **kwargs):\n    return [1.0 for _ in solution]",
        given="reward_funcs=right",
    ),
    job("weights-of-other-rewards", "GRPO", "model/invalid-config-value", settings="reward_weights=[0.5, 0.5]"),
    job(
        "callback-without-kwargs",
        "SFT",
        "step/custom-trainer-signature",
        top="class Say(TrainerCallback):\n    def on_step_end(self, args, state, control):\n        print(state.global_step)",
        given="callbacks=[Say()]",
    ),
    job(
        "callback-is-no-object-of-its-class",
        "DPO",
        "model/user-code-error",
        top="class Say(TrainerCallback):\n    def __init__(self, where):\n        self.where = where",
        given="callbacks=[Say]",
    ),
    job(
        "loss-of-an-older-trainer",
        "SFT",
        "step/custom-trainer-signature",
        top="class Own(SFTTrainer):\n    def compute_loss(self, model, inputs, return_outputs=False):\n        return super().compute_loss(model, inputs, return_outputs)",
        kind="Own",
    ),
    plain(
        "log-of-an-older-trainer",
        "step/custom-trainer-signature",
        top="class Own(Trainer):\n    def log(self, logs):\n        super().log(logs)",
        kind="Own",
    ),
    job("learning-rate-in-quotes", "KTO", "step/invalid-config-value", settings='learning_rate="2e-5"'),
    job("learning-rate-of-zero", "Reward", "step/lr-too-low-flat", settings="learning_rate=0.0"),
    plain("collator-that-breaks", "step/user-code-error", collator="lambda rows: rows.stack()"),
    job(
        "early-stopping-without-a-metric",
        "SFT",
        "step/invalid-config-value",
        top="from transformers import EarlyStoppingCallback",
        settings='eval_strategy="steps", eval_steps=5',
        given="eval_dataset=dataset.select(range(8)), callbacks=[EarlyStoppingCallback(3)]",
    ),
    job(
        "metrics-of-nothing",
        "SFT",
        "evaluate/user-code-error",
        top="def metrics(told):\n    return {'accuracy': (told.predictions.argmax(-1) == told.labels[:, :1, :]).mean()}",
        settings='eval_strategy="steps"',
        given="eval_dataset=Dataset.from_list([{'messages': [{'role': 'user', 'content': 'a'}, {'role': 'assistant', 'content': 'b'}]}]), compute_metrics=metrics",
    ),
    job(
        "best-by-a-metric-that-is-not",
        "DPO",
        "evaluate/best-metric-not-logged",
        settings='eval_strategy="steps", eval_steps=10, save_steps=10, load_best_model_at_end=True, metric_for_best_model="accuracy"',
        shape="parts = dataset.train_test_split(8)\ndataset = parts['train']",
        given="eval_dataset=parts['test']",
    ),
    job(
        "evaluates-without-rows", "Reward", "model/eval-strategy-without-eval-dataset", settings='eval_strategy="epoch"'
    ),
    job(
        "evaluates-at-the-end-without-rows",
        "SFT",
        "evaluate/eval-strategy-without-eval-dataset",
        end="trainer.evaluate()",
    ),
    job(
        "log-that-has-no-loss",
        "SFT",
        "step/user-code-error",
        top="class Curve(TrainerCallback):\n    def on_log(self, args, state, control, logs=None, **kwargs):\n        print(logs['loss'])",
        given="callbacks=[Curve()]",
    ),
    job(
        "evaluates-rows-without-label",
        "KTO",
        "evaluate/dataset-missing-column",
        settings='eval_strategy="steps", eval_steps=5',
        given='eval_dataset=dataset.remove_columns("label")',
    ),
    job(
        "loss-is-cut-off",
        "SFT",
        "step/no-trainable-parameters",
        top="class Own(SFTTrainer):\n    def compute_loss(self, *args, **kwargs):\n        return super().compute_loss(*args, **kwargs).detach()",
        settings="gradient_checkpointing=False",
        kind="Own",
    ),
)
"""What fails amid the training."""
ENDS: tuple[Job, ...] = (
    job("saves-as-an-older-trainer-did", "DPO", "save/custom-trainer-signature", top=OLD_SAVE, kind="Own"),
    job(
        "cleans-up-what-is-gone",
        "KTO",
        "save/user-code-error",
        top=CLEANS,
        settings="save_steps=5",
        given="callbacks=[Clean()]",
    ),
    job("tensor-in-the-history", "SFT", "save/user-code-error", top=MEASURED, kind="Own"),
    job(
        "folder-that-is-made-once",
        "SFT",
        "resume/user-code-error",
        top='import os\nos.makedirs("out/folder-that-is-made-once/samples")',
    ),
    job(
        "goes-on-with-a-mistake",
        "Reward",
        "resume/user-code-error",
        before=GOES_ON,
        train="trainer.train(resume_from_checkpoint=last)",
    ),
    job(
        "copies-checkpoints-to-one-place",
        "KTO",
        "save/user-code-error",
        top=MIRROR,
        settings="save_steps=5",
        given="callbacks=[Mirror()]",
    ),
    job(
        "samples-and-does-not",
        "SFT",
        "save/invalid-config-value",
        before='model = AutoModelForCausalLM.from_pretrained("work/tiny")\nmodel.generation_config.temperature = 0.6',
        model="model",
    ),
    job(
        "merges-an-adapter-that-was-not-saved",
        "DPO",
        "export/model-files-missing",
        settings="save_steps=10",
        given="peft_config=LoraConfig(r=4)",
        end="from peft import AutoPeftModelForCausalLM\nAutoPeftModelForCausalLM.from_pretrained(args.output_dir)",
    ),
    job(
        "resumes-from-nothing", "SFT", "resume/checkpoint-not-found", train="trainer.train(resume_from_checkpoint=True)"
    ),
    job(
        "resumes-from-a-folder-that-is-not",
        "DPO",
        "resume/checkpoint-not-found",
        train='trainer.train(resume_from_checkpoint="out/checkpoint-500")',
    ),
    job(
        "output-is-a-file",
        "SFT",
        "save/output-path-not-writable",
        settings='output_dir="rows/taken"',
        files={"rows/taken": "not a folder"},
    ),
    job("nothing-is-kept", "KTO", "save/no-checkpoint-saved", settings='save_strategy="no"'),
    job(
        "name-of-a-repository-with-spaces",
        "SFT",
        "push/hub-repo-id-invalid",
        end='trainer.model.push_to_hub("me/my model")',
    ),
    job("merges-what-is-no-adapter", "SFT", "step/user-code-error", end="merged = trainer.model.merge_and_unload()"),
    job(
        "metrics-into-a-folder-that-is-not",
        "DPO",
        "step/user-code-error",
        end='open("reports/metrics.json", "w").write("{}")',
    ),
    job(
        "metrics-that-json-does-not-hold",
        "KTO",
        "step/user-code-error",
        end='import json, torch\njson.dumps({"loss": torch.tensor(1.0)})',
    ),
    job(
        "tokenizer-of-the-trainer",
        "SFT",
        "step/import-api-removed",
        end='trainer.tokenizer.save_pretrained("out/final")',
    ),
    job(
        "merges-by-another-name",
        "SFT",
        "step/user-code-error",
        given="peft_config=LoraConfig(r=8)",
        end="trainer.model.merge_and_upload()",
    ),
    job("saves-with-an-argument-too-many", "SFT", "save/user-code-error", end='trainer.save_model("out/m", safe=True)'),
    job("generates-from-a-text", "GRPO", "step/user-code-error", end='trainer.model.generate("1 plus 1 equals?")'),
    job(
        "says-it-failed",
        "SFT",
        "step/user-code-error",
        end="import sys\nif trainer.state.global_step:\n    sys.exit('the accuracy is too low')",
    ),
    job("deletes-what-was-not-made", "Reward", "step/user-code-error", end="del modell"),
)
"""What fails when all the time was spent."""
CELLS = '{{"nbformat": 4, "nbformat_minor": 5, "metadata": {{}}, "cells": [{}]}}'
CELL = '{{"cell_type": "code", "id": "c{}", "metadata": {{}}, "outputs": [], "execution_count": null, "source": {}}}'


def notebook(*cells: str) -> str:
    """Return a notebook of some cells of code."""
    return CELLS.format(", ".join(CELL.format(number, json.dumps(text)) for number, text in enumerate(cells)))


OTHERS: tuple[Job, ...] = (
    Job(
        name="cell-that-was-never-run",
        suffix=".ipynb",
        source=notebook("%pip install trl", "from trl import SFTTrainer", "dataset = make_rows()"),
        fails="import/user-code-error",
    ),
    Job(
        name="job-with-a-column-that-is-not",
        suffix=".yaml",
        source="method: sft\nmodel: work/tiny\ndataset: rows/qa\n",
        files={"rows/qa/train.jsonl": '{"question": "a", "answer": "b"}\n' * 20},
        fails="tokenize/dataset-missing-column",
    ),
    line(
        "line-with-a-scheduler-that-is-not",
        "trl sft --model_name_or_path work/tiny --dataset_name rows/chat --lr_scheduler_type warm --output_dir out/l1",
        "import/invalid-config-value",
        files={
            "rows/chat/train.jsonl": '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
            * 20
        },
    ),
    line(
        "line-with-a-split-that-is-not",
        "trl dpo --model_name_or_path work/tiny --dataset_name rows/pairs --dataset_train_split train_prefs --output_dir out/l2",
        "data/dataset-split-unknown",
        files={"rows/pairs/train.jsonl": '{"prompt": "a", "chosen": "b", "rejected": "c"}\n' * 20},
    ),
    line(
        "line-with-a-setting-of-an-older-release",
        "trl sft --config rows/old.yaml",
        "import/trl-config-arg-renamed",
        files={
            "rows/old.yaml": "model_name_or_path: work/tiny\ndataset_name: rows/chat\noutput_dir: out/l4\nmax_seq_length: 512\n"
        },
    ),
    line(
        "line-without-a-dataset",
        "trl sft --model_name_or_path work/tiny --output_dir out/l3",
        "import/invalid-config-value",
    ),
)
"""Notebooks, job files and command lines."""
HUB: tuple[Job, ...] = (
    job("no-such-repository", "SFT", "model/model-not-found", model='"acme/no-such-model"'),
    job(
        "no-such-revision",
        "Reward",
        "model/model-not-found",
        top='model = AutoModelForCausalLM.from_pretrained("acme/none", revision="v9")',
    ),
    job("no-such-dataset", "DPO", "data/dataset-not-found", shape='dataset = load_dataset("acme/none", split="train")'),
    job("the-hub-is-ill", "GRPO", "model/hub-download-transient", model='"acme/large"', refused={"acme/large": 503}),
    job("too-many-requests", "KTO", "model/hub-rate-limited", model='"acme/large"', refused={"acme/large": 429}),
    job(
        "an-old-token",
        "SFT",
        "push/hub-token-invalid",
        settings='push_to_hub=True, hub_model_id="me/talks"',
        refused={"/api/": 401},
    ),
)
"""What the Hub refuses."""
