"""Leave-one-out policy optimization against a reward model by its name."""

from datasets import load_dataset
from trl import RLOOConfig, RLOOTrainer

config = RLOOConfig(
    output_dir="qwen-rloo",
    learning_rate=1e-6,
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    num_generations=2,
    max_completion_length=128,
    temperature=0.7,
    beta=0.05,
    epsilon=0.2,
    normalize_advantages=True,
    reward_clip_range=(-5.0, 5.0),
    max_steps=300,
    save_steps=100,
    logging_steps=5,
    report_to="tensorboard",
)
trainer = RLOOTrainer(
    model="Qwen/Qwen2.5-0.5B-Instruct",
    reward_funcs="OpenAssistant/reward-model-deberta-v3-large-v2",
    args=config,
    train_dataset=load_dataset("trl-lib/tldr", split="train"),
)
trainer.train()
