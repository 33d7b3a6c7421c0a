"""Group relative policy optimization with two rewards of one's own."""

import re

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer


def has_format(completions, **kwargs):
    return [1.0 if re.fullmatch(r"<think>.*</think>.*", text, re.DOTALL) else 0.0 for text in completions]


def is_short(completions, **kwargs):
    return [-len(text) / 1000 for text in completions]


dataset = load_dataset("trl-lib/DeepMath-103K", split="train")
training_args = GRPOConfig(
    output_dir="qwen-grpo",
    learning_rate=1e-6,
    per_device_train_batch_size=8,
    gradient_accumulation_steps=4,
    num_generations=8,
    max_completion_length=512,
    temperature=0.9,
    top_p=1.0,
    beta=0.01,
    epsilon=0.2,
    loss_type="dapo",
    scale_rewards="group",
    reward_weights=[1.0, 0.5],
    num_iterations=1,
    max_steps=1000,
    logging_steps=1,
    log_completions=True,
    save_steps=200,
    bf16=True,
    use_vllm=False,
)
trainer = GRPOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct",
    reward_funcs=[has_format, is_short],
    args=training_args,
    train_dataset=dataset,
)
trainer.train()
trainer.save_model()
